"""A line for each run of a comparison or a check, on a console beside the answer's."""

from __future__ import annotations

from rich.console import Console

from cli.render.screen import plain
from jobs.experiments.interleaved import InterleavedRuns, MeasuredRun, RunsObserver


class RunsShown:
    """Tells how many runs are left, each that ended, and who else uses the host."""

    def __init__(self, console: Console, *, run_of: str = "{case}, {side}") -> None:
        """Takes the console, and how a run's case and side are told."""
        self._console, self._run_of, self._holder = console, run_of, ""

    @property
    def watcher(self) -> RunsObserver:
        """Itself, as who measures knows it."""
        return RunsObserver(begins=self._begins, waiting=self._waiting, ended=self._ended)

    def caution(self, line: str) -> None:
        """What must be known before the figures are read."""
        self._print(f"note: {plain(line)}")

    def _begins(self, runs: InterleavedRuns, left: int) -> None:
        self._print(
            f"{left} runs" if left == runs.total else f"{left} runs of {runs.total} are left"
        )

    def _ended(self, run: MeasuredRun) -> None:
        said = run.state if run.failure is None else f"{run.state}: {plain(run.failure)}"
        what = self._run_of.format(case=plain(run.case), side=run.side)
        self._print(f"round {run.round}, {what}: {said}, {run.seconds:.1f} s")

    def _waiting(self, holder: str) -> None:
        if holder != self._holder:
            self._holder = holder
            self._print(f"waiting: {plain(holder)} uses this host")

    def _print(self, line: str) -> None:
        self._console.print(line, soft_wrap=True)
