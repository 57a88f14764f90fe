"""Intervals as rows, and what they come to."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

from sampler.stats_dumps.opening import Interval

# Every column with its unit; MiB and GiB as RocksDB counts them, though it writes MB and GB.
_UNITS = {
    "at": "at_s",
    "seconds": "interval_s",
    "writes": "interval_writes_mib_s",
    "cumulative_writes": "cumulative_writes_mib_s",
    "ingested_gb": "cumulative_writes_gib",
    "compaction": "interval_compaction_mib_s",
    "cumulative_compaction": "cumulative_compaction_mib_s",
    "compacted_gb": "cumulative_compaction_gib",
    "compaction_read": "interval_compaction_read_mib_s",
    "cumulative_compaction_read": "cumulative_compaction_read_mib_s",
    "stall_percent": "interval_stall_percent",
    "cumulative_stall_percent": "cumulative_stall_percent",
}
COLUMNS = ("opening", *(_UNITS[each.name] for each in fields(Interval)))


def rows(openings: Sequence[Sequence[Interval]]) -> list[dict[str, Any]]:
    """A row for every interval under the names of ``COLUMNS``; None where nothing was told."""
    return [
        {"opening": number} | {_UNITS[name]: value for name, value in asdict(interval).items()}
        for number, opening in enumerate(openings, start=1)
        for interval in opening
    ]


def csv_text(openings: Sequence[Sequence[Interval]]) -> str:
    """The rows as CSV with a header; empty where nothing was told."""
    written = io.StringIO()
    writer = csv.DictWriter(written, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows(openings))
    return written.getvalue()


def summary(opening: Sequence[Interval]) -> dict[str, float | int | None]:
    """What an opening came to, of its last dump and its extremes; None for what was not told.

    ``write_amplification`` divides two sizes that RocksDB rounds to 0.01 GiB: it is None while
    less than 0.1 GiB came in. The WAL is in neither.
    """
    last = opening[-1]
    write_amplification = None
    if last.compacted_gb is not None and last.ingested_gb is not None and last.ingested_gb >= 0.1:
        write_amplification = last.compacted_gb / last.ingested_gb
    return {
        "intervals": len(opening),
        "seconds": last.at,
        "writes_gib": last.ingested_gb,
        "writes_mib_s": last.cumulative_writes,
        "compaction_gib": last.compacted_gb,
        "compaction_mib_s": last.cumulative_compaction,
        "write_amplification": write_amplification,
        "stall_percent": last.cumulative_stall_percent,
        "highest_writes_mib_s": _highest(opening, "writes"),
        "highest_compaction_mib_s": _highest(opening, "compaction"),
        "highest_stall_percent": _highest(opening, "stall_percent"),
    }


def _highest(opening: Sequence[Interval], name: str) -> float | None:
    return max((v for each in opening if (v := getattr(each, name)) is not None), default=None)
