"""What the models of a job say: why a winner is better, and how metrics depend on parameters.

The models learn from all trials of the job; where these are too few, a winner is not explained.
"""

import itertools
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from statistics import NormalDist
from typing import Any

import numpy as np

from models import Floats
from models.gaussian_process.effects import LEAST_JUDGED, Grid, MarginalEffects
from models.gaussian_process.process import one_thread
from optimizer.budget.budget import LEAST_TRIALS, apart, divide
from optimizer.evaluation.evaluation import Evaluation, rank_value
from optimizer.explained import (
    Dependence,
    DependenceCurve,
    Estimate,
    Explanation,
    FewestChanges,
    PairTogether,
    PathStep,
    SteppedOption,
)
from optimizer.strategies.changes import Changes, Names, fewest_changes, moves_from, path_of
from optimizer.surrogate.job_model import FIRST, MEMBERS, JobModel, ensemble_of, job_surrogate
from optimizer.surrogate.predictions import PredictedChanges
from optimizer.surrogate.training_data import (
    TEACHING,
    chosen_few,
    cube_layout,
    training_data_of,
)
from optimizer.trials.problem import Problem
from optimizer.trials.trial import History
from sampler.bench.outcome import TrialState
from sampler.rocksdb.parameters import Value
from sampler.space.latent import SPECIAL_SHARE, decode
from sampler.space.space import Configuration, holding

# What counts as noise is at least and at most this share of the winner's gain.
LEAST_NOISE, MOST_NOISE = 0.01, 0.10
SURE = 0.975  # as the deciding test is: that no more than the most is lost
_TAIL = 0.025
# The draws are as much too narrow as this, over jobs of 34 to 245 trials on functions whose truth
# is known (docs/results/explanation_coverage.md): the processes of one job share a kernel.
WIDER = 1.25


