"""The metrics of a job's proof in rows: baseline, candidate, change; the objective's first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

UNITS = {
    "waf": "bytes written to storage per byte of user data",
    "sa": "live bytes per byte of distinct user data",
    "time": "s until the tree is settled",
    "rate": "operations/s",
    "memory": "memtables and block cache at full scale",
    "waf_with_wal": "the same with the log",
    "whole_waf": "preparing and measured process together",
    "prepare_seconds": "s of the process that fills the database, in no other figure but this",
    "peak_rss": "the most memory of the process",
    "write_p99": "us",
    "read_p99": "us",
    "stall_percent": "% of the load's time",
    "cpu_seconds": "s of all cores",
    "cpu_percent": "% of all processors while it worked",
    "device_bytes": "written to the device",
}
"""What a metric is, in a few words, by its name."""

_ALSO = ("waf_with_wal", "whole_waf", "memory", "peak_rss", "write_p99", "read_p99",
         "stall_percent", "cpu_seconds", "cpu_percent", "device_bytes",
         "prepare_seconds")  # fmt: skip


def proof_rows(result: Mapping[str, Any], names: Sequence[str]) -> list[dict[str, Any]]:
    """A row for each metric that the proof measured; none where there was no proof.

    Args:
        result: The document of result.json.
        names: The objective's metrics.

    Returns:
        ``metric``, ``help``, ``default``, ``best`` and ``change``, as the verdict has it.
    """
    verdict, level = result["verdict"], result["baseline"]["metrics"]
    if verdict is None:
        return []
    return [
        {
            "metric": metric,
            "help": UNITS.get(metric, ""),
            "default": level[metric],
            "best": verdict["metrics"][metric],
            "change": verdict["change"][metric],
        }
        for metric in [*names, *(m for m in _ALSO if m not in names)]
        if metric in verdict["change"] and metric in level
    ]
