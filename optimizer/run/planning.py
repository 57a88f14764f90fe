"""What a job's budget comes to, the words for its phases, and how far it is."""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from operator import itemgetter
from typing import Any

from optimizer.budget.budget import (
    LEAST_TRIALS,
    Plan,
    apart,
    confirming_seconds,
    divide,
    full_seconds,
    simplified_left,
    trials_in,
    where_words,
)
from optimizer.budget.power import (
    LEAST_TRIALS_TO_DETECT,
    margin_words,
    sample_size_words,
    with_limit_margins,
    with_planned_pairs,
)
from optimizer.confirmation.choice import may_win
from optimizer.evaluation.baseline import Baseline, summarise
from optimizer.evaluation.evaluation import by_configuration, fittest_first
from optimizer.strategies.strategy import Strategy
from optimizer.trials.problem import Problem
from optimizer.trials.trial import History, Phase, Purpose, Trial
from sampler.bench.outcome import TrialState
from sampler.workload.workload import Workload
from sampler.workload.workload_file import why_unread

_READ_SECONDS = 2.0  # of a round of reads of one tree (docs/explanation/measuring.md)
_WHY = {
    Phase.BASELINE: "measure the baseline, the reference of every trial",
    Phase.SAMPLE: "draw configurations from the whole space to learn which parameters matter",
    Phase.RANK: "rank the parameters by what the draws show",
    Phase.SEARCH: "search the parameters that matter most",
    Phase.CONFIRM: "re-measure the best few, then prove the winner on fresh runs",
}


@dataclass(frozen=True)
class Budget:
    """How much may be spent: runs of the benchmark, or minutes. One of the two is set."""

    trials: int | None = None
    minutes: float | None = None


def reason(phase: Phase, plan: Plan, strategy: Strategy, confirm: Workload | None = None) -> str:
    """Why a job enters a phase; what is planned from noise: pairs, and margins of limits.

    ``confirm`` is the load of the confirmation, where it is another than the search's.
    """
    said = strategy.phase_words.get(phase, _WHY[phase])
    if confirm and phase is Phase.CONFIRM:
        said += f", {where_words(confirm)}"
    if plan.detection and phase in (Phase.SAMPLE, Phase.CONFIRM):
        said += f"; {sample_size_words(plan.detection.document())}"
    if plan.margins and phase is Phase.CONFIRM:
        said += f"; {margin_words(plan)}"
    return said


def plan_of(problem: Problem, budget: Budget, history: History) -> Plan:
    """The division of the budget; minutes become trials by the baseline's first runs."""
    plan = with_planned_pairs(problem, _divided(problem, budget, history), history)
    return with_limit_margins(problem, plan, history)


def hurried(problem: Problem, budget: Budget, plan: Plan, history: History) -> bool:
    """Whether the minutes that are left are just enough to simplify and to confirm.

    With several hosts, by those that still measure: the plan is made for the hosts at first and
    stays, and exploring ends earlier where some have left.
    """
    candidates = len(history.numbers(Purpose.CANDIDATE))
    if budget.minutes is None or candidates < divide(LEAST_TRIALS).explore:
        return False
    bench = sum(trial.bench_seconds for trial in history)
    # A run takes longer than its benchmark: proposals, folders and reads are part of the time.
    spent = max(bench, _wall_seconds(history))
    ahead = plan.confirm_runs + simplified_left(plan, history)
    each = sum(map(full_seconds, history)) / max(history.finished, 1)
    if problem.confirm is not None:
        each = confirming_seconds(problem, history) or each
    each *= spent / (bench or 1.0)
    confirming = ahead * each + _price_seconds(problem, plan)
    if len(history.hosts) > 1:
        left = budget.minutes * 60 - _wall_seconds(history)
        return confirming >= left * _measuring(history, 2 * each)
    return spent + confirming >= _bench_minutes(budget.minutes, history) * 60


