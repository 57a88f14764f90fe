"""Databases that db_bench fills for the tests, and what proves that nobody wrote into them."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

_SMALL = {"write_buffer_size": 2**20, "target_file_size_base": 2**20, "statistics": 1, "seed": 1}


def fill(folder: Path, benchmarks: str, **flags: object) -> Path:
    """Runs db_bench into a folder, with small memtables and tables; returns the folder."""
    given = {**_SMALL, "max_bytes_for_level_base": 4 * 2**20, **flags}
    subprocess.run(
        ["db_bench", f"--db={folder}", f"--benchmarks={benchmarks}"]
        + [f"--{name}={value}" for name, value in given.items()],
        check=True, capture_output=True, timeout=120, env={**os.environ, "TZ": "UTC"},
    )  # fmt: skip
    return folder


def fingerprints(folder: Path) -> dict[str, tuple[str, int, int, int]]:
    """Hash, mode and times of everything in a folder and of the folder itself; not of reading."""
    return {
        str(path): (
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "",
            (stat := path.stat()).st_mode,
            stat.st_mtime_ns,
            stat.st_ctime_ns,
        )
        for path in (folder, *sorted(folder.rglob("*")))
    }
