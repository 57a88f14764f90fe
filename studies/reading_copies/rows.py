"""What is kept of each run: a line of docs/results/reading.jsonl."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

KINDS = ("prepared", "copied")
CONFIGURATIONS: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "filter and cache": {"bloom_bits": 10, "cache_size": 64 * 2**20, "write_buffer_size": 2**25},
}
METRICS = ("rate", "read_p50", "read_p99", "read_p999", "sa", "whole_waf")


@dataclass(frozen=True)
class Row:
    """One run.

    Attributes:
        kind: Whether its database was prepared for it, or is a copy.
        round: Rounds hold one run of each kind and configuration, in an order of their own.
        machine: CPU, cores, system and the version of RocksDB.
    """

    workload: str
    configuration: str
    kind: str
    round: int
    state: str
    seconds: float
    metrics: Mapping[str, float]
    date: str
    machine: Mapping[str, Any]

    @property
    def key(self) -> tuple[str, str, str, int]:
        """What a run is: measured once."""
        return self.workload, self.configuration, self.kind, self.round


def done(rows: Sequence[Row], workload: str, configuration: str, kind: str) -> dict[int, Row]:
    """The runs of one kind that ended well, by round."""
    asked = (workload, configuration, kind)
    return {r.round: r for r in rows if r.key[:3] == asked and r.state == "done"}
