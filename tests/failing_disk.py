"""A disk that fails: a file system that turns read-only while it is written to. Needs root."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_MARK = "rocktune-failing-disk-"


@dataclass(frozen=True)
class FailingDisk:
    folder: Path
    image: Path

    @property
    def spoil(self) -> str:
        """The line of a shell that fails it: what the kernel does after an error of the disk."""
        return f"mount -o remount,abort '{self.folder}'"

    def repair(self) -> None:
        """Takes it off, which needs that nothing is open in it, mends it and mounts it again."""
        _run("umount", self.folder)
        found = subprocess.run(["e2fsck", "-fy", self.image], check=False, capture_output=True)
        assert found.returncode in (0, 1), found.stdout  # 1: errors, all corrected
        _run("mount", "-o", "loop", self.image, self.folder)


@contextmanager
def failing_disk(folder: Path, size_bytes: int) -> Iterator[FailingDisk]:
    """An ext4 of this size in a file beside a folder, mounted there; both are made, and go.

    Raises:
        OSError: There is no mkfs.ext4.
        subprocess.CalledProcessError: It cannot be made here.
    """
    _remove_left()
    folder.mkdir(parents=True)
    image = folder.parent / f"{_MARK}{os.getpid()}"
    with image.open("xb") as file:
        file.truncate(size_bytes)
    try:
        _run("mkfs.ext4", "-q", "-F", image)
        _run("mount", "-o", "loop", image, folder)
        try:
            yield FailingDisk(folder, image)
        finally:
            _run("umount", "--lazy", folder)
    finally:
        image.unlink()


def _remove_left() -> None:
    """Unmounts those of processes that are dead; what they were made of goes with its folder."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        source, folder, *_ = line.split()
        backing = Path("/sys/block", Path(source).name, "loop", "backing_file")
        with suppress(OSError, subprocess.CalledProcessError):
            _, mark, pid = backing.read_text().strip().removesuffix(" (deleted)").rpartition(_MARK)
            if mark and not Path("/proc", pid).exists():
                _run("umount", "--lazy", folder)


def _run(*argv: str | Path) -> None:
    subprocess.run(argv, check=True, capture_output=True)
