"""Databases kept for other trials that would prepare the very same.

RocksDB never writes to a table or blob file again once it is finished, only deletes it, so those
are hard links: they cost no room while a trial uses them, and deleting one leaves the others. What
RocksDB does go on writing (CURRENT, MANIFEST, OPTIONS, the write-ahead log) is copied.

A copy is put together in a trial's folder and renamed into place; one that is dropped is renamed
to such a folder first. So a kill at any moment leaves either a whole copy or a folder that the
next trial removes.
"""

import contextlib
import json
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, FiniteFloat

from sampler.common.atomic_write import make_private_folder, write_private
from sampler.runner.bench_folder import trial_folder

FOLDER = "prepared-copies"
UNUSED_SECONDS = 24 * 3600
_FILES = "files.json"
_IMMUTABLE = (".sst", ".blob")
_SHARE_OF_DISK = 4
_LEFT_OUT = ("LOG", "LOCK")
NOTE = "prepared.json"


class PreparedNote(BaseModel, frozen=True):
    """What preparing a database came to: kept beside it, so that a copy knows it, too."""

    seconds: FiniteFloat  # how long the preparing process lived
    user_bytes: int  # bytes of keys and values that it wrote (bytes.written)
    stored_bytes: int  # bytes of table and blob files written for them, by flushes and compactions


def write_note(folder: Path, note: PreparedNote) -> None:
    """Keeps a note in a folder."""
    write_private(folder / NOTE, note.model_dump_json())


def read_note(folder: Path) -> PreparedNote | None:
    """The note of a folder; None where there is none that can be read."""
    try:
        return PreparedNote.model_validate_json((folder / NOTE).read_bytes())
    except (OSError, ValueError):
        return None


@dataclass(frozen=True)
class PreparedCopies:
    """The copies of one bench folder; whoever calls holds the host's lock."""

    bench_dir: Path  # the bench folder; copies are in a folder of their own there
    # What all copies may hold together; 0: none are kept. They never hold more than a quarter of
    # what the disk would have free without them.
    most_bytes: int

    def take(self, key: str, folder: Path) -> PreparedNote | None:
        """Puts a kept database into a trial's folder, as ``db``, with its note.

        A copy with a file missing, or of another size or time of change than when it was kept, is
        dropped.

        Returns:
            The note; None where there was no whole copy.
        """
        entry = self.bench_dir / FOLDER / key
        if self.most_bytes <= 0 or not entry.is_dir():
            return None
        try:
            wanted = json.loads((entry / _FILES).read_text(encoding="utf-8"))
            note = read_note(entry)
            if wanted != _files(entry / "db") or note is None:
                raise ValueError
            _duplicate(entry / "db", folder / "db")
            write_note(folder, note)
            os.utime(entry)
        except (OSError, ValueError):
            shutil.rmtree(folder / "db", ignore_errors=True)
            (folder / NOTE).unlink(missing_ok=True)
            self._drop(entry)
            return None
        return note

    def keep(self, key: str, folder: Path) -> bool:
        """Keeps a copy of a trial's database and note; the least recently used make room.

        Returns:
            Whether it is kept. It is not where it is too large, is there already, or the disk
            does not hold it: the trial goes on all the same.
        """
        entry, made = self.bench_dir / FOLDER / key, folder / "copy"
        size = sum(path.stat().st_size for path in _kept(folder / "db"))
        allowed = self._allowed()
        if size > allowed:
            return False
        try:
            make_private_folder(made)
            _duplicate(folder / "db", made / "db")
            shutil.copy2(folder / NOTE, made / NOTE)
            write_private(made / _FILES, json.dumps(_files(made / "db")))
            self._shrink_to(allowed - size)
            make_private_folder(entry.parent, exist_ok=True)
            made.rename(entry)
        except OSError:  # ENOTEMPTY: there is one of that key
            shutil.rmtree(made, ignore_errors=True)
            return False
        return True

    def clean(self) -> None:
        """Drops what was not used for a day, and what is beyond the limit.

        A folder that an older Rocktune made is closed to others.
        """
        with contextlib.suppress(OSError):
            (self.bench_dir / FOLDER).chmod(0o700)
        until = time.time() - UNUSED_SECONDS
        for entry, used, _ in self._entries():
            if used < until:
                self._drop(entry)
        if (self.bench_dir / FOLDER).is_dir():
            self._shrink_to(self._allowed())

    def clear(self) -> None:
        """Drops all copies."""
        self._shrink_to(0)

    def _allowed(self) -> int:
        held = sum(size for _, _, size in self._entries())
        free = shutil.disk_usage(self.bench_dir).free
        return min(self.most_bytes, (held + free) // _SHARE_OF_DISK)

    def _shrink_to(self, most_bytes: int) -> None:
        held = 0
        for entry, _, size in sorted(self._entries(), key=lambda each: -each[1]):
            held += size
            if held > most_bytes or most_bytes <= 0:
                self._drop(entry)
        with contextlib.suppress(OSError):
            (self.bench_dir / FOLDER).rmdir()  # where it is empty

    def _entries(self) -> Iterator[tuple[Path, float, int]]:
        """Each copy, when it was last used, and the bytes of its files."""
        with contextlib.suppress(FileNotFoundError, NotADirectoryError, PermissionError):
            for entry in list((self.bench_dir / FOLDER).iterdir()):
                size = sum(path.stat().st_size for path in entry.glob("db/*"))
                yield entry, entry.stat().st_mtime, size

    def _drop(self, entry: Path) -> None:
        """Out of the way at once; what a kill leaves of it is removed as a trial's folder is."""
        with trial_folder(self.bench_dir) as folder, contextlib.suppress(OSError):
            entry.rename(folder / "dropped")


def _duplicate(source: Path, target: Path) -> None:
    """Links what RocksDB never writes to again, copies the rest."""
    make_private_folder(target)
    for path in _kept(source):
        with contextlib.suppress(OSError):  # a file system without hard links, or too many of them
            if path.suffix in _IMMUTABLE:
                os.link(path, target / path.name)
                continue
        shutil.copy2(path, target / path.name)


def _kept(database: Path) -> list[Path]:
    files = (path for path in database.iterdir() if path.is_file())
    return [path for path in files if not path.name.startswith(_LEFT_OUT)]


def _files(database: Path) -> dict[str, list[int]]:
    stats = {path.name: path.stat() for path in _kept(database)}
    return {name: [stat.st_size, stat.st_mtime_ns] for name, stat in stats.items()}