@one_thread()
def explain_winner(
    evaluation: Evaluation, winner: Configuration, *, error: float
) -> Explanation | None:
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
) -> Explanation:
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
    context, winner = known.problem.space.context, changes.winner
    return Explanation(
        trials=len(known.model.data.numbers),
        predicted=figures.fitness(last),
        steps=[
            PathStep(
                changes=[SteppedOption(name=n, before=context[n], after=winner[n]) for n in names],
                fixed=bool(changes.fixed) and place == 0,
                gain=figures.gain(place, tried[place]),
                fitness=figures.fitness(place),
                metrics=figures.moved(place, tried[place]),
            )
            for place, names in enumerate(told)
        ],
        minimal=None
        if minimal is None
        else FewestChanges(
            kept=[name for name in order if name in minimal],
            dropped=[name for name in order if name not in minimal],
            configuration=dict(changes.configuration(minimal)),
            fitness=figures.fitness(len(told)),
            loss=figures.lost(last, len(told)),
            noise=noise,
            refused=None,
        ),
        measured=None,
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
        return estimate.model_copy(update={"low": low})
    high = estimate.expected + wider * (estimate.high - estimate.expected)
    return estimate.model_copy(update={"high": high})


def _estimate(values: Floats) -> Estimate:
    """The first value is the expectation, the others are draws."""
    expected, drawn = float(values[0]), values[1:]
    # The expectation lies at the medians of the metrics, which need not be that of the fitness.
    low, high = np.minimum(drawn, expected), np.maximum(drawn, expected)
    below = expected - float(np.quantile(low, _TAIL))
    above = float(np.quantile(high, 1 - _TAIL)) - expected
    return Estimate(expected=expected, low=expected - WIDER * below, high=expected + WIDER * above)


_INTERVAL_ERRORS = 3.92  # standard errors in a 95% interval of many pairs


def explained(
    evaluation: Evaluation, winner: Configuration, *, low: float, high: float
) -> tuple[Explanation | None, dict[str, Any] | None]:
    """Why a winner is better, by the models alone; the fields of a result.

    ``low`` and ``high`` are the 95% interval of its fitness in the proof.

    Returns:
        ``explanation``; None where nothing can be explained.
        ``explanation_withheld``: ``why``, and the counts that it rests on, where that is for want
            of configurations; else None.
    """
    problem, history = evaluation.problem, evaluation.history
    withheld = withheld_of(problem, history, Changes(problem, winner))
    if withheld is not None:
        return None, withheld.document()
    return explain_winner(evaluation, winner, error=(high - low) / _INTERVAL_ERRORS), None


DRAWS = 40 * MEMBERS


_MOST = 300  # rows: beyond them learning would take too long


def explaining_model(evaluation: Evaluation, changes: Changes) -> PredictedChanges | None:
    """Learns the models from all trials that have ended, the proof's too; None: too few have.

    The baseline is a point of the models like any other. Where the space sets values that the
    baseline has not, it is none of its configurations; then it is taken as it was measured.
    """
    problem, history = evaluation.problem, evaluation.history
    modelled = not changes.fixed
    # A codec that is no choice of the space, or a size beyond its range, would otherwise be taken
    # for the nearest that it has, and the change from it for no change.
    space = holding(problem.space, problem.space.start)
    if space != problem.space:  # points of draws mean the space as it was
        problem = replace(problem, space=space)
        history = History(replace(trial, point=None) for trial in history)
    ended = [trial for trial in history if trial.state in TEACHING]
    taught = [trial for trial in ended if not apart(problem, trial)]
    numbers = [trial.number for trial in taught if modelled or not trial.is_baseline]
    start = problem.space.start  # parameters of which there is more than one value
    tried = [history[number].configuration for number in numbers]
    names = [
        name
        for name in problem.space.names
        if any(each.get(name, start[name]) != start[name] for each in tried)
    ]
    if not names or len(numbers) < FIRST:
        return None
    baseline = evaluation.baseline
    fitness = {n: rank_value(problem, baseline, history[n]) for n in numbers}
    few = chosen_few(numbers, fitness, _MOST)
    data = training_data_of(problem, history, baseline, names, few)
    if not modelled:
        unknown = {name: np.append(np.nan, known[1:]) for name, known in data.targets.items()}
        data = replace(data, targets=unknown)
    model = ensemble_of(cube_layout(problem.space, names), data, seed=problem.seed)
    return PredictedChanges(problem, model, baseline.metrics, DRAWS, modelled)


# Different configurations, of a search over as many options or more: of fewer the intervals held
# too rarely where they were counted, see docs/results/explanation_coverage.md.
_HOLDS = 20


@dataclass(frozen=True)
class Withheld:
    """Why a winner is not explained.

    Runs of the same configuration again say how noisy they are, and nothing of what an option
    does. So configurations are counted, and not trials.
    """

    configurations: int  # how many different ones, beside the baseline, ended well
    needed: int  # how many it takes
    changes: int  # how many options differ between the winner and the baseline
    trials: int  # the smallest ``--trials`` that measures as many as are needed

    @property
    def why(self) -> str:
        """One line."""
        least = "as many as a ranking of the options"
        if self.needed > max(LEAST_JUDGED, self.changes):
            least = "with fewer, its intervals are too narrow"
        elif self.needed > LEAST_JUDGED:
            least = f"one for each of the {self.changes} options that the winner changes"
        return (
            f"withheld: {self.configurations} different configurations succeeded, and an "
            f"explanation needs {self.needed} ({least}); --trials {self.trials} measures that many"
        )

    def document(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {**asdict(self), "why": self.why}


def withheld_of(problem: Problem, history: History, changes: Changes) -> Withheld | None:
    """Why a winner is not explained; None where there is enough to learn from.

    It takes as many configurations as a ranking of the options does, and up to ``_HOLDS`` where as
    many options move. With fewer of them than there are changes, what they measured can be shared
    out between the changes in any way.
    """
    known = distinct_configurations(problem, history)
    count = len(changes.names)
    if not count and not changes.fixed:
        return None  # it is the baseline: there is nothing to explain
    needed = max(LEAST_JUDGED, count, min(_HOLDS, len(problem.searched)))
    if known >= needed:
        return None
    starts = bool(problem.starts)
    trials = next(
        n for n in itertools.count(LEAST_TRIALS) if divide(n, starts=starts).explore >= needed
    )
    return Withheld(known, needed, count, trials)


def distinct_configurations(problem: Problem, history: History) -> int:
    """How many configurations ended well at the search's load, the baseline left out."""
    trials = (trial for trial in history if not apart(problem, trial))
    return len({t.digest for t in trials if t.state is TrialState.DONE and not t.is_baseline})


_SIGMAS = 1.96
_MOST_PAIRS = 20


@one_thread()
def dependences(evaluation: Evaluation) -> Dependence | None:
    """Learns the models, and asks them about every parameter and pair; None: too little is known.

    A run of the baseline has ended well.
    """
    problem = evaluation.problem
    names = tuple(n for n in problem.space.names if n not in problem.space.unsearched)
    metrics = list(dict.fromkeys(term.metric for term in problem.objective.terms))
    surrogate = job_surrogate(evaluation, names)
    if surrogate is None:
        return None
    grids = surrogate.layout.grids()
    found = [_of_metric(surrogate, metric, grids) for metric in metrics]
    components = {name: each.process.components for name, each in surrogate.metrics.items()}
    return Dependence(
        trials=len(surrogate.data.numbers),
        unexplained={name: min(1.0, components[name].noise) for name in metrics},
        settings={n: _values(problem, n, g) for n, g in zip(names, grids, strict=True)},
        curves=sorted(chain(*(each[0] for each in found)), key=lambda each: -each.share),
        pairs=sorted(chain(*(each[1] for each in found)), key=lambda each: -each.share)[
            :_MOST_PAIRS
        ],
    )


def _of_metric(
    surrogate: JobModel, metric: str, grids: Sequence[Grid]
) -> tuple[list[DependenceCurve], list[PairTogether]]:
    process = surrogate.metrics[metric].process
    effects = MarginalEffects(process, surrogate.known_settings(metric), grids)
    names = surrogate.layout.names
    mains = [effects.main(column) for column in range(len(names))]
    pairs = [each for each in effects.pairs() if each.variance > 0]
    whole = sum(each.variance for each in mains) + sum(each.variance for each in pairs)
    if not whole > 0:
        return [], []
    logarithmic = metric in surrogate.data.logarithmic
    level = abs(process.mean) or 1.0

    def percent(moved: Floats) -> list[Any]:
        moved = np.expm1(np.minimum(moved, 50.0)) if logarithmic else moved / level
        found: list[Any] = np.asarray(100.0 * moved).tolist()
        return found

    curves = [
        DependenceCurve(
            parameter=name,
            metric=metric,
            share=main.variance / whole,
            effect=percent(main.expected),
            low=percent(main.expected - _SIGMAS * main.deviation),
            high=percent(main.expected + _SIGMAS * main.deviation),
        )
        for name, main in zip(names, mains, strict=True)
        if main.variance > 0
    ]
    together = [
        PairTogether(
            parameters=[names[column] for column in pair.columns],
            metric=metric,
            share=pair.variance / whole,
            beyond=percent(pair.beyond),
        )
        for pair in pairs
    ]
    return curves, together


def _values(problem: Problem, name: str, grid: Grid) -> list[Value]:
    """The values that a parameter's settings are while all others are at the baseline."""
    parameter = problem.space.by_name[name]
    level, position = grid.settings.level[:, 0], grid.settings.position[:, 0]
    if not parameter.is_numeric:
        return [parameter.values[place] for place in level]
    found: list[Value] = []
    for place, inside in zip(level, position, strict=True):
        if place:
            found.append(parameter.special[place - 1])
            continue
        low = SPECIAL_SHARE if parameter.special else 0.0
        at = decode(problem.space, {name: low + (1 - low) * float(inside)}, memory=problem.memory)
        # Where the baseline switches it off, only its place in the range can be told.
        found.append(at.get(name, f"{100 * inside:.0f}% of its range"))
    return found
