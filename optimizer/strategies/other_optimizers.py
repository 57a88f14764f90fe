"""Optuna's and SMAC's optimizers over the latent cube, each asked anew for every proposal.

Each proposal tells a new study or optimizer all that is known and asks it, so nothing but the
history decides. Trials in flight are told as running ones or as lies. All else is the library's
default.

References: Bergstra et al., NeurIPS 2011 (tree-structured Parzen estimator); Akiba et al., KDD
2019 (Optuna); Lindauer et al., JMLR 23(54), 2022 (SMAC).
"""

import logging
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from optimizer.strategies.draws import Axis, Observations, chosen_of, point_of
from sampler.space.latent import Point

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
