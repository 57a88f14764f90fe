"""Why a winner is better, by the models of its job: a path, the fewest changes, and a document."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import NormalDist
from types import MappingProxyType
from typing import Any

import numpy as np

from models import Floats
from models.gaussian_process.process import one_thread
from optimizer.budget.power import LEAST_PAIRS
from optimizer.confirmation.paired_tests import (
    Change,
    Margins,
    change,
    interval_of_mean,
    limits_kept,
)
from optimizer.confirmation.proof import fitness_by_pair
from optimizer.evaluation.evaluation import Evaluation
from optimizer.explanation.expectations import (
    distinct_configurations,
    explaining_model,
    withheld_of,
)
from optimizer.objective.objective import Metrics, Objective, kept_words
from optimizer.strategies.changes import Changes, Names, fewest_changes, moves_from, path_of
from optimizer.surrogate.predictions import Estimate, PredictedChanges
from optimizer.trials.problem import Problem
from sampler.rocksdb.parameters import Value
from sampler.space.space import Configuration

# What counts as noise is at least and at most this share of the winner's gain.
LEAST_NOISE, MOST_NOISE = 0.01, 0.10
SURE = 0.975  # as the deciding test is: that no more than the most is lost
_TAIL = 0.025
# The draws are as much too narrow as this, over jobs of 34 to 245 trials on functions whose truth
# is known (docs/results/explanation_coverage.md): the processes of one job share a kernel.
WIDER = 1.25


@dataclass(frozen=True)
class ExplainedStep:
    """One step of the path."""

    names: tuple[str, ...]  # the options that change, several where they depend on each other
    gain: Estimate  # in fitness, on top of the steps before
    fitness: Estimate  # after the step
    metrics: Mapping[str, Estimate]  # the change of each metric by this step, in percent


@dataclass(frozen=True)
class Minimal:
    """The fewest changes that are as good as all of them."""

    kept: tuple[str, ...]  # kept, dropped: the changes, in the order of the path
    dropped: tuple[str, ...]
    configuration: Mapping[str, Value]
    fitness: Estimate  # of the configuration with those that are kept
    loss: Estimate  # in fitness, against the winner; below 0 where it is expected to be better
    noise: float  # the loss that was allowed


@dataclass(frozen=True)
class ExplainedWinner:
    """Why a winner is better."""

    trials: int  # how many the models have learned from
    fixed: tuple[str, ...]  # what the space always sets; the first step, if there is any
    fitness: Estimate  # what the models expect of the winner
    steps: tuple[ExplainedStep, ...]  # from the baseline to the winner
    minimal: Minimal | None  # none where the models do not see that the winner is better


@one_thread()
def explain_winner(
    evaluation: Evaluation, winner: Configuration, *, error: float
) -> ExplainedWinner | None:
    """Explains a winner by all trials of its job.

    The standard error of its fitness in the proof is what counts as noise, within ``LEAST_NOISE``
    and ``MOST_NOISE`` of what it is expected to gain. None where it is the baseline, or where too
    few configurations were measured (``withheld_of`` says how many it takes).
    """
    problem, history = evaluation.problem, evaluation.history
    changes = Changes(problem, winner)
    if not changes.names and not changes.fixed:
        return None
    if withheld_of(problem, history, changes) is not None:
        return None
    known = explaining_model(evaluation, changes)
    if known is None:
        return None
    steps = path_of(changes, known.fitness)
    minimal, noise = _fewest(changes, known, steps, error)
    tried = distinct_configurations(problem, history)
    return _explanation(changes, known, steps, minimal, noise, tried)


def _fewest(
    changes: Changes, known: PredictedChanges, steps: Sequence[Names], error: float
) -> tuple[Names | None, float]:
    whole = float(known.fitness([changes.winner])[0])
    if whole <= 0:
        return None, 0.0
    most = MOST_NOISE * whole
    noise = min(max(error, LEAST_NOISE * whole), most)
    objective = known.problem.objective
    kept_by_winner = known.kept_limits(known.changes([changes.winner]))[:, 0]

    def losses(configurations: Sequence[Configuration]) -> Floats:
        moved = known.drawn_changes([changes.winner, *configurations])
        fitness = objective.fitness_of_changes(moved)
        lost, drawn = fitness[0, 0] - fitness[0, 1:], fitness[1:, :1] - fitness[1:, 1:]
        surely = np.quantile(drawn, SURE, axis=0)
        kept = known.kept_limits({name: values[0] for name, values in moved.items()})
        breaks = (kept_by_winner[:, None] & ~kept[:, 1:]).any(axis=0)
        return np.where((lost > noise) | (surely > most) | breaks, np.inf, lost)

    return fewest_changes(changes, losses, steps), noise


def _explanation(
    changes: Changes,
    known: PredictedChanges,
    steps: Sequence[Names],
    minimal: Names | None,
    noise: float,
    configurations: int,
) -> ExplainedWinner:
    """Puts figures to the path: all from the same draws, so that its steps add up.

    ``configurations`` is how many different ones were measured, of which the winner is the best.
    """
    named = [tuple(name for name in changes.names if name in step) for step in steps]
    order = [name for names in named for name in names]
    made = [frozenset(order[: sum(map(len, steps[:count]))]) for count in range(len(steps) + 1)]
    first = 0 if changes.fixed else 1  # the baseline itself, of which nothing is expected
    points = [changes.configuration(kept) for kept in made[first:]]
    points.append(changes.configuration(minimal or frozenset()))
    figures = _Figures(known, points, len(changes.names), configurations)
    told = [changes.fixed, *named] if changes.fixed else named
    tried = [1] if changes.fixed else []  # of which each step was the best
    tried += [len(moves_from(changes, kept)) for kept in made[:-1]]
    last = len(told) - 1
    return ExplainedWinner(
        trials=len(known.model.data.numbers),
        fixed=changes.fixed,
        fitness=figures.fitness(last),
        steps=tuple(
            ExplainedStep(
                names,
                figures.gain(place, tried[place]),
                figures.fitness(place),
                figures.moved(place, tried[place]),
            )
            for place, names in enumerate(told)
        ),
        minimal=None
        if minimal is None
        else Minimal(
            kept=tuple(name for name in order if name in minimal),
            dropped=tuple(name for name in order if name not in minimal),
            configuration=changes.configuration(minimal),
            fitness=figures.fitness(len(told)),
            loss=figures.lost(last, len(told)),
            noise=noise,
        ),
    )


class _Figures:
    """Estimates of neighbouring configurations out of one set of draws."""

    def __init__(
        self,
        known: PredictedChanges,
        points: Sequence[Configuration],
        count: int,
        configurations: int,
    ) -> None:
        objective = known.problem.objective
        self._count, self._configurations = count, configurations
        self._better = {term.metric: term.direction for term in objective.terms}
        # The expectation stands in front of the draws; the baseline before all points.
        self._changes = {
            name: np.pad(values, ((0, 0), (1, 0)))
            for name, values in known.drawn_changes(points).items()
        }
        self._fitness = objective.fitness_of_changes(self._changes)

    def fitness(self, place: int) -> Estimate:
        # The path leads to the best of all configurations that were measured.
        return _chosen(_estimate(self._fitness[:, place + 1]), "max", self._configurations)

    def gain(self, place: int, tried: int) -> Estimate:
        gained = _estimate(self._fitness[:, place + 1] - self._fitness[:, place])
        return _chosen(gained, "max", tried)

    def lost(self, place: int, other: int) -> Estimate:
        lost = _estimate(self._fitness[:, place + 1] - self._fitness[:, other + 1])
        return _chosen(lost, "min", self._count)

    def moved(self, place: int, tried: int) -> dict[str, Estimate]:
        """The change of each metric from the point before, in percent."""
        found = {}
        for name, values in self._changes.items():
            after, before = values[:, place + 1], values[:, place]
            positive = bool((before > -1).all())
            moved = (1 + after) / (1 + before) - 1 if positive else after - before
            found[name] = _chosen(_estimate(100 * moved), self._better.get(name), tried)
        return found


def _chosen(estimate: Estimate, better: str | None, tried: int) -> Estimate:
    """The estimate of the best of several: it looks better than it is, so it may be worse.

    The largest of many uncertain gains is an overestimate (the winner's curse). Where it may be
    worse, below its expectation (``better`` is ``max``) or above (``min``), the interval is as
    long as that of all ``tried`` candidates at once has to be: by Bonferroni's inequality at the
    level 2.5% / ``tried``. A metric that did not decide (None) stays as it is.
    """
    if tried < 2 or better is None:
        return estimate
    wider = NormalDist().inv_cdf(_TAIL / tried) / NormalDist().inv_cdf(_TAIL)
    if better == "max":
        low = estimate.expected - wider * (estimate.expected - estimate.low)
        return replace(estimate, low=low)
    return replace(estimate, high=estimate.expected + wider * (estimate.high - estimate.expected))


def _estimate(values: Floats) -> Estimate:
    """The first value is the expectation, the others are draws."""
    expected, drawn = float(values[0]), values[1:]
    # The expectation lies at the medians of the metrics, which need not be that of the fitness.
    low, high = np.minimum(drawn, expected), np.maximum(drawn, expected)
    below = expected - float(np.quantile(low, _TAIL))
    above = float(np.quantile(high, 1 - _TAIL)) - expected
    return Estimate(expected, expected - WIDER * below, expected + WIDER * above)


NOTHING_EXPLAINED: Mapping[str, None] = {"explanation": None, "explanation_withheld": None}
_INTERVAL_ERRORS = 3.92  # standard errors in a 95% interval of many pairs


def explanation_document(
    evaluation: Evaluation, winner: Configuration, *, low: float, high: float
) -> dict[str, Any]:
    """Why a winner is better, by the models alone: a part of result.json.

    ``low`` and ``high`` are the 95% interval of its fitness in the proof.

    Returns:
        ``explanation``: ``trials``, ``predicted``, ``steps``, ``minimal`` and ``measured``, which
            is null until points of the path are measured; null where nothing can be explained.
            ``explanation_withheld``: ``why``, and the counts that it rests on, where that is for
            want of configurations; else null.
    """
    problem, history = evaluation.problem, evaluation.history
    withheld = withheld_of(problem, history, Changes(problem, winner))
    if withheld is not None:
        return {**NOTHING_EXPLAINED, "explanation_withheld": withheld.document()}
    found = explain_winner(evaluation, winner, error=(high - low) / _INTERVAL_ERRORS)
    if found is None:
        return dict(NOTHING_EXPLAINED)
    return {**NOTHING_EXPLAINED, "explanation": _document(problem, winner, found)}


def fewer_changes(result: Mapping[str, Any]) -> dict[str, Any] | None:
    """The minimal configuration of a result.json, if it has fewer changes; old ones have none."""
    minimal: dict[str, Any] | None = (result.get("explanation") or {}).get("minimal")
    return minimal if minimal and minimal["dropped"] else None


def _document(problem: Problem, winner: Configuration, found: ExplainedWinner) -> dict[str, Any]:
    context, figures = problem.space.context, with_lists(asdict(found))
    steps = [
        {
            "changes": [
                {"name": n, "from": context[n], "to": winner[n]} for n in step.pop("names")
            ],
            "fixed": bool(found.fixed) and place == 0,
            **step,
        }
        for place, step in enumerate(figures["steps"])
    ]
    # ``refused``: RocksDB's words, where it does not take this file.
    minimal = figures["minimal"] and {**figures["minimal"], "refused": None}
    return {
        "trials": found.trials,
        "predicted": figures["fitness"],
        "steps": steps,
        "minimal": minimal,
        "measured": None,
    }


def with_lists(value: Any) -> Any:
    """The same with lists where there are tuples, as JSON has them."""
    if isinstance(value, Mapping):
        return {name: with_lists(each) for name, each in value.items()}
    return [with_lists(each) for each in value] if isinstance(value, (list, tuple)) else value


BASELINE, MINIMAL, WINNER = "baseline", "minimal", "winner"
Round = Mapping[str, Metrics]


@dataclass(frozen=True)
class BlockComparison:
    """One configuration against another, over the rounds that measured both."""

    rounds: int  # how many rounds
    fitness: Estimate  # the difference; each fitness is against the baseline of its round
    changes: Mapping[str, Change]  # by metric, the ratio of the two, in percent


@dataclass(frozen=True)
class NotWorse:
    """Whether the fewest changes are as good as all of them."""

    compared: BlockComparison
    margin: float  # the loss of fitness that was declared to be small enough, before the runs
    # Whether the 95% interval of the difference lies above that, every limit is shown to be kept,
    # and none of its runs failed alone.
    shown: bool
    why: str  # one line


def compare_blocks(
    objective: Objective, rounds: Sequence[Round], before: str, after: str
) -> BlockComparison | None:
    """One configuration (``after``) against another, over the runs that ended well.

    Neighbours in time are compared, as in the proof: a machine that drifts slows a round's runs
    alike. None with fewer than two rounds that measured both, and the baseline.
    """
    whole = _whole(objective, rounds, before, after)
    if len(whole) < 2:
        return None
    gained = _fitness(objective, whole, after) - _fitness(objective, whole, before)
    mean, half, _ = interval_of_mean(gained)
    names = [
        name
        for name in whole[0][after]
        if all(name in each[before] and name in each[after] for each in whole)
    ]
    return BlockComparison(
        rounds=len(whole),
        fitness=Estimate(mean, mean - half, mean + half),
        changes={
            name: change([(each[before][name], each[after][name]) for each in whole])
            for name in names
        },
    )


def judge_minimal(
    objective: Objective,
    rounds: Sequence[Round],
    *,
    margin: float,
    failed: int = 0,
    margins: Margins | None = MappingProxyType({}),
) -> NotWorse | None:
    """Whether the fewest changes are not worse than the winner by more than a margin of fitness.

    A non-inferiority test at the level of the proof: it passes when the 95% interval of the
    difference in fitness, fewest changes less winner, lies above ``-margin``, which is declared
    before the runs. As in the proof nothing is shown where runs of the fewest changes ``failed``,
    and the baseline and the winner ended well. None with fewer than two rounds.
    ``margins``: of the limits; see ``judge``.
    """
    compared = compare_blocks(objective, rounds, WINNER, MINIMAL)
    if compared is None:
        return None
    whole = _whole(objective, rounds, WINNER, MINIMAL)
    found = compared.fitness
    above, enough = found.low > -margin, compared.rounds >= LEAST_PAIRS
    why = (
        f"fitness {found.expected:+z.0f} [{found.low:+z.0f}, {found.high:+z.0f}] relative to the "
        f"winner over {compared.rounds} rounds, {'above' if above else 'not above'} "
        f"the declared {-margin:.0f}"
    )
    pairs = [(each[BASELINE], each[MINIMAL]) for each in whole]
    kept = limits_kept(objective.limits, pairs, pairs, margins=margins, unseen={})
    broken = [each for each in kept if not each.kept]
    for each in broken:
        why += f"; the limit {kept_words(each.document())}"
    if failed:
        why += f"; {failed} of its runs failed, while the others succeeded"
    if not enough:
        why += f"; {LEAST_PAIRS} rounds are needed"
    shown = above and enough and not broken and not failed
    return NotWorse(compared, margin, shown, why)


def _whole(objective: Objective, rounds: Sequence[Round], before: str, after: str) -> list[Round]:
    """The rounds in which the two and the baseline have a fitness."""
    return [
        each
        for each in rounds
        if {BASELINE, before, after} <= each.keys()
        and all(
            objective.fitness(each[name], each[BASELINE]) is not None for name in (before, after)
        )
    ]


def _fitness(objective: Objective, rounds: Sequence[Round], name: str) -> Floats:
    if name == BASELINE:
        return np.zeros(len(rounds))
    return fitness_by_pair(objective, [(each[BASELINE], each[name]) for each in rounds])
