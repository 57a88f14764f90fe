"""The bench folder: what its disk allows, the folder of each trial, and kept copies of databases.

A copy is kept for trials that would prepare the very same database. RocksDB never writes to a
table or blob file again once it is finished, only deletes it, so those are hard links: they cost
no room while a trial uses them, and deleting one leaves the others. What RocksDB does go on
writing (CURRENT, MANIFEST, OPTIONS, the write-ahead log) is copied. A copy is put together in a
trial's folder and renamed into place; one that is dropped is renamed to such a folder first. So a
kill at any moment leaves either a whole copy or a folder that the next trial removes.
"""

import contextlib
import json
import mmap
import os
import re
import secrets
import shutil
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, FiniteFloat

from sampler.common.atomic_write import make_private_folder, write_private
from sampler.common.errors import InputError
from sampler.machine.machine import SYS, file_system, is_alive, line_of, own_process

_NAME = re.compile(r"trial-(\d+)-(\d+)-[0-9a-f]+")
_BLOCK = 4096
FOLDER = "prepared-copies"
UNUSED_SECONDS = 24 * 3600
_FILES = "files.json"
_IMMUTABLE = (".sst", ".blob")
_SHARE_OF_DISK = 4
_LEFT_OUT = ("LOG", "LOCK")
NOTE = "prepared.json"
BULK_BYTES = 128 * 2**20
APPENDS = 100
_STEP_BYTES = 8 * 2**20
_BLOCK_BYTES = 2**20
_APPEND_BYTES = 4096
# A disk so slow that it needs longer is known to be slow by then.
_MOST_SECONDS = 4.0


def make_trial_folder(bench_dir: Path) -> Path:
    """An empty folder for its owner alone, named for the process that owns it.

    Raises:
        InputError: It cannot be made.
    """
    pid, started = own_process()
    folder = bench_dir / f"trial-{pid}-{started}-{secrets.token_hex(4)}"
    try:
        make_private_folder(bench_dir, exist_ok=True)
        make_private_folder(folder)
    except OSError as error:
        problem = f"cannot make a folder in {bench_dir}: {error.strerror}"
        raise InputError("ROCKTUNE_BENCH_DIR", problem) from None
    return folder


@contextmanager
def trial_folder(bench_dir: Path) -> Iterator[Path]:
    """One that is removed in the end, with all in it; see ``make_trial_folder``."""
    folder = make_trial_folder(bench_dir)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_leftovers(bench_dir: Path) -> int:
    """Removes the folders of controllers that are dead; returns how many there were.

    Raises:
        InputError: The bench folder may not be looked into.
    """
    try:
        folders = list(bench_dir.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return 0
    except OSError as error:
        problem = f"cannot list {bench_dir}: {error.strerror}"
        raise InputError("ROCKTUNE_BENCH_DIR", problem) from None
    removed = 0
    for folder in folders:
        owner = _NAME.fullmatch(folder.name)
        if owner and not is_alive(int(owner.group(1)), int(owner.group(2))):
            shutil.rmtree(folder, ignore_errors=True)
            removed += 1
    return removed


def nearest_folder(bench_dir: Path) -> Path:
    """The bench folder, or the nearest one above it that is there and may be seen."""
    # Unlike Path.exists() this bears a folder that may not be looked into, and any name.
    return next(p for p in (bench_dir, *bench_dir.absolute().parents) if os.access(p, os.F_OK))


def require_space(bench_dir: Path, needed_bytes: int) -> None:
    """Refuses to start where the disk is too full.

    Raises:
        InputError: Less than ``needed_bytes`` are free.
    """
    free = shutil.disk_usage(nearest_folder(bench_dir)).free
    if free < needed_bytes:
        raise InputError(
            "ROCKTUNE_BENCH_DIR",
            f"the disk of {bench_dir} has {free / 2**20:,.0f} MiB free and a trial needs "
            f"{needed_bytes / 2**20:,.0f} MiB; free some space or choose another folder",
        )


@dataclass(frozen=True, kw_only=True)
class DiskState:
    """What can be known of a disk without loading it."""

    folder: Path  # the bench folder
    # device, kind: as they are mounted: ``/dev/sda1``, ``ext4``.
    device: str
    kind: str
    free_bytes: int  # left for this user
    rotational: bool | None  # whether the device has turning platters; None where nothing tells
    refusal: str | None  # why no folder or file can be made there; None where it can
    # Whether files can be written past the page cache; None where none can be made.
    direct: bool | None


def read_disk_state(bench_dir: Path) -> DiskState:
    """Looks at the disk, making and removing a folder such as a trial's."""
    existing = nearest_folder(bench_dir)
    device, kind = file_system(bench_dir)
    refusal, direct = None, None
    try:
        with trial_folder(bench_dir) as folder:
            (folder / "file").write_bytes(bytes(_BLOCK))
            direct = _writes_direct(folder / "direct")
    except InputError as error:
        refusal = error.problem
    except OSError as error:
        refusal = f"cannot write a file in {bench_dir}: {error.strerror}"
    return DiskState(
        folder=bench_dir,
        device=device,
        kind=kind,
        free_bytes=shutil.disk_usage(existing).free,
        rotational=_is_rotational(existing),
        refusal=refusal,
        direct=direct,
    )


def _writes_direct(file: Path) -> bool:
    """Whether one block goes past the page cache: open(2), O_DIRECT."""
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_DIRECT)
        with os.fdopen(descriptor, "wb", buffering=0) as opened, mmap.mmap(-1, _BLOCK) as aligned:
            return opened.write(aligned) == _BLOCK
    except OSError:
        return False


