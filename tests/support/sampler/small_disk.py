"""A small disk of memory, to be filled. Disks need root, and leave none behind."""

import errno
import os
import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest

Disk = TypeVar("Disk")
MARK = "rocktune-disk-of-"
_BLOCK = 2**20


@dataclass(frozen=True)
class SmallDisk:
    folder: Path

    def fill(self) -> int:
        """Takes all that is left; how many bytes that was."""
        taken = 0
        with (self.folder / "filler").open("ab", buffering=0) as file:
            size = _BLOCK
            while size:
                try:
                    taken += file.write(b"\0" * size)
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise
                    size //= 2
        return taken

    def free(self) -> None:
        """Gives it back."""
        (self.folder / "filler").unlink()


@contextmanager
def small_disk(folder: Path, size_bytes: int) -> Iterator[SmallDisk]:
    """A disk of this size at a folder, which is made; it goes with all that is on it."""
    folder.mkdir(parents=True)
    source = f"{MARK}{os.getpid()}"
    options = f"size={size_bytes},mode=755"
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, source, str(folder)],
        check=True, capture_output=True,
    )  # fmt: skip
    try:
        yield SmallDisk(folder)
    finally:
        unmount(folder)


def made_or_skipped(disk: AbstractContextManager[Disk]) -> Iterator[Disk]:
    """What a fixture yields: the disk, where one can be made."""
    with ExitStack() as closing:
        try:
            made = closing.enter_context(disk)
        except (OSError, subprocess.CalledProcessError) as error:
            pytest.skip(f"no disk of its own can be made here: {error}")
        yield made


def remove_left_disks() -> None:
    """Unmounts those of processes that are dead."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        source, folder, *_ = line.split()
        _, marked, pid = _named(source).rpartition(MARK)
        if marked and not Path("/proc", pid).exists():
            with suppress(subprocess.CalledProcessError):
                unmount(Path(folder))


def _named(source: str) -> str:
    """Of a file that is a disk its path; else what was mounted, by its name."""
    try:
        backing = Path("/sys/block", Path(source).name, "loop", "backing_file").read_text()
    except OSError:
        return source
    return backing.strip().removesuffix(" (deleted)")


def unmount(folder: Path) -> None:
    # At once, though something may still be open in it: it goes when that ends.
    subprocess.run(["umount", "--lazy", str(folder)], check=True, capture_output=True)
