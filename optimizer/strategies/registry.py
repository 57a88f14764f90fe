"""The strategies by name, those of the literature over the latent cube among them.

NSGA-II (Deb et al., IEEE Trans. Evol. Comput. 6(2), 2002) has one birth at a time. Each term of
the fitness is an objective of its own. A child is made from the best candidates that have ended,
as soon as a host is free, so that no generation is waited for. Operators and rates are the
paper's: simulated binary crossover at 0.9 and polynomial mutation of one coordinate in the mean,
both with a distribution index of 20. Categories have no order, so parents swap them at even odds
and a mutation draws anew.

Each proposal of Optuna and SMAC tells a new study or optimizer all that is known and asks it, so
nothing but the history decides. Trials in flight are told as running ones or as lies. All else is
the library's default.

References: Bergstra et al., NeurIPS 2011 (tree-structured Parzen estimator); Akiba et al., KDD
2019 (Optuna); Lindauer et al., JMLR 23(54), 2022 (SMAC).
"""

from __future__ import annotations

import heapq
import logging
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

from deap import base, tools

from optimizer.strategies.genetic import Genetic
from optimizer.strategies.greedy import Greedy
from optimizer.strategies.guided import Guided, Individual, drawing_from
from optimizer.strategies.strategy import (
    Axis,
    Drawn,
    DrawThenSearch,
    Observation,
    Observations,
    Strategy,
    chosen_of,
    point_of,
)
from optimizer.trials.problem import strategy_name
from sampler.common.errors import InputError
from sampler.space.latent import Point

POPULATION = 20
LEAST_PARENTS = 4  # a tournament is between two pairs
_CHILDREN = 50  # attempts at a child that was never measured
_CROSSOVER = 0.9
_ETA = 20.0


class _Gains(base.Fitness):  # type: ignore[misc]
    """All terms, each to be raised; whoever keeps the limits beats whoever breaks them."""

    def __init__(self, values: Sequence[float], admissible: bool) -> None:
        self.weights = (1.0,) * len(values)
        super().__init__(values)
        self.admissible = admissible

    def dominates(self, other: _Gains, obj: slice = slice(None)) -> bool:
        """The paper's constrained domination, all broken limits being equally bad."""
        if self.admissible != other.admissible:
            return self.admissible
        return bool(super().dominates(other, obj))


def nsga2(axes: Sequence[Axis], observations: Observations, *, seed: int) -> Iterator[Point]:
    """Children of the fittest; see ``draws.Suggest``."""
    parents = survivors(axes, observations.ended)
    if len(parents) < LEAST_PARENTS:
        return
    rng = Random(seed)
    for _ in range(_CHILDREN):
        coins = Random(rng.getrandbits(63))
        tournament = drawing_from(coins, tools.emo).selTournamentDCD
        mother, father = tournament(parents, LEAST_PARENTS)[:2]
        child = _child(axes, mother, father, rng, coins)
        yield {
            axis.name: axis.coordinate(axis.level(u) if axis.levels else u)
            for axis, u in zip(axes, child, strict=True)
        }


def survivors(axes: Sequence[Axis], ended: Sequence[Observation]) -> list[Individual]:
    """The best by non-dominated rank, then crowding distance; broken limits only to fill up.

    At most ``POPULATION`` of the candidates that have ended, each with its crowding distance;
    those that were not measured whole have no children.
    """
    found: list[Individual] = []
    for admissible in (True, False):
        group = [
            Individual([each.point[axis.name] for axis in axes], _Gains(each.gains, admissible))
            for each in ended
            if each.gains is not None and each.admissible is admissible
        ]
        found += _selected(group, POPULATION - len(found))
    return found


def _selected(group: list[Individual], count: int) -> list[Individual]:
    if not group or count <= 0:
        return []
    if len(group[0].fitness.values) == 1:  # a front is a value, and the quick sort fails
        group = heapq.nlargest(count, group, key=lambda each: each.fitness.values)
        return list(tools.selNSGA2(group, count))
    return list(tools.selNSGA2(group, count, nd="log"))


