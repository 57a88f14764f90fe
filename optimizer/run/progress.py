"""How far a job is, and what it has found: told after every trial, at a constant cost."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from optimizer.baseline.baseline import Baseline, summarise
from optimizer.budget.budget import apart, confirming_seconds
from optimizer.confirmation.choice import may_win
from optimizer.evaluation.evaluation import by_configuration, fittest_first
from optimizer.trials.history import History
from optimizer.trials.problem import Problem
from optimizer.trials.trial import Purpose, Trial
from sampler.runner.outcome import TrialState


@dataclass(frozen=True)
class RunProgress:
    """How far a job is."""

    done: int  # trials that ended with a whole measurement
    failed: int  # trials that ended otherwise, cut-off ones included
    total: int  # trials that the job makes in all
    # The fittest new configuration, by the trial that measured it first, and its mean fitness.
    best: tuple[int, float] | None
    seconds_left: float  # by the mean trial so far, and the mean run of a larger confirmation
    counts: Mapping[TrialState, int]  # how many trials ended in each state that occurs
    bench_seconds: float  # what the benchmark has run in all
    # Mean time from the end of a trial to the beginning of the next, as far as this controller has
    # seen them: what the tuner costs.
    between_seconds: float | None = field(compare=False)

    def document(self) -> dict[str, Any]:
        """As JSON holds it."""
        best = self.best and {"trial": self.best[0], "fitness": self.best[1]}
        counts = {state.value: count for state, count in self.counts.items()}
        return asdict(self) | {"best": best, "counts": counts}


class ProgressTracker:
    """Keeps the progress up to date while trials come in."""

    def __init__(self, problem: Problem, history: History) -> None:
        self._problem, self._history = problem, history
        self.baseline: Baseline | None = None  # over its runs but those of the confirmation
        self._best: tuple[int, float] | None = None
        self._counts: Counter[TrialState] = Counter()
        self._seconds = 0.0
        self._apart, self._apart_seconds = 0, 0.0  # of a confirmation with a larger load
        self._between = self._gaps = 0.0
        for trial in history:
            self._count(trial)
        self._rescore()

    def put(self, trial: Trial, *, between: float | None = None) -> None:
        """Takes in a trial that has ended and is in the history.

        ``between`` is how many seconds after the end of the one before it was asked for, if this
        controller saw both.
        """
        self._count(trial)
        if between is not None:
            self._gaps += 1
            self._between += between
        if trial.purpose is Purpose.BASELINE:
            self._rescore()
        elif trial.purpose is Purpose.CANDIDATE:
            if len(self._history.of_configuration(trial.digest)) == 1:
                self._consider([trial])
            else:  # what was the best may be so no more
                self._rescore()

    def progress(self, total: int, *, hosts: int = 1, confirming: int = 0) -> RunProgress:
        """How far a job of so many trials is that runs on so many hosts side by side.

        How many of its trials confirm matters where those take longer.
        """
        ended = self._counts.total()
        done = self._counts[TrialState.DONE]
        return RunProgress(
            done=done,
            failed=ended - done,
            total=total,
            best=self._best,
            seconds_left=self._seconds_left(max(total - ended, 0), confirming) / hosts,
            counts=dict(self._counts),
            bench_seconds=self._seconds,
            between_seconds=self._between / self._gaps if self._gaps else None,
        )

    def _count(self, trial: Trial) -> None:
        if not trial.has_outcome:
            return
        self._counts[trial.state] += 1
        self._seconds += trial.bench_seconds
        if apart(self._problem, trial):
            self._apart += 1
            self._apart_seconds += trial.bench_seconds

    def _seconds_left(self, left: int, confirming: int) -> float:
        ended = self._counts.total() - self._apart
        each = (self._seconds - self._apart_seconds) / ended if ended else 0.0
        larger = min(left, max(confirming - self._apart, 0))
        if self._problem.confirm is None or not larger:
            return left * each
        one = confirming_seconds(self._problem, self._history)
        return (left - larger) * each + larger * (each if one is None else one)

    def _rescore(self) -> None:
        if not any(trial.done for trial in self._history.of(Purpose.BASELINE)):
            return
        self.baseline = summarise(self._history.of(Purpose.BASELINE), before=self.baseline)
        self._best = None
        ended = [trial for trial in self._history.of(Purpose.CANDIDATE) if trial.has_outcome]
        if len({trial.digest for trial in ended}) < len(ended):  # some were measured again
            for runs in by_configuration(ended):
                self._consider(runs)
            return
        done = [trial for trial in ended if trial.done]
        for trial in fittest_first(self._problem.objective, self.baseline, done):
            self._consider([trial])
            if self._best is not None:  # the first that may be
                return

    def _consider(self, runs: Sequence[Trial]) -> None:
        """Takes in a configuration, of which these are all the runs that have ended."""
        trial = runs[0]
        if self.baseline is None or not all(run.done for run in runs):
            return
        if not may_win(self._problem, trial):
            return
        metrics = self.baseline.corrected_mean(runs)
        if not self._problem.objective.admissible(metrics, self.baseline.metrics):
            return
        value = self._problem.objective.rank_value(metrics, self.baseline.metrics)
        # Of equal ones the first: who ends first must not matter.
        if self._best is None or (value, -trial.number) > (self._best[1], -self._best[0]):
            self._best = (trial.number, value)