def _is_rotational(folder: Path) -> bool | None:
    number = folder.stat().st_dev
    device = (SYS / f"dev/block/{os.major(number)}:{os.minor(number)}").resolve()
    for place in (device, device.parent):  # a partition's queue is its disk's
        if (text := line_of(place / "queue/rotational")) is not None:
            return text == "1"
    return None


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


@dataclass(frozen=True, kw_only=True)
class DiskSpeed:
    """What was measured."""

    written_bytes: int  # in one file, made safe every 8 MiB
    write_seconds: float  # how long that took
    sync_seconds: tuple[float, ...]  # of each append of 4 KiB: until it was safe

    @property
    def bytes_per_second(self) -> float:
        """Of the long write."""
        return self.written_bytes / max(self.write_seconds, 1e-9)

    @property
    def sync_median(self) -> float:
        """Seconds."""
        return statistics.median(self.sync_seconds)

    @property
    def sync_p99(self) -> float:
        """Seconds: the value below which 99% of the appends lie, of 100 the second largest."""
        ordered = sorted(self.sync_seconds)
        return ordered[max(0, -(-99 * len(ordered) // 100) - 1)]


def measure_disk(folder: Path, *, bulk_bytes: int = BULK_BYTES) -> DiskSpeed:
    """Writes two files into an empty folder and leaves them there.

    Uses fdatasync as RocksDB does (``use_fsync = false``), on growing files as a log's and a
    table's are. The data cannot be compressed. At most ``bulk_bytes`` are written, at least one
    step of 8 MiB.

    Raises:
        OSError: The disk is full, or broken.
    """
    block = os.urandom(_BLOCK_BYTES)
    written, spent = 0, 0.0
    with (folder / "bulk").open("wb", buffering=0) as file:
        while written < bulk_bytes and spent < _MOST_SECONDS:
            began = time.perf_counter()
            for _ in range(_STEP_BYTES // _BLOCK_BYTES):
                file.write(block)
            os.fdatasync(file.fileno())
            spent += time.perf_counter() - began
            written += _STEP_BYTES
    syncs: list[float] = []
    with (folder / "log").open("wb", buffering=0) as file:
        while len(syncs) < APPENDS and sum(syncs) < _MOST_SECONDS:
            began = time.perf_counter()
            file.write(block[:_APPEND_BYTES])
            os.fdatasync(file.fileno())
            syncs.append(time.perf_counter() - began)
    return DiskSpeed(written_bytes=written, write_seconds=spent, sync_seconds=tuple(syncs))