def _child(
    axes: Sequence[Axis],
    mother: Sequence[float],
    father: Sequence[float],
    rng: Random,
    coins: Random,
) -> list[float]:
    """One of two children of a crossover, mutated; DEAP's operators draw from ``coins``."""
    ranges = [place for place, axis in enumerate(axes) if not axis.levels]
    one, two = [mother[i] for i in ranges], [father[i] for i in ranges]
    crossed = rng.random() < _CROSSOVER
    if crossed:
        drawing_from(coins, tools.crossover).cxSimulatedBinaryBounded(one, two, _ETA, 0.0, 1.0)
    rate = 1 / len(axes)
    drawing_from(coins, tools.mutation).mutPolynomialBounded(one, _ETA, 0.0, 1.0, rate)
    child = list(mother)
    for place, value in zip(ranges, one, strict=True):
        child[place] = value
    for place, axis in enumerate(axes):
        if axis.levels and crossed and rng.random() < 0.5:
            child[place] = father[place]
        if axis.levels and rng.random() < rate:
            child[place] = rng.random()
    return child


OPTUNA_DRAWS = 10  # its n_startup_trials
_OPTUNA_ASKED = 20  # of one study; after that whoever asks draws at random
_OPTUNA_SEEDS = 2**32  # of NumPy's generator


def tpe(axes: Sequence[Axis], observations: Observations, *, seed: int) -> Iterator[Point]:
    """What the Parzen estimator samples; see ``draws.Suggest``."""
    samplers = _optuna().samplers
    sampler = samplers.TPESampler(
        seed=seed % _OPTUNA_SEEDS, n_startup_trials=0, constant_liar=True
    )
    return _optuna_asked(axes, observations, sampler)


def gaussian_process(
    axes: Sequence[Axis], observations: Observations, *, seed: int
) -> Iterator[Point]:
    """What the Gaussian process expects to improve most; see ``draws.Suggest``."""
    samplers = _optuna().samplers
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it is experimental
        sampler = samplers.GPSampler(seed=seed % _OPTUNA_SEEDS, n_startup_trials=0)
    return _optuna_asked(axes, observations, sampler)


