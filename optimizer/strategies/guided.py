"""Guided search: the most promising configuration by a model of each metric is measured next.

A few evenly spread draws, then after each trial one additive process for each metric, learned from
all trials so far, and a population that evolves on what they expect the fitness to gain.
docs/results/search.md compares it with the others. The population has DEAP's operators: parameters
that matter more move more often, and none is left out, as it may do something elsewhere.

A configuration whose result disagrees with the models is measured again (``replication_of``), and
the search ends where what it can still gain drowns in noise (``StoppingRule``).
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any, ClassVar

import numpy as np
from deap import base, tools

from models import Floats
from models.gaussian_process.process import one_thread
from optimizer.evaluation.evaluation import (
    Evaluation,
    MeasuredConfiguration,
    configurations_of,
    replicated,
)
from optimizer.strategies.strategy import DrawsFirst, Proposal, first_new, sampled
from optimizer.surrogate.job_model import JobModel, surrogate_of
from optimizer.surrogate.predictions import (
    PosteriorPrediction,
    StoppingRule,
    expected_gain,
    fitness_noise,
    likely_metrics,
    posterior_prediction,
)
from optimizer.trials.problem import Problem
from optimizer.trials.trial import Basis, History, Phase, Purpose, Trial
from sampler.space.latent import Design, Point
from sampler.space.space import Configuration

DRAWS = 20
DRAWS_WITH_PRIOR = 6  # enough to see whether earlier jobs agree
_LEAST_DRAWS = 8
_END = 0.1  # the last part of what is explored


@dataclass(frozen=True)
class Guided(DrawsFirst):
    """Draws a little, then follows the models."""

    design: ClassVar[Design] = "sobol"
    settings: ClassVar[frozenset[str]] = DrawsFirst.settings | {"warm_start", "stop_early"}
    has_models: ClassVar[bool] = True
    phase_words: ClassVar[Mapping[Phase, str]] = {
        Phase.SAMPLE: "draw a few configurations from the whole space to train the models",
        Phase.RANK: "fit a model of each metric to the sample",
        Phase.SEARCH: "measure where the models expect most gain, and refit them to every trial",
    }

    def samples(self, problem: Problem, explore: int) -> int:
        """Twenty, or fewer of a small budget or with earlier jobs; as many as are asked for."""
        asked = problem.search.samples
        few = min(DRAWS, max(_LEAST_DRAWS, explore // 3), explore)
        if problem.prior.jobs:
            few = min(DRAWS_WITH_PRIOR, few)
        return few if asked is None else min(asked, explore)

    def search(self, evaluation: Evaluation, *, number: int, explore: int) -> Proposal | None:
        """Where most gain is expected, or a replication of what disagrees with the models."""
        problem, history = evaluation.problem, evaluation.history
        names, samples = problem.searched, self.samples(problem, explore)
        explored = len(history.own(Purpose.CANDIDATE))
        with one_thread():
            acquisition = acquisition_of(evaluation, names, number=number, samples=samples)
            ends = acquisition.exhausted or explored >= (1 - _END) * explore
            replication = acquisition.surrogate and replication_of(
                evaluation,
                acquisition.surrogate,
                acquisition.predicted,
                z_threshold=Z_THRESHOLD_AT_THE_END if ends else Z_THRESHOLD,
            )
        if replication:
            trial, why = replication.trial, replication.why
            return Proposal(Phase.SEARCH, trial.point, trial.configuration, why, trial.number)
        if problem.search.stop_early and acquisition.exhausted:
            return None
        rng = np.random.default_rng([problem.seed_of(number), 1])

        def point(attempt: int) -> Point:
            expected = attempt < len(acquisition.points)
            chosen = acquisition.points[attempt] if expected else rng.random(len(names))
            return dict(zip(names, chosen.tolist(), strict=True))

        basis = Basis.EXHAUSTED if acquisition.exhausted else Basis.PLAIN
        found = first_new(evaluation, Phase.SEARCH, acquisition.words(), point, basis=basis)
        if found is None or acquisition.surrogate is None:
            return found
        return replace(found, why=f"{found.why}; {_moved(evaluation, acquisition, found)}")

    @one_thread()
    def stopping_rule(self, evaluation: Evaluation, explore: int) -> StoppingRule | None:
        """What the next run promises; see ``Strategy.stopping_rule``."""
        problem, history = evaluation.problem, evaluation.history
        names, samples = problem.searched, self.samples(problem, explore)
        if not names or sampled(history) < samples:
            return None
        number = history.next_number
        acquisition = acquisition_of(evaluation, names, number=number, samples=samples)
        return acquisition.stopping_rule

    @one_thread()
    def preferred(self, evaluation: Evaluation) -> list[int]:
        """By what the models think of each: a single lucky run does not mislead them."""
        problem, history = evaluation.problem, evaluation.history
        surrogate = surrogate_of(evaluation, problem.searched)
        if surrogate is None:
            return []
        numbers = surrogate.data.numbers
        points = surrogate.data.points[1 : len(numbers) + 1]
        predicted = posterior_prediction(problem, surrogate, points, evaluation.baseline.metrics)
        order = [numbers[place] for place in predicted.best_first().tolist()]
        # Of what was measured several times the first: they are one configuration.
        whole = [history[number] for number in order if history[number].done]
        return list(dict.fromkeys(history.of_configuration(t.digest)[0].number for t in whole))


_STARTS, _FRESH = 8, 40
_MOST_SAID = 4  # parameters that a proposal names


@dataclass(frozen=True, eq=False)
class Acquisition:
    """The points of highest acquisition: where the fitness is expected to gain most."""

    surrogate: JobModel | None  # the models; None: too few trials have ended
    predicted: Floats  # ``feasible_fitness`` of each row of their data
    points: Floats  # what is expected to gain most, the best first, shape ``(n, n_names)``
    gain: float  # of the first of them; while nothing keeps the limits the chance that it does
    stopping_rule: StoppingRule | None  # whether that is worth a run; None: nobody can say

    @property
    def exhausted(self) -> bool:
        """Whether the stopping rule says so."""
        return self.stopping_rule is not None and self.stopping_rule.exhausted

    def words(self) -> str:
        """Why the first of the points is proposed."""
        if self.surrogate is None:
            return "random draw: too few trials have ended"
        known, earlier = len(self.surrogate.data.numbers), len(self.surrogate.prior.tasks)
        by = f"models of {known} trials" + (f" and {earlier} of earlier jobs" if earlier else "")
        if self.stopping_rule is None:
            return f"keeps the limits, as none has yet, with probability {self.gain:.2g}; {by}"
        return f"{self.stopping_rule.words()}; {by}"


def acquisition_of(
    evaluation: Evaluation, names: tuple[str, ...], *, number: int, samples: int
) -> Acquisition:
    """Maximises the expected gain for the trial of this number, after so many samples."""
    problem, history = evaluation.problem, evaluation.history
    surrogate = surrogate_of(evaluation, names)
    if surrogate is None:
        return Acquisition(None, np.empty(0), np.empty((0, len(names))), 0.0, None)
    predicted = posterior_prediction(
        problem, surrogate, surrogate.data.points, evaluation.baseline.metrics
    )
    fitness = predicted.feasible_fitness
    points, gain = _best_points(evaluation, surrogate, predicted, problem.seed_of(number))
    stopping_rule = None
    if np.isfinite(fitness).any():
        # A search must have gained nothing over as many runs as were drawn.
        window = min(DRAWS, max(_LEAST_DRAWS, samples))
        lately = _lately(history, surrogate, fitness, window)
        stopping_rule = StoppingRule(gain, lately, window, fitness_noise(evaluation))
    return Acquisition(surrogate, fitness, points, gain, stopping_rule)


def _moved(evaluation: Evaluation, acquisition: Acquisition, proposal: Proposal) -> str:
    """Which parameters a proposal moves against the nearest good one, the most important first."""
    problem, history, surrogate = evaluation.problem, evaluation.history, acquisition.surrogate
    assert surrogate is not None
    start, numbers = problem.space.start, surrogate.data.numbers
    near = [("the baseline", start)]
    for row in np.argsort(-acquisition.predicted, kind="stable")[:_STARTS].tolist():
        if 0 < row <= len(numbers):
            trial = history[numbers[row - 1]]
            near.append((f"trial {trial.number}", {**start, **trial.configuration}))

    def changed(at: Configuration) -> list[str]:
        there = proposal.configuration
        return [name for name in problem.searched if name in there and there[name] != at[name]]

    in_all = len(changed(start))
    names, origin = min(((changed(at), name) for name, at in near), key=lambda each: len(each[0]))
    matters = dict(zip(problem.searched, surrogate.matters().tolist(), strict=True))
    names = sorted(names, key=lambda name: -matters[name])
    more = len(names) - _MOST_SAID
    said = ", ".join(names[:_MOST_SAID]) + (f" and {more} more" if more > 0 else "")
    return f"changes {said} of {origin}; {in_all} parameters differ from the baseline"


def _lately(history: History, surrogate: JobModel, predicted: Floats, window: int) -> float | None:
    """By how much the last runs have raised the best that the models hold."""
    searched = [n for n in history.own(Purpose.CANDIDATE, Phase.SEARCH) if history[n].has_outcome]
    if len(searched) < window:
        return None
    numbers, last = surrogate.data.numbers, searched[-window]
    # The baseline is the first row; trials in flight, which come last, have raised nothing yet.
    known = predicted[: len(numbers) + 1]
    before = np.array([True, *(number < last for number in numbers)])
    earlier = float(known[before].max())
    return float(known.max()) - earlier if np.isfinite(earlier) else None


def _best_points(
    evaluation: Evaluation, surrogate: JobModel, predicted: PosteriorPrediction, seed: int
) -> tuple[Floats, float]:
    """The points that are expected to gain most, the best first, and what that one gains."""
    problem = evaluation.problem
    baseline = evaluation.baseline.metrics
    surest = float(predicted.feasible_fitness.max())
    best = surest if np.isfinite(surest) else None

    def gain(points: Floats) -> Floats:
        predicted, logarithmic = surrogate.predict(points), surrogate.data.logarithmic
        return expected_gain(problem.objective, predicted, logarithmic, baseline, best)

    leaders = surrogate.data.points[predicted.best_first()[:_STARTS]]
    if len(surrogate.prior.points):  # where earlier jobs were is known, but not measured
        before = surrogate.prior.points
        promise = posterior_prediction(problem, surrogate, before, baseline)
        leaders = np.vstack([leaders, before[promise.best_first()[:_STARTS]]])
    fresh = np.random.default_rng(seed).random((_FRESH, leaders.shape[1]))
    found = evolve(gain, np.vstack([leaders, fresh]), surrogate.matters(), seed=seed)
    return found, float(gain(found[:1])[0])


_KEPT, _CHILDREN, _GENERATIONS = 24, 48, 12
_MOVES = 2.0  # coordinates that a mutation moves, on average
_FLOOR = 0.3  # share of the moves that goes to all parameters alike
_STEP = 0.12
_LARGEST = float(np.nextafter(1.0, 0.0))


class _Fitness(base.Fitness):  # type: ignore[misc]
    weights = (1.0,)


class Individual(list[float]):
    """Latent coordinates as DEAP takes them, and their value or values, to be raised."""

    def __init__(self, genes: Sequence[float], fitness: base.Fitness | None = None) -> None:
        super().__init__(genes)
        self.fitness = _Fitness() if fitness is None else fitness


def evolve(
    function: Callable[[Floats], Floats], start: Floats, matters: Floats, *, seed: int
) -> Floats:
    """At most 24 points, shape ``(24, n_names)``, where a function is high, the highest first.

    The function takes points, shape ``(m, n_names)``, to values, shape ``(m,)``; it is searched
    from ``start``, ``(s, n_names)``. ``matters``, not negative, is how much each coordinate does.
    """
    rng = np.random.default_rng(seed)
    even = np.full(len(matters), 1 / len(matters))
    share = matters / matters.sum() if matters.any() else even
    often = _FLOOR * even + (1 - _FLOOR) * share
    population = _judged(function, [Individual(row) for row in start.tolist()])
    coins = Random(seed)
    selection, crossover = (drawing_from(coins, m) for m in (tools.selection, tools.crossover))

    def child() -> Individual:
        mother, father = selection.selTournament(population, 2, tournsize=3)
        born = Individual(mother)
        if coins.random() < 0.5:
            born, _ = crossover.cxUniform(born, Individual(father), 0.5)
        return _mutated(born, often, rng)

    for _ in range(_GENERATIONS):
        children = [child() for _ in range(_CHILDREN)]
        population = tools.selBest([*population, *_judged(function, children)], _KEPT)
    return np.array(population)


def _judged(
    function: Callable[[Floats], Floats], individuals: list[Individual]
) -> list[Individual]:
    values = function(np.array(individuals))
    for individual, value in zip(individuals, values.tolist(), strict=True):
        individual.fitness.values = (value,)
    return individuals


def _mutated(child: Individual, often: Floats, rng: np.random.Generator) -> Individual:
    moved = np.flatnonzero(rng.random(len(often)) < _MOVES * often)
    if moved.size == 0:
        moved = rng.choice(len(often), size=1, p=often)
    for place in moved.tolist():
        child[place] = _stepped(child[place], rng)
    return child


def _stepped(value: float, rng: np.random.Generator) -> float:
    """A step, reflected at the ends of the range; or somewhere else altogether."""
    if rng.random() < 0.5:
        return float(rng.random())
    stepped = abs(value + _STEP * rng.standard_normal()) % 2.0
    return min(2.0 - stepped if stepped > 1.0 else stepped, _LARGEST)


def drawing_from(coins: Random, operators: ModuleType) -> Any:
    """The functions of one of DEAP's modules, such as ``tools.crossover``, on this generator.

    DEAP draws from the one generator of the process and takes no other (its issue 349). Whoever
    seeds that and puts it back shares it with all other threads. So the functions are copied, with
    a namespace of their own in which ``random`` is ``coins``: nothing is shared, and what they
    draw is what they would draw from the process's generator with the same seed.
    """
    namespace: dict[str, Any] = {**vars(operators), "random": coins}
    for name, value in vars(operators).items():
        if isinstance(value, FunctionType) and value.__module__ == operators.__name__:
            namespace[name] = FunctionType(
                value.__code__, namespace, name, value.__defaults__, value.__closure__
            )
    return SimpleNamespace(**namespace)


# Replication: two configurations decide where is searched, the one that is predicted best and the
# one that was measured best, perhaps by luck. Where a measurement is further from its prediction
# than noise and the usual error of the models explain, one of the two is wrong, and one more run
# tells which.
REPLICATED_SHARE = 0.1  # of what is explored, at most, measures again
MOST_RUNS = 3  # measurements of one configuration, at most
# Standard deviations: the best of sixty runs is 2.3 above the mean by luck alone.
Z_THRESHOLD = 3.0
Z_THRESHOLD_AT_THE_END = 2.0  # what is left then is hardly better spent
_PER_MEDIAN = 1.4826  # the standard deviation of a normal distribution over its median distance


@dataclass(frozen=True)
class Replication:
    """A configuration to be measured again."""

    trial: Trial  # that first measured it
    z: float  # how far its mean is from the prediction, in standard deviations of that mean
    why: str  # one line for people


def replication_of(
    evaluation: Evaluation, surrogate: JobModel, predicted: Floats, *, z_threshold: float
) -> Replication | None:
    """Of the two configurations that decide the one of largest z, if above the threshold.

    ``predicted`` is the fitness of each row of the models' data. None too where replications have
    had their share of the runs.
    """
    history, objective = evaluation.history, evaluation.problem.objective
    own = history.own(Purpose.CANDIDATE)
    if len(replicated(history[number] for number in own)) + 1 > REPLICATED_SHARE * len(own):
        return None
    numbers = surrogate.data.numbers
    row_of = {history[n].digest: row for row, n in reversed([*enumerate(numbers, start=1)])}
    whole = configurations_of(evaluation, history.of(Purpose.CANDIDATE))
    rows = {
        each.first.digest: (each, row_of[each.first.digest])
        for each in whole
        if each.first.digest in row_of
    }
    # The usual error of the models: a standard deviation, by the median of the distances between
    # measurements and predictions, which a few lucky runs do not move.
    apart = [
        abs(fitness - float(predicted[row]))
        for known, row in rows.values()
        if (fitness := objective.fitness(known.metrics, evaluation.baseline.metrics)) is not None
        and math.isfinite(predicted[row])
    ]
    errors = _PER_MEDIAN * float(np.median(apart)) if apart else 0.0
    found = [
        _replication(evaluation, surrogate, float(predicted[row]), known, row, errors)
        for known, row in _deciding(history, surrogate, predicted, rows)
    ]
    disagreeing = [each for each in found if each is not None and each.z > z_threshold]
    return max(disagreeing, key=lambda each: each.z, default=None)


def _deciding(
    history: History,
    surrogate: JobModel,
    predicted: Floats,
    rows: Mapping[str, tuple[MeasuredConfiguration, int]],
) -> Iterator[tuple[MeasuredConfiguration, int]]:
    """The configurations that decide, and their rows in the data; the baseline is none."""
    numbers = surrogate.data.numbers
    first = int(np.argmax(predicted[: len(numbers) + 1]))
    if first > 0 and (best := rows.get(history[numbers[first - 1]].digest)):
        yield best
    luckiest = max(rows.values(), key=lambda each: each[0].fitness, default=None)
    if luckiest is not None and luckiest[0].fitness > predicted[first]:
        yield luckiest


def _replication(
    evaluation: Evaluation,
    surrogate: JobModel,
    predicted: float,
    known: MeasuredConfiguration,
    row: int,
    errors: float,
) -> Replication | None:
    problem, history = evaluation.problem, evaluation.history
    trial = known.first
    flying = any(not t.has_outcome for t in history.of_configuration(trial.digest))
    measured = problem.objective.fitness(known.metrics, evaluation.baseline.metrics)
    if known.runs >= MOST_RUNS or flying or measured is None or not math.isfinite(predicted):
        return None  # it is known well enough, about to be, or nothing to compare
    if not problem.affords(trial.configuration):
        return None
    likely = likely_metrics(
        surrogate.predict(surrogate.data.points[row : row + 1]), surrogate.data.logarithmic
    )
    at = {name: float(values[0, 0]) for name, values in likely.items()}
    noise = fitness_noise(evaluation, at)
    if not noise:
        return None
    noise = max(noise, errors)  # models that err everywhere give no reason to measure again
    why = (
        f"replication of trial {trial.number}: measured fitness {measured:.3g}, "
        f"predicted {predicted:.3g}, standard deviation {noise:.3g}"
    )
    return Replication(trial, abs(measured - predicted) / (noise / math.sqrt(known.runs)), why)
