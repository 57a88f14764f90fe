"""A disk that fails: a file system that turns read-only while it is written to. Needs root."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.sampler.small_disk import MARK, remove_left_disks, unmount


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
    remove_left_disks()
    folder.mkdir(parents=True)
    image = folder.parent / f"{MARK}{os.getpid()}"
    with image.open("xb") as file:
        file.truncate(size_bytes)
    try:
        _run("mkfs.ext4", "-q", "-F", image)
        _run("mount", "-o", "loop", image, folder)
        try:
            yield FailingDisk(folder, image)
        finally:
            unmount(folder)
    finally:
        image.unlink()


def _run(*argv: str | Path) -> None:
    subprocess.run(argv, check=True, capture_output=True)
