"""The jobs of the comparison: which are asked for, and under which names they are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from jobs.specification.named_files import specify
from jobs.specification.resolved_job import resolve
from jobs.specification.specification import Specification

LOAD = "studies/memory_front/load-300k.toml"
QUICK = "load-quick"


@dataclass(frozen=True)
class Asked:
    """One job.

    Attributes:
        multiple: Of the baseline's memory.
        workload: A catalogue name or a TOML file.
        trials: Runs in all.
    """

    multiple: int
    workload: str
    trials: int
    seed: int
    strategy: str

    @property
    def name(self) -> str:
        """Of its archive: the load and the multiple."""
        return f"{Path(self.workload).stem}-{self.multiple}x"

    @cached_property
    def memory(self) -> int:
        """The budget in bytes: memtables and block cache.

        Raises:
            InputError: The load is too small for such memtables.
        """
        return self.multiple * _own_memory(self._specify(None))

    @property
    def specification(self) -> Specification:
        """What `rocktune tune` makes of it."""
        return self._specify(self.memory)

    def arguments(self) -> list[str]:
        """Of `rocktune tune`."""
        return [
            *("--space", "default", "--workload", self.workload, "--strategy", self.strategy),
            *("--trials", str(self.trials), "--seed", str(self.seed)),
            *("--memory", str(self.memory)),
        ]

    def _specify(self, memory: int | None) -> Specification:
        return specify(
            workload=self.workload, space="default", strategy=self.strategy,
            trials=self.trials, seed=self.seed, memory=memory,
        )  # fmt: skip


def asked_jobs(
    multiples: Sequence[int], *, workload: str, trials: int, seed: int, strategy: str
) -> list[Asked]:
    """One job a multiple, and one under load-quick at 1x: recorded draws are of that load."""
    jobs = [Asked(multiple, workload, trials, seed, strategy) for multiple in multiples]
    quick = Asked(1, QUICK, trials, seed, strategy)
    return jobs if quick in jobs else [*jobs, quick]


def _own_memory(specification: Specification) -> int:
    """Of the baseline, which is the budget where none is given."""
    memory = resolve(specification, None).problem.memory
    assert memory is not None  # the space default has a budget
    return memory
