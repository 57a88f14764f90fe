"""What the history teaches: trials made comparable, and which parameters matter."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import lru_cache
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from models.importance.anova import group_labels
from models.importance.design import FeatureMatrix
from models.importance.ranking import Ranking, rank_parameters
from optimizer.baseline.baseline import CLOCKS, Baseline, summarise
from optimizer.objective.objective import Objective
from optimizer.trials.history import History
from optimizer.trials.problem import Problem
from optimizer.trials.trial import Phase, Purpose, Trial
from sampler.runner.outcome import TrialState
from sampler.space.encoding import encode_columns

COMPARABLE = (TrialState.DONE, TrialState.CENSORED)
_WITH_BASELINES = (Purpose.BASELINE, Purpose.SELECT, Purpose.PROVE)
_baselines: WeakKeyDictionary[History, tuple[tuple[int, ...], Baseline]] = WeakKeyDictionary()
_rankings: WeakKeyDictionary[History, tuple[tuple[int, ...], Ranking]] = WeakKeyDictionary()
_Worths = dict[int, tuple[Trial, float]]
_worths: WeakKeyDictionary[History, tuple[Baseline, Objective, _Worths]] = WeakKeyDictionary()


def baseline_of(history: History, problem: Problem | None = None) -> Baseline:
    """The baseline over all its runs, those of the confirmation included.

    Args:
        history: The trials so far.
        problem: Where its confirmation measures another load, those runs do not count; None: it
            measures the same.

    Raises:
        ValueError: None has ended well.
    """
    same = problem is None or problem.confirm is None
    purposes = _WITH_BASELINES if same else _WITH_BASELINES[:1]
    changes = (*(history.changes(purpose) for purpose in purposes), same)
    known = _baselines.get(history)
    if known is None or known[0] != changes:
        confirming = [t for p in purposes[1:] for t in history.of(p)]
        again = [trial for trial in confirming if trial.is_baseline]
        known = (changes, summarise([*history.of(Purpose.BASELINE), *again]))
        _baselines[history] = known
    return known[1]


def comparable(
    problem: Problem, history: History, trials: Iterable[Trial]
) -> list[tuple[float, Trial]]:
    """Finished trials with their fitness, clocks corrected for drift; in the given order."""
    finished = [trial for trial in trials if trial.state in COMPARABLE]
    return [*zip(worths_of(problem, history, finished), finished, strict=True)]


def worth_of(problem: Problem, baseline: Baseline, trial: Trial) -> float:
    """What the objective makes of a trial, clocks corrected for drift; see ``rank_value``."""
    metrics = baseline.corrected(trial.metrics, trial.started_at, trial.host)
    return problem.objective.rank_value(metrics, baseline.metrics)


def worths_of(problem: Problem, history: History, trials: Iterable[Trial]) -> list[float]:
    """``worth_of`` each, beside the baseline over all its runs.

    It is kept until the baseline is measured again: a proposal asks for that of every trial.
    """
    baseline, objective = baseline_of(history, problem), problem.objective
    kept = _worths.get(history)
    if kept is None or kept[0] is not baseline or kept[1] is not objective:
        kept = _worths[history] = (baseline, objective, {})
    found, known = [], kept[2]
    for trial in trials:
        before = known.get(trial.number)
        if before is None or before[0] is not trial:
            before = known[trial.number] = trial, worth_of(problem, baseline, trial)
        found.append(before[1])
    return found


def best_first(
    problem: Problem, history: History, trials: Iterable[Trial]
) -> list[tuple[float, Trial]]:
    """The same, the fittest first; equal ones by number."""
    return sorted(comparable(problem, history, trials), key=lambda p: (-p[0], p[1].number))


def ranking_of(problem: Problem, history: History, *, before: int | None = None) -> Ranking:
    """Which parameters matter, learned from the drawn trials (the paper's sections 3.2 to 3.4).

    Searched trials are left out: they crowd around good places, which the analysis of variance
    would mistake for effects.

    Args:
        problem: What is tuned.
        history: The trials so far.
        before: Only from trials before this number; None for all.
    """
    stamp = (
        id(problem), before or 0, history.changes(Purpose.CANDIDATE, Phase.SAMPLE),
        history.changes(Purpose.BASELINE),
    )  # fmt: skip
    found = _rankings.get(history)
    if found is None or found[0] != stamp:  # only then is it worth looking at every draw
        drawn = history.of(Purpose.CANDIDATE, Phase.SAMPLE)
        known = drawn if before is None else [trial for trial in drawn if trial.number < before]
        found = (stamp, _ranking(DrawsKey(problem, history, ended_well(known))))
        _rankings[history] = found
    return found[1]


class DrawsKey:
    """Names what was drawn by its trials, so that what they teach is learned once.

    The baseline is the one that was known when the last draw was made: what is learned must not
    depend on when it is learned, or a resumed job would search elsewhere.
    """

    def __init__(self, problem: Problem, history: History, numbers: tuple[int, ...]) -> None:
        """Binds draws by number to where they are found."""
        self.problem, self.history, self.numbers = problem, history, numbers
        ended = [t.number for t in history.of(Purpose.BASELINE) if t.done]
        last = max(numbers, default=0)
        earlier = tuple(number for number in ended if number <= last)
        self.baselines = earlier or tuple(ended)
        attempts = tuple((history[n].digest, history[n].attempt) for n in numbers)
        self._identity = (id(problem), id(history), numbers, attempts, self.baselines)

    def __hash__(self) -> int:
        return hash(self._identity)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DrawsKey) and self._identity == other._identity


def ended_well(trials: Iterable[Trial]) -> tuple[int, ...]:
    """The numbers of the trials that teach something: whole measurements and bounds."""
    return tuple(trial.number for trial in trials if trial.state in COMPARABLE)


def learned_table(key: DrawsKey) -> tuple[FeatureMatrix, dict[str, NDArray[np.float64]]]:
    """What the models learn from.

    Returns:
        The settings in effect, a row a draw, and for each metric of the objective its values,
        shape ``(n_draws,)``: clocks corrected for drift and as logarithms, NaN where unknown.
    """
    problem, trials = key.problem, [key.history[n] for n in key.numbers]
    baseline = summarise([key.history[number] for number in key.baselines])
    values, owner = encode_columns(problem.space, [trial.features for trial in trials])
    features = FeatureMatrix(values=values, names=problem.space.names, owner=owner)
    measured = [
        baseline.corrected(trial.metrics, trial.started_at, trial.host) for trial in trials
    ]
    targets = {
        term.metric: np.array([_target(metrics, term.metric) for metrics in measured])
        for term in problem.objective.terms
    }
    return features, targets


@lru_cache(maxsize=4)
def _ranking(key: DrawsKey) -> Ranking:
    problem, configurations = key.problem, [key.history[n].features for n in key.numbers]
    features, targets = learned_table(key)
    groups = {
        p.name: group_labels(
            [configuration.get(p.name) for configuration in configurations],
            special=[value for value in p.special if not isinstance(value, str)],
        )
        for p in problem.space.parameters
    }
    return rank_parameters(features, targets, groups, seed=problem.seed, top_k=problem.search.top)


def _target(metrics: Mapping[str, float], name: str) -> float:
    # A metric that a cut-off trial lacks is unknown; its time and rate are bounds and still teach.
    value = metrics.get(name, float("nan"))
    # Clocks have a long tail: on a plain scale a few slow trials would be all that is learned.
    return math.log(value) if name in CLOCKS and value > 0 else value