def _price_seconds(problem: Problem, plan: Plan) -> float:
    """What reads of the settled trees take in the proof, beyond what its runs take."""
    if why_unread(problem.confirm or problem.workload):
        return 0.0
    rounds = problem.read_rounds(proves=True) - problem.read_rounds(proves=False)
    return plan.sides * plan.pairs * rounds * _READ_SECONDS


def _divided(problem: Problem, budget: Budget, history: History) -> Plan:
    starts = bool(problem.starts)
    if budget.trials is not None:
        return divide(budget.trials, starts=starts)
    first = [t for t in history.of(Purpose.BASELINE, Phase.BASELINE) if t.done][:2]
    if not first or budget.minutes is None:
        # Only its first baselines are looked at before they are there.
        return divide(1000, starts=starts)
    seconds = sum(map(full_seconds, first)) / len(first)
    least = LEAST_TRIALS if problem.search.detect is None else LEAST_TRIALS_TO_DETECT
    minutes = _bench_minutes(budget.minutes, history)
    if problem.confirm is None:
        return divide(trials_in(minutes, seconds, least=least), starts=starts)
    # By the first runs alone, so that the plan stays what it was while it is confirmed.
    larger = confirming_seconds(problem, History(first)) or seconds
    return _fitting(minutes * 60, seconds, larger, least=least, starts=starts)


def _fitting(
    seconds: float, searching: float, confirming: float, *, least: int, starts: bool
) -> Plan:
    """The largest plan that fits into a time, its two kinds of runs taking so many seconds each.

    One trial more never takes less, so halving the range finds it.
    """
    most = trials_in(seconds / 60, searching, least=least)

    def too_long(trials: int) -> bool:
        larger = divide(trials, starts=starts).confirm_runs
        return (trials - larger) * searching + larger * confirming > seconds

    more = bisect_left(range(least + 1, most + 1), True, key=too_long)
    return divide(least + more, starts=starts)


def _bench_minutes(minutes: float, history: History) -> float:
    """The minutes of all hosts that the job began with: they measure side by side."""
    first = history.of(Purpose.BASELINE, Phase.BASELINE)
    return minutes * max(1, len({trial.host for trial in first if trial.done and trial.host}))


# A trial's folder, its processes' start and what comes after; a result that a controller found
# late, for none was there, took no longer.
_BESIDE_SECONDS = 60.0
_GONE_SECONDS = 300.0  # a host may be away for so long, and still be counted


def _wall_seconds(history: History) -> float:
    """How long anything was measured or proposed, without what lies between two controllers."""
    total, until = 0.0, -math.inf
    for _, begun, ended in sorted(_spans(history), key=itemgetter(1, 2)):
        after = until if begun - until < _BESIDE_SECONDS else begun
        total += max(0.0, ended - after)
        until = max(until, ended)
    return total


def _measuring(history: History, trial_seconds: float) -> int:
    """How many hosts there are, from the trials alone: a job that goes on counts the same.

    One that has measured nothing for ``trial_seconds``, and for five minutes, has gone.
    """
    seen: dict[str, float] = {}
    for host, _, ended in _spans(history):
        seen[host] = max(seen.get(host, ended), ended)
    newest = max(seen.values(), default=0.0)
    away = max(trial_seconds, _GONE_SECONDS)
    return max(1, sum(newest - last <= away for last in seen.values()))


def _spans(history: History) -> list[tuple[str, float, float]]:
    """Where and from when to when each trial was measured, in seconds since 1970.

    One in flight: until the newest moment that the history knows of. What was lost is left out.
    """
    spans = [
        (trial.host, trial.started_at.timestamp(), _measured_until(trial))
        for trial in history
        if trial.host and trial.started_at and trial.state is not TrialState.LOST
    ]
    newest = max((ended or begun for _, begun, ended in spans), default=0.0)
    return [(host, begun, newest if ended is None else ended) for host, begun, ended in spans]


def _measured_until(trial: Trial) -> float | None:
    if trial.started_at is None or trial.finished_at is None or not trial.has_outcome:
        return None
    longest = trial.started_at.timestamp() + full_seconds(trial) + _BESIDE_SECONDS
    return min(trial.finished_at.timestamp(), longest)


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
