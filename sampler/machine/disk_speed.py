"""How fast a disk takes data for good: long writes, and small ones that must be safe at once."""

import os
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

BULK_BYTES = 128 * 2**20
APPENDS = 100
_STEP_BYTES = 8 * 2**20
_BLOCK_BYTES = 2**20
_APPEND_BYTES = 4096
# A disk so slow that it needs longer is known to be slow by then.
_MOST_SECONDS = 4.0


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
