"""How far a job is, and what it has found: told after every trial, at a constant cost."""

from __future__ import annotations

from dataclasses import dataclass

from optimizer.baseline import Baseline, summarise
from optimizer.history import History
from optimizer.problem import Problem
from optimizer.trial import Purpose, Trial
from sampler.outcome import TrialState


@dataclass(frozen=True)
class Standing:
    """A job's standing.

    Attributes:
        done: Trials that ended with a whole measurement.
        failed: Trials that ended otherwise, cut-off ones included.
        total: Trials that the job makes in all.
        best: The number of the fittest new configuration so far, and its fitness.
        seconds_left: An estimate from the mean trial so far.
    """

    done: int
    failed: int
    total: int
    best: tuple[int, float] | None
    seconds_left: float


class Scoreboard:
    """Keeps the standing while trials come in."""

    def __init__(self, problem: Problem, history: History) -> None:
        """Begins with the trials that are there."""
        self._problem, self._history = problem, history
        self._baseline: Baseline | None = None
        self._best: tuple[int, float] | None = None
        self._done = self._failed = 0
        self._seconds = 0.0
        for trial in history:
            self._count(trial)
        self._rescore()

    def put(self, trial: Trial) -> None:
        """Takes in a trial that has ended and is in the history."""
        self._count(trial)
        if trial.purpose is Purpose.BASELINE:
            self._rescore()  # what it is compared with has moved
        elif trial.purpose is Purpose.CANDIDATE:
            self._consider(trial)

    @property
    def baseline(self) -> Baseline | None:
        """The baseline over its runs so far, those of the confirmation left out."""
        return self._baseline

    def standing(self, total: int) -> Standing:
        """The standing of a job that makes ``total`` trials."""
        ended = self._done + self._failed
        each = self._seconds / ended if ended else 0.0
        left = max(total - ended, 0) * each
        return Standing(self._done, self._failed, total, self._best, left)

    def _count(self, trial: Trial) -> None:
        if trial.state in (TrialState.RUNNING, TrialState.LOST):
            return
        self._done += trial.done
        self._failed += not trial.done
        self._seconds += trial.bench_seconds

    def _rescore(self) -> None:
        self._best = None
        if not any(trial.done for trial in self._history.of(Purpose.BASELINE)):
            return
        self._baseline = summarise(self._history.of(Purpose.BASELINE))
        for trial in self._history.of(Purpose.CANDIDATE):
            self._consider(trial)

    def _consider(self, trial: Trial) -> None:
        if self._baseline is None or not trial.done:
            return
        if not self._problem.objective.admissible(trial.metrics):
            return
        metrics = self._baseline.corrected(trial.metrics, trial.started_at)
        value = self._problem.objective.rank_value(metrics, self._baseline.metrics)
        if self._best is None or value > self._best[1]:
            self._best = (trial.number, value)
