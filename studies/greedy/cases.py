"""The four cases of the document, and what it says of each.

Krishnamoorthy and Choi, "Fine-tuning RocksDB for NVMe SSD" (Samsung Memory Solutions Lab): 2 Xeon
E5-2640 v3 (32 logical processors), 64 GB, PM1725 400 GB, XFS, 400 million records (with Snappy),
500 million operations by 16 threads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from jobs.specification.named_files import specify
from jobs.specification.specification import Specification

OBJECTIVE, STRATEGY = "rate", "greedy"


@dataclass(frozen=True)
class Case:
    """One of their workloads with one of their codecs.

    Attributes:
        name: Of the archive.
        workload, space: The catalogue's.
        column: The starting point that holds what they found.
        before, after: Their operations per second, in thousands.
        percent: The increase as they print it.
    """

    name: str
    workload: str
    space: str
    column: str
    before: int
    after: int
    percent: float


@dataclass(frozen=True)
class Asked:
    """The job of a case, as `rocktune tune` is asked for it."""

    case: Case
    trials: int
    seed: int

    @property
    def name(self) -> str:
        """Of its archive."""
        return self.case.name

    @property
    def specification(self) -> Specification:
        """What `rocktune tune` makes of it."""
        return specify(
            workload=self.case.workload, space=self.case.space, objective=OBJECTIVE,
            strategy=STRATEGY, trials=self.trials, seed=self.seed, start_from=[],
        )  # fmt: skip

    def arguments(self) -> list[str]:
        """Of `rocktune tune`."""
        return [
            *("--space", self.case.space, "--workload", self.case.workload),
            *("--objective", OBJECTIVE, "--strategy", STRATEGY),
            *("--trials", str(self.trials), "--seed", str(self.seed), "--start-from", "none"),
        ]


def _case(reads: int, codec: str, before: int, after: int, percent: float) -> Case:
    mixture = f"{reads}-{100 - reads}"
    space = "samsung" if codec == "snappy" else "samsung-uncompressed"
    return Case(
        f"{mixture}-{codec}", f"samsung-{mixture}", space, f"samsung-{mixture}-{codec}",
        before, after, percent,
    )  # fmt: skip


CASES = (
    _case(80, "snappy", 179, 316, 76.79),
    _case(80, "uncompressed", 174, 301, 72.79),
    _case(50, "snappy", 79, 132, 66.25),
    _case(50, "uncompressed", 88, 129, 46.72),
)
# "Top 6 contributors for increased performance (80/20 Snappy)", in percent.
CONTRIBUTORS: Mapping[str, float] = {
    "max_bytes_for_level_base": 11.2,
    "block_size": 10.2,
    "max_bytes_for_level_multiplier": 8.8,
    "cache_size": 8.8,
    "target_file_size_base": 7.8,
    "write_buffer_size": 6.2,
}
# Ends of their fronts: thousands of operations per second with the 99th percentile in us, and with
# the percentage of CPU.
LATENCY_FRONT = ((140, 340), (316, 128))
CPU_FRONT = ((184, 42.7), (319, 50.5))
