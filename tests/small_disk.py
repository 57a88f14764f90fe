"""A small disk of memory, to be filled. Needs root."""

import errno
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_MARK = "rocktune-small-disk-"
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
    source = f"{_MARK}{os.getpid()}"
    options = f"size={size_bytes},mode=755"
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, source, str(folder)],
        check=True, capture_output=True,
    )  # fmt: skip
    try:
        yield SmallDisk(folder)
    finally:
        _unmount(folder)


def remove_left_disks() -> None:
    """Unmounts those of processes that are dead."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        source, folder, *_ = line.split()
        pid = source.removeprefix(_MARK)
        if pid != source and not Path(f"/proc/{pid}").exists():
            with suppress(subprocess.CalledProcessError):
                _unmount(Path(folder))


def _unmount(folder: Path) -> None:
    # At once, though something may still be open in it: it goes when that ends.
    subprocess.run(["umount", "--lazy", str(folder)], check=True, capture_output=True)
