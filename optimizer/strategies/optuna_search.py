"""Optuna over the latent cube: a tree-structured Parzen estimator and a Gaussian process.

Each proposal builds a study in memory from all that is known and asks it once, so nothing but the
history decides. Trials in flight are in the study as running ones: the estimator counts them among
the bad (a constant liar), the process takes the expectation over what they may bring. All else is
the library's default.

References: Bergstra et al., NeurIPS 2011 (the estimator); Akiba et al., KDD 2019 (the library).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from optimizer.strategies.axes import Axis, chosen_of, point_of
from optimizer.strategies.lessons import Lessons
from sampler.space.latent import Point

DRAWS = 10  # its n_startup_trials
_ASKED = 20  # of one study; after that whoever asks draws at random
_SEEDS = 2**32  # of NumPy's generator


def tpe(axes: Sequence[Axis], lessons: Lessons, *, seed: int) -> Iterator[Point]:
    """What the Parzen estimator samples; see ``draw_then_search.Suggest``."""
    samplers = _optuna().samplers
    sampler = samplers.TPESampler(seed=seed % _SEEDS, n_startup_trials=0, constant_liar=True)
    return _asked(axes, lessons, sampler)


def gaussian_process(axes: Sequence[Axis], lessons: Lessons, *, seed: int) -> Iterator[Point]:
    """What the Gaussian process expects to improve most; see ``draw_then_search.Suggest``."""
    samplers = _optuna().samplers
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it is experimental
        sampler = samplers.GPSampler(seed=seed % _SEEDS, n_startup_trials=0)
    return _asked(axes, lessons, sampler)


def _optuna() -> Any:
    """The library, which an extra brings, told to be silent."""
    optuna = import_module("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


def _asked(axes: Sequence[Axis], lessons: Lessons, sampler: Any) -> Iterator[Point]:
    optuna = _optuna()
    cube = _distributions(optuna, axes)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    states = optuna.trial.TrialState
    known = [(each.point, states.COMPLETE, each.fitness) for each in lessons.ended]
    running = [(point, states.RUNNING, None) for point in lessons.running]
    study.add_trials(
        optuna.trial.create_trial(
            state=state, value=value, params=chosen_of(axes, point), distributions=cube
        )
        for point, state, value in [*known, *running]
    )
    for _ in range(_ASKED):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            trial = study.ask(fixed_distributions=cube)
        yield point_of(axes, trial.params)


def _distributions(optuna: Any, axes: Sequence[Axis]) -> dict[str, Any]:
    kinds = optuna.distributions
    return {
        axis.name: kinds.CategoricalDistribution(tuple(range(axis.levels)))
        if axis.levels
        else kinds.FloatDistribution(0.0, 1.0)
        for axis in axes
        if axis.moves
    }
