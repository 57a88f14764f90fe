"""The processes of one trial: what prepares its database, what is measured, and what follows.

Only what is measured must run; the others where the load asks for them.

They share the trial's limits, its folder and its end.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from sampler.common.errors import InputError
from sampler.runner.benchmark import Benchmark, Following
from sampler.runner.conditions import Conditions
from sampler.runner.outcome import Outcome
from sampler.runner.prepared_copies import PreparedCopies, read_note
from sampler.runner.process import BenchProcess, Ending, Limits
from sampler.space.space import Configuration


@dataclass(eq=False)
class TrialProcesses:
    """One trial under way, with its first process started. Not for several threads at once.

    Raises:
        InputError: The first process cannot be started.
    """

    benchmark: Benchmark
    configuration: Configuration
    folder: Path  # the trial's own
    limits: Limits  # of those that prepare and measure together
    mark: Mapping[str, str]  # variables by which its processes are found
    lock: int  # the descriptor of the host's lock, which they keep open
    # Prepared databases that it may take and add to; None: it prepares its own.
    copies: PreparedCopies | None
    reads: bool  # whether reads of what it leaves are measured, too
    probe: bool  # whether the machine's speed is measured beside it

    def __post_init__(self) -> None:
        self._argv = self.benchmark.prepare(self.configuration, self.folder)
        # What preparing took here, and what it counts for in the limits: the same for a copy, so
        # that a configuration is cut off or not whether its database was there or not.
        self._prepared_seconds = self._counted = 0.0
        self._conditions: Conditions | None = None  # of the measured process, while it runs
        self._outcome: Outcome | None = None  # of the process that was measured, once it ended
        # What is still to add to it, the one that runs first.
        self._following: list[Following] = []
        self._preparation = self.benchmark.preparing(self.configuration, self.folder)
        key = self._preparation.key() if self._preparation and self.copies else None
        self._copies = self.copies if key else None
        self._key = key or ""
        if self._preparation and not self._taken():
            self._preparation.outputs.mkdir()
            self._process = self._spawn(
                self._preparation.argv(), self._preparation.outputs,
                self._preparation.held_from, self._preparation.settled,
            )  # fmt: skip
        else:
            self._preparation = None
            self._measure()

    def wait(self, timeout: float) -> Outcome | None:
        """The outcome, or None when the trial is not over after ``timeout`` s.

        Raises:
            InputError: The second process cannot be started.
        """
        until = time.monotonic() + timeout
        while True:
            ended = self._process.wait(max(0.0, until - time.monotonic()))
            if ended is None:
                return None
            if self._outcome is not None:
                self._outcome = self._following.pop(0).finish(self._outcome, ended)
            elif self._preparation is None:
                found = self._look_no_more(ended.cpu_seconds)
                if ended.ending is not Ending.EXIT:
                    found = {}  # of what its killed children used nobody knows
                outcome = self.benchmark.harvest(
                    self.configuration, self.folder, ended, self._began
                )
                # One that failed has no metrics; what a benchmark says itself stands.
                metrics = outcome.metrics and {**outcome.metrics, **found, **outcome.metrics}
                self._outcome = replace(outcome, metrics=metrics)
                self._following = [*self.benchmark.following(
                    self.configuration, self.folder, self._outcome, reads=self.reads
                )]  # fmt: skip
                # They are no part of what is measured: no cut-off is meant for them.
                self.limits = replace(self.limits, cutoff_seconds=None)
                self._counted = 0.0
            if self._outcome is not None:
                if not self._following:
                    seconds = self._outcome.bench_seconds + self._prepared_seconds
                    return replace(self._outcome, bench_seconds=seconds)
                following = self._following[0]
                following.outputs.mkdir()
                following.begin()
                self._process = self._spawn(following.argv(), following.outputs)
                continue
            assert self._preparation is not None
            failed = self._preparation.finish(ended)
            if failed is not None:
                return failed
            self._preparation = None
            self._prepared_seconds = self._counted = ended.wall_seconds
            if self._copies:
                self._copies.keep(self._key, self.folder)
            self._measure()

    def cancel(self) -> None:
        """Ends the process that runs."""
        self._process.cancel()
        self._look_no_more()

    def _taken(self) -> bool:
        if self._copies is None or not self._copies.take(self._key, self.folder):
            return False
        note = read_note(self.folder)
        self._counted = note.seconds if note else 0.0
        return True

    def _measure(self) -> None:
        self._conditions = Conditions(self.folder, self.mark, probe=self.probe)
        try:
            self._process = self._spawn(
                self._argv, self.folder,
                self.benchmark.held_from, lambda: self.benchmark.settled(self.folder),
            )  # fmt: skip
        except InputError:
            self._look_no_more()
            raise

    def _look_no_more(self, cpu_seconds: float = 0.0) -> dict[str, float]:
        found = self._conditions.end(cpu_seconds) if self._conditions else {}
        self._conditions = None
        return found

    def _spawn(
        self,
        argv: list[str],
        outputs: Path,
        held_from: str | None = None,
        settled: Callable[[], bool] = lambda: False,
    ) -> BenchProcess:
        cutoff = self.limits.cutoff_seconds
        self._began = time.time()
        try:
            return BenchProcess(
                argv,
                folder=outputs,
                work_in=Path.cwd(),
                environment={**self.benchmark.environment(), **self.mark},
                limits=replace(
                    self.limits,
                    timeout_seconds=max(0.0, self.limits.timeout_seconds - self._counted),
                    cutoff_seconds=None if cutoff is None else max(0.0, cutoff - self._counted),
                    held_from=held_from,
                    settled=settled,
                ),
                keep_open=(self.lock,),
            )
        except OSError as error:
            raise InputError("benchmark", f"cannot be started: {error}") from None
