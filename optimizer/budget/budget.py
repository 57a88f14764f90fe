"""How a job's runs are divided, how many are left, how long each may take, and at what scale.

A confirmation may measure a larger load than the search. What is proved is what was measured
there: the winner is chosen and judged by runs at that scale alone, each beside a run of the
baseline at the same.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from optimizer.trials.problem import Problem
from optimizer.trials.trial import History, Phase, Purpose, Trial
from sampler.workload.workload import Workload

LEAST_TRIALS = 12
# A shared machine changes its speed within minutes: a longer gap would not see it.
_MOST_BETWEEN_BASELINES = 25
_SMALL = 24  # runs: below it nothing is chosen among, and nothing simplified
_CANDIDATES = ((_SMALL, 1), (36, 3), (72, 4), (200, 5), (math.inf, 6))  # below so many runs
_PER_SIMPLIFIED, _MOST_SIMPLIFIED = 4, 16


@dataclass(frozen=True)
class SampleSizePlan:
    """How many pairs were planned to show a change, and why."""

    change: float  # the change to be shown, as a ratio: 0.05 for 5%
    metric: str  # the metric of the objective that needs most pairs, or the one that was named
    spread: float  # its noise: standard deviation of the logarithm of single runs, drift left out
    runs: int  # runs of the baseline that this rests on
    level: float  # the probability of showing it that the pairs are planned for
    needed: int  # pairs that show the change with that probability
    # Planned: at least those without ``--detect``, at most what half of the budget holds.
    pairs: int
    smallest_change: float  # that ``pairs`` show with that probability, as a ratio
    trials: int | None  # a budget that would hold ``needed``; None where nobody would wait for it

    def document(self) -> dict[str, Any]:
        """As JSON holds it; changes and noise in percent."""
        return {
            "change": 100 * self.change,
            "level": self.level,
            "metric": self.metric,
            "noise": 100 * self.spread,
            "runs": self.runs,
            "needed": self.needed,
            "pairs": self.pairs,
            "smallest_change": 100 * self.smallest_change,
            "trials": self.trials,
        }


@dataclass(frozen=True)
class LimitMargin:
    """How far beyond its bound a limit still counts as kept: fixed before the proof's runs."""

    limit: str  # one bound, as ``limit_words`` says it
    share: float  # of the bound: 0.04 for 4%, a whole number of tenths of a percent
    spread: float | None  # noise of single runs of the baseline; None where it is not known
    runs: int  # runs of the baseline that this rests on

    def document(self) -> dict[str, Any]:
        """As JSON holds it; margin and noise in percent."""
        noise = None if self.spread is None else 100 * self.spread
        margin = round(100 * self.share, 1)
        return {"limit": self.limit, "margin": margin, "noise": noise, "runs": self.runs}