def _optuna() -> Any:
    """The library, which an extra brings, told to be silent."""
    optuna = import_module("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


def _optuna_asked(
    axes: Sequence[Axis], observations: Observations, sampler: Any
) -> Iterator[Point]:
    optuna = _optuna()
    kinds = optuna.distributions
    cube = {
        axis.name: kinds.CategoricalDistribution(tuple(range(axis.levels)))
        if axis.levels
        else kinds.FloatDistribution(0.0, 1.0)
        for axis in axes
        if axis.moves
    }
    study = optuna.create_study(direction="maximize", sampler=sampler)
    states = optuna.trial.TrialState
    known = [(each.point, states.COMPLETE, each.fitness) for each in observations.ended]
    running = [(point, states.RUNNING, None) for point in observations.running]
    study.add_trials(
        optuna.trial.create_trial(
            state=state, value=value, params=chosen_of(axes, point), distributions=cube
        )
        for point, state, value in [*known, *running]
    )
    for _ in range(_OPTUNA_ASKED):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            trial = study.ask(fixed_distributions=cube)
        yield point_of(axes, trial.params)


SMAC_DRAWS = 20
_SMAC_ASKED = 8  # by one forest; after that whoever asks draws at random
_SMAC_SEEDS = 2**31


def smac(axes: Sequence[Axis], observations: Observations, *, seed: int) -> Iterator[Point]:
    """What promises the most expected improvement; see ``draws.Suggest``."""
    # It keeps a folder for each optimizer, whether asked to or not.
    with tempfile.TemporaryDirectory(prefix="rocktune-smac-") as folder:
        yield from _smac_asked(axes, observations, seed % _SMAC_SEEDS, Path(folder))


def _smac_asked(
    axes: Sequence[Axis], observations: Observations, seed: int, folder: Path
) -> Iterator[Point]:
    logging.getLogger("smac").setLevel(logging.CRITICAL)
    kinds, told = import_module("ConfigSpace"), import_module("smac.runhistory.dataclasses")
    exhausted = import_module("smac.main.exceptions").ConfigurationSpaceExhaustedException
    cube = kinds.ConfigurationSpace(seed=seed)
    cube.add(
        [
            kinds.Categorical(axis.name, list(range(axis.levels)))
            if axis.levels
            else kinds.Float(axis.name, (0.0, 1.0))
            for axis in axes
            if axis.moves
        ]
    )
    optimizer = _smac_optimizer(cube, seed, folder)
    lies = [(point, observations.worst) for point in observations.running]
    for point, fitness in [*((each.point, each.fitness) for each in observations.ended), *lies]:
        configuration = kinds.Configuration(cube, values=chosen_of(axes, point))
        trial = told.TrialInfo(config=configuration, seed=0)
        optimizer.tell(trial, told.TrialValue(cost=-fitness), save=False)
    for _ in range(_SMAC_ASKED):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                trial = optimizer.ask()
        except (StopIteration, exhausted):
            return
        yield point_of(axes, dict(trial.config))


def _smac_optimizer(cube: Any, seed: int, folder: Path) -> Any:
    library, forests = import_module("smac"), import_module("smac.model.random_forest")
    facade = library.HyperparameterOptimizationFacade
    scenario = library.Scenario(
        cube, deterministic=True, n_trials=10**6, seed=seed, output_directory=folder
    )
    # The facade's own forest, on one core: a pool of threads for each question takes longer.
    model = forests.RandomForest(
        configspace=cube,
        log_y=True,
        n_trees=10,
        ratio_features=1.0,
        min_samples_split=2,
        min_samples_leaf=1,
        seed=seed,
        n_jobs=1,
    )
    return facade(
        scenario,
        model=model,
        initial_design=facade.get_initial_design(scenario, n_configs=0),
        logging_level=False,
        overwrite=True,
    )


STRATEGIES: dict[str, Strategy] = {
    "random": Drawn("random"),
    "lhs": Drawn("lhs"),
    "sobol": Drawn("sobol"),
    "genetic": Genetic(),
    "guided": Guided(),
    "greedy": Greedy(),
    "nsga2": DrawThenSearch(
        nsga2, "child of two parents of best rank and crowding distance", POPULATION, LEAST_PARENTS
    ),
    "tpe": DrawThenSearch(tpe, "sampled by a Parzen estimator", OPTUNA_DRAWS),
    "optuna-gp": DrawThenSearch(
        gaussian_process, "highest expected improvement by a Gaussian process", OPTUNA_DRAWS
    ),
    "smac": DrawThenSearch(smac, "highest expected improvement by SMAC's forest", SMAC_DRAWS),
}

# By strategy: the extra of the package that it needs, and the modules that it brings.
EXTRAS = {
    "tpe": ("compare", ("optuna",)),
    "smac": ("compare", ("smac", "ConfigSpace")),
    "optuna-gp": ("compare-gp", ("optuna", "torch")),
}
_TORCH = '`"$(scripts/uv.sh)" pip install --python .venv/bin/python "torch>=2.9"`'
_FIXES = {
    "compare": "run `make compare`",
    # Some GB on Linux, and other files on every machine: no lock holds it.
    "compare-gp": f"run `make compare`, then {_TORCH}",
}


def named_strategy(name: str) -> Strategy:
    """A strategy by its name, or a former one, whether or not its libraries are installed.

    Without them it proposes nothing, but what was measured can be told and concluded.

    Raises:
        InputError: There is none of that name.
    """
    name = strategy_name(name)
    if name not in STRATEGIES:
        raise InputError("strategy", f"{name!r} is not one of {', '.join(STRATEGIES)}")
    return STRATEGIES[name]


def find_strategy(name: str) -> Strategy:
    """A strategy that can propose, by its name or a former one (``FORMER_NAMES``).

    Raises:
        InputError: There is none of that name, or its libraries are not installed.
    """
    strategy = named_strategy(name)
    extra = missing_extra(strategy_name(name))
    if extra is not None:
        problem = f"{strategy_name(name)} needs the extra {extra}; {_FIXES[extra]}"
        raise InputError("strategy", problem)
    return strategy


def missing_extra(strategy: str) -> str | None:
    """The extra that a strategy needs and that is not installed; None: nothing is missing."""
    extra, modules = EXTRAS.get(strategy, ("", ()))
    return None if all(find_spec(module) for module in modules) else extra


MODULES = (
    "deap.benchmarks.tools",
    "scipy.optimize",
    "scipy.stats",
    "sklearn.ensemble",
    "sklearn.metrics",
    "sklearn.model_selection",
    "statsmodels.nonparametric.smoothers_lowess",
)


def load_libraries() -> None:
    """Imports what every job needs now: for whoever is about to hold what others wait for."""
    for module in MODULES:
        import_module(module)
