"""Measures with the product's own runner, and reads the levels before the folder is removed."""

from __future__ import annotations

from pathlib import Path

from jobs.execution.assembly import Assembly, assemble
from sampler.bench.db_bench import DbBench
from sampler.runner.outcome import Outcome
from sampler.runner.process import EndedProcess
from sampler.runner.runner import LocalRunner
from sampler.runner.settings import Settings
from sampler.space.space import Configuration
from studies.ranking_scale.levels import parse_levels
from studies.ranking_scale.scales import Scale, specification_at
from studies.wrapped_benchmark import WrappedBenchmark


class WithLevels(WrappedBenchmark):
    """db_bench as the product runs it; keeps the levels of the last run."""

    levels: tuple[int, ...] = ()

    def harvest(
        self, configuration: Configuration, folder: Path, ended: EndedProcess, began: float
    ) -> Outcome:
        """As db_bench's; the last table of levels in the LOG is read first."""
        log = folder / "db" / "LOG"
        text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
        self.levels = parse_levels(text)
        return super().harvest(configuration, folder, ended, began)


class Bench:
    """One scale's runs on this machine."""

    def __init__(self, scale: Scale, settings: Settings) -> None:
        """Puts the load at a scale together.

        Raises:
            InputError: There is no db_bench, or it cannot measure this load.
        """
        self.scale = scale
        self.assembly: Assembly = assemble(specification_at(scale), settings)
        assert isinstance(self.assembly.benchmark, DbBench)
        self._bench = WithLevels(self.assembly.benchmark)
        self._runner = LocalRunner(self._bench, settings, waiting=_say_waiting)

    def measure(self, configuration: Configuration) -> tuple[Outcome, tuple[int, ...]]:
        """The outcome of a run and the bytes of each level at its end.

        A run beyond the scale's limit is ``censored``: its time a lower bound, its rate an upper.

        Raises:
            InputError: The machine cannot run it: no room on the disk, no right to write.
        """
        self._runner.start(configuration, cutoff_seconds=self.scale.limit_seconds)
        try:
            while (outcome := self._runner.wait(1.0)) is None:
                pass
        except BaseException:
            self._runner.cancel()
            raise
        return outcome, self._bench.levels


def _say_waiting(holder: str) -> None:
    print(f"waiting: {holder} uses this host", flush=True)
