"""SMAC's random forest over the latent cube, through its ask and tell interface.

Each proposal tells a new optimizer all that is known and asks it, so nothing but the history
decides, and the forest is always trained on everything (SMAC itself retrains after eight). A trial
in flight is told as a lie, the worst fitness so far: that keeps others away from it until its real
one is known. All else is the library's default for noisy configurations measured once.

Reference: Lindauer et al., JMLR 23(54), 2022.
"""

from __future__ import annotations

import logging
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from optimizer.strategies.axes import Axis, chosen_of, point_of
from optimizer.strategies.lessons import Lessons
from sampler.space.latent import Point

DRAWS = 20
_ASKED = 8  # by one forest; after that whoever asks draws at random
_SEEDS = 2**31


def smac(axes: Sequence[Axis], lessons: Lessons, *, seed: int) -> Iterator[Point]:
    """What promises the most expected improvement; see ``draw_then_search.Suggest``."""
    # It keeps a folder for each optimizer, whether asked to or not.
    with tempfile.TemporaryDirectory(prefix="rocktune-smac-") as folder:
        yield from _asked(axes, lessons, seed, Path(folder))


def _asked(axes: Sequence[Axis], lessons: Lessons, seed: int, folder: Path) -> Iterator[Point]:
    logging.getLogger("smac").setLevel(logging.CRITICAL)
    library, told = import_module("smac"), import_module("smac.runhistory.dataclasses")
    cube = _cube(axes, seed % _SEEDS)
    optimizer = _optimizer(library, cube, seed % _SEEDS, folder)
    exhausted = import_module("smac.main.exceptions").ConfigurationSpaceExhaustedException
    lies = [(point, lessons.worst) for point in lessons.running]
    for point, fitness in [*((each.point, each.fitness) for each in lessons.ended), *lies]:
        configuration = _configuration(cube, chosen_of(axes, point))
        trial = told.TrialInfo(config=configuration, seed=0)
        optimizer.tell(trial, told.TrialValue(cost=-fitness), save=False)
    for _ in range(_ASKED):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                trial = optimizer.ask()
        except (StopIteration, exhausted):
            return
        yield point_of(axes, dict(trial.config))


def _optimizer(library: Any, cube: Any, seed: int, folder: Path) -> Any:
    facade = library.HyperparameterOptimizationFacade
    scenario = library.Scenario(
        cube, deterministic=True, n_trials=10**6, seed=seed, output_directory=folder
    )
    return facade(
        scenario,
        model=_forest(scenario),
        initial_design=facade.get_initial_design(scenario, n_configs=0),
        logging_level=False,
        overwrite=True,
    )


def _forest(scenario: Any) -> Any:
    """The facade's own forest, on one core: a pool of threads for each question takes longer."""
    forest = import_module("smac.model.random_forest").RandomForest
    return forest(
        configspace=scenario.configspace,
        log_y=True,
        n_trees=10,
        ratio_features=1.0,
        min_samples_split=2,
        min_samples_leaf=1,
        seed=scenario.seed,
        n_jobs=1,
    )


def _cube(axes: Sequence[Axis], seed: int) -> Any:
    kinds = import_module("ConfigSpace")
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
    return cube


def _configuration(cube: Any, chosen: dict[str, float]) -> Any:
    return import_module("ConfigSpace").Configuration(cube, values=chosen)