@dataclass(frozen=True)
class Plan:
    """Runs of the benchmark by purpose; together ``trials``."""

    trials: int  # all runs that the job makes
    first: int  # runs of the baseline at the start
    repeat_every: int  # after so many exploring trials the baseline is measured again
    exploring: int  # runs between first baselines and confirmation, repeated baselines among them
    candidates: int  # how many of the best are measured again
    rounds: int  # how often each of them, in turn with the baseline
    pairs: int  # runs of the winner, and as many of the baseline, that prove it
    sides: int = 2  # runs of a block of the proof: baseline, winner, maybe the best starting point
    # How many of the new configurations, the last ones, are kept for simplified versions of the
    # best; what these do not need goes on with the search.
    simplified: int = 0
    # Exploring runs that draws are laid out for, if fixed before the pairs; None: ``exploring``.
    laid_out: int | None = None
    detection: SampleSizePlan | None = None  # why so many pairs, where that was planned
    margins: tuple[LimitMargin, ...] = ()  # of each bound of the objective's limits

    @property
    def explore(self) -> int:
        """How many new configurations are measured: sampled, searched and simplified."""
        left = self.exploring if self.laid_out is None else self.laid_out
        # Whole blocks, each followed by the baseline; the last run is never spent on that.
        block = self.repeat_every + 1
        blocks = max(0, (left - 2) // block)
        configurations, left = blocks * self.repeat_every, left - blocks * block
        while left:
            block = min(self.repeat_every, left)
            configurations, left = configurations + block, left - block
            left -= self.baseline_due(block, left)
        return configurations

    def baseline_due(self, since: int, left: int) -> bool:
        """Whether the baseline is measured next, after so many configurations since its last run.

        The last of the exploring runs that are ``left`` is never spent on it.
        """
        return since >= self.repeat_every and left >= 2

    @property
    def select_runs(self) -> int:
        """Runs that choose the winner."""
        return (self.candidates + 1) * self.rounds if self.candidates > 1 else 0

    @property
    def confirm_runs(self) -> int:
        """Runs of the whole confirmation."""
        return self.select_runs + self.sides * self.pairs


def divide(trials: int, *, starts: bool = False) -> Plan:
    """Divides a budget.

    Every run that proves is one that does not explore: about two thirds of a small budget go
    into confirmation, and a vanishing share of a large one. Where there are starting points
    (``starts``) the best of them is measured in the proof too, unless the budget is tiny.

    Raises:
        ValueError: Fewer than ``LEAST_TRIALS``.
    """
    if trials < LEAST_TRIALS:
        raise ValueError(f"a job needs at least {LEAST_TRIALS} trials, not {trials}")
    pairs = min(max(trials // 12, 3), 8)
    candidates = next(n for most, n in _CANDIDATES if trials < most)
    rounds = 1 if trials < 72 else 2 if trials < 200 else 3
    first = 2 if trials < _SMALL else 3
    repeat_every = min(max(10, trials // 10), _MOST_BETWEEN_BASELINES)
    sides = 3 if starts and trials >= _SMALL else 2
    plan = Plan(trials, first, repeat_every, 0, candidates, rounds, pairs, sides)
    plan = replace(plan, exploring=trials - first - plan.confirm_runs)
    kept = min(plan.explore // _PER_SIMPLIFIED, _MOST_SIMPLIFIED)
    return replace(plan, simplified=kept if trials >= _SMALL else 0)


def trials_in(minutes: float, seconds_per_trial: float, *, least: int = LEAST_TRIALS) -> int:
    """How many trials fit into a time, but no fewer than ``least``."""
    return max(least, math.floor(minutes * 60 / max(seconds_per_trial, 1e-3)))


def explored_runs(plan: Plan, history: History) -> int:
    """New configurations, and the runs of the baseline beyond the first ones that are planned.

    With several hosts only one's first runs are planned for; those of the others count here.
    """
    baselines = len(history.own(Purpose.BASELINE))
    return len(history.own(Purpose.CANDIDATE)) + max(0, baselines - plan.first)


def explore_left(plan: Plan, history: History) -> int:
    """Exploring runs that are left."""
    return plan.exploring - explored_runs(plan, history)


def simplified_left(plan: Plan, history: History) -> int:
    """Runs that are left for simplified versions of the best."""
    return max(0, plan.simplified - len(history.simplified))


_SLACK_SECONDS = 1.0


def cutoff_seconds(multiple: float, level: Mapping[str, float]) -> float | None:
    """How long the benchmark may take; None: as long as it takes.

    It may take ``multiple`` times the baseline's ``time`` on that host (0: any time), and with
    ``prepare_seconds`` as many times those besides: the limit is that of both processes together.
    Where ``level`` lacks ``time`` or ``wall_seconds`` nothing is cut off.
    """
    wall, time = level.get("wall_seconds"), level.get("time")
    if not multiple or wall is None or time is None:
        return None
    # What the process spends beside the load and its settling: start, sleeps, statistics.
    beside = max(0.0, wall - time)
    spent = time + level.get("prepare_seconds", 0.0)
    return beside + multiple * spent + _SLACK_SECONDS


def full_seconds(trial: Trial) -> float:
    """Seconds of the benchmark, preparing its database included.

    A trial that took a copy of a prepared one was shorter than the next will be that finds none,
    and than every run of a proof, which prepares anew: time is planned with this.
    """
    prepared, measured = (trial.metrics.get(n) for n in ("prepare_seconds", "wall_seconds"))
    if prepared is None or measured is None:
        return trial.bench_seconds
    return max(trial.bench_seconds, prepared + measured)


def apart(problem: Problem, trial: Trial) -> bool:
    """Whether a trial measures another load than the search, so that figures do not compare."""
    return problem.confirm is not None and trial.phase is Phase.CONFIRM


def confirming_seconds(problem: Problem, history: History) -> float | None:
    """What one run of the confirmation takes, in seconds of the benchmark.

    As those measured; before the first, the baseline's time as many times as the load is larger.
    What its process spends beside that (start, sleeps) stays the same. A larger load that leaves
    the caches behind takes longer than that: it is an estimate. None before a run of the baseline
    has ended well.
    """
    confirming = [*history.of(Purpose.SELECT), *history.of(Purpose.PROVE)]
    made = [trial for trial in confirming if trial.has_outcome]
    if made:
        return sum(map(full_seconds, made)) / len(made)
    runs = [trial for trial in history.of(Purpose.BASELINE) if trial.done]
    if not runs:
        return None
    more = (problem.confirm or problem.workload).num / problem.workload.num - 1
    seconds = 0.0
    for run in runs:
        grows = run.metrics.get("time", run.bench_seconds)
        grows += run.metrics.get("prepare_seconds", 0.0)
        seconds += full_seconds(run) + more * grows
    return seconds / len(runs)


def where_words(confirm: Workload) -> str:
    """The load of the confirmation in words: ``at scale 8 (800,000 keys)``."""
    return f"at scale {confirm.scale} ({confirm.num:,} keys)"


def confirmation_document(problem: Problem) -> dict[str, Any] | None:
    """As JSON holds it; None where the confirmation measures what the search does."""
    if problem.confirm is None:
        return None
    searched, proved = problem.workload, problem.confirm
    return {
        "scale": proved.scale,
        "num": proved.num,
        "search_scale": searched.scale,
        "search_num": searched.num,
    }


def confirmation_words(document: Mapping[str, Any] | None) -> str | None:
    """One line from such a document: where was searched and where proved; None without one."""
    if document is None:
        return None
    return (
        f"Searched at scale 1/{document['search_scale']} ({document['search_num']:,} keys); "
        f"confirmed at scale 1/{document['scale']} ({document['num']:,} keys), where the baseline "
        "was measured too"
    )
