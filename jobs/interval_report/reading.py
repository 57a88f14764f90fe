"""Reads a log that a user names."""

from __future__ import annotations

from pathlib import Path

from sampler.errors import InputError
from sampler.interval_stats import Interval, parse_intervals

MOST_BYTES = 2**30
_NONE = (
    "holds no statistics by interval; give what db_bench prints (both its outputs) with "
    "--stats_interval_seconds=1 --stats_per_interval=1, or a RocksDB LOG of a database whose "
    "stats_dump_period_sec is not 0"
)


def read_intervals(path: Path) -> tuple[tuple[Interval, ...], ...]:
    """The intervals of each opening of a database that a log tells of; at least one.

    Raises:
        InputError: The file cannot be read, is too large, or has none.
    """
    field = f"LOG {path}"
    try:
        if not path.is_file():
            raise InputError(field, "is not a file")
        if path.stat().st_size > MOST_BYTES:
            raise InputError(field, "is larger than 1 GiB; give a part of it")
        text = path.read_bytes().decode("utf-8", errors="replace")
    except OSError as error:
        raise InputError(field, f"cannot be read: {error.strerror}") from None
    openings = parse_intervals(text)
    if not openings:
        raise InputError(field, _NONE)
    return openings
