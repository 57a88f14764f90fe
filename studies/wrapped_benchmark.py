"""A benchmark around another one: what it does not change is the other's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from sampler.bench.outcome import EndedProcess, Outcome
from sampler.bench.runner import Benchmark, Stage
from sampler.space.space import Configuration


class WrappedBenchmark:
    """Meets ``sampler.bench.runner.Benchmark``, as another one does."""

    def __init__(self, benchmark: Benchmark) -> None:
        """Around the other one."""
        self._benchmark = benchmark

    @property
    def timeout_seconds(self) -> float:
        """As the other's."""
        return self._benchmark.timeout_seconds

    @property
    def space_bytes(self) -> int:
        """As the other's."""
        return self._benchmark.space_bytes

    def prepare(self, configuration: Configuration, folder: Path) -> list[str]:
        """As the other's."""
        return self._benchmark.prepare(configuration, folder)

    def preparing(self, configuration: Configuration, folder: Path) -> Stage | None:
        """As the other's."""
        return self._benchmark.preparing(configuration, folder)

    def environment(self) -> Mapping[str, str]:
        """As the other's."""
        return self._benchmark.environment()

    @property
    def held_from(self) -> str | None:
        """As the other's."""
        return self._benchmark.held_from

    def settled(self, folder: Path) -> bool:
        """As the other's."""
        return self._benchmark.settled(folder)

    def harvest(self, configuration: Configuration, folder: Path, ended: EndedProcess) -> Outcome:
        """As the other's."""
        return self._benchmark.harvest(configuration, folder, ended)

    def following(
        self, configuration: Configuration, folder: Path, outcome: Outcome, *, reads: int
    ) -> Sequence[Stage]:
        """As the other's."""
        return self._benchmark.following(configuration, folder, outcome, reads=reads)
