"""The problems of the ablations: functions learned from runs, and those with anonymous options."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler.common.errors import InputError
from sampler.space.space import Configuration
from sampler.space.space_file import space_from_document
from studies import known_truth
from studies.search.bake_off import BAKE_OFFS
from studies.search.best import Effort, search_best
from studies.search.function import TestFunction
from studies.search.functions import PROBLEMS, Functions
from studies.search.noise import Noise
from studies.search.recorded import plain_problem
from studies.search.truth import Truth

FUNCTIONS = Path("docs/results/search_functions.json")
METRICS = ("waf", "sa", "time", "rate")
_NOISE = (0.02, 0.01, 0.1, 0.1)  # standard deviations of logarithms, as of recorded runs
EFFORT = Effort()
Answer = Callable[[Configuration], Mapping[str, float]]


def _twelve(configuration: Configuration) -> dict[str, float]:
    return {m: math.log(value) for m, value in known_truth.truth(configuration).items()}


@dataclass(frozen=True, eq=False)
class Formula(Truth):
    """A truth by a formula: from a configuration to the logarithm of each metric."""

    formula: Answer = _twelve

    def logarithms(
        self, configurations: Sequence[Configuration]
    ) -> dict[str, NDArray[np.float64]]:
        """See ``Truth.logarithms``."""
        found = [self.formula(configuration) for configuration in configurations]
        return {m: np.array([each[m] for each in found]) for m in METRICS}


def _thirty() -> tuple[dict[str, Any], Answer]:
    """Of thirty options ten matter: a curve of each, and products of pairs."""
    rng = np.random.default_rng(34)
    names = [f"option_{n:02d}" for n in range(30)]
    kind = {"type": "float", "low": 0.0, "high": 1.0, "default": 0.5}
    matter = [names[place] for place in rng.choice(30, 10, replace=False)]
    best, weight = rng.random((3, 10)), rng.gamma(0.7, 0.8, (3, 10))
    pairs = rng.permuted(np.tile(range(10), (12, 1)), axis=1)[:, :2]
    strength = rng.normal(0, 0.5, (3, 12))

    def formula(configuration: Configuration) -> dict[str, float]:
        at = np.array([configuration[name] for name in matter], dtype=float)
        products = np.prod(at[pairs] - 0.5, axis=1)
        waf, sa, slow = (weight * (at - best) ** 2).sum(axis=1) + strength @ products
        return {"waf": waf, "sa": sa / 2, "time": slow, "rate": -slow}

    return {"name": "anonymous", "parameter": [{"name": n, **kind} for n in names]}, formula


def _anonymous(name: str, space: Mapping[str, Any], formula: Answer) -> TestFunction:
    problem = plain_problem(space_from_document(space))
    rows = np.array(_NOISE) * np.random.default_rng(3).standard_normal((200, len(METRICS)))
    rows[:, 3] = -rows[:, 2]  # of time and rate one is the other, turned round
    truth = Formula(problem.space, {}, {}, formula=formula)
    digest = hashlib.sha256(f"{name} 1 {_NOISE}".encode()).hexdigest()[:12]
    return TestFunction(name, digest, problem, truth, Noise(METRICS, rows - rows.mean(axis=0)))


ANONYMOUS: Mapping[str, Callable[[], TestFunction]] = {
    "anonymous-12": lambda: _anonymous("anonymous-12", known_truth.SPACE, _twelve),
    "anonymous-30": lambda: _anonymous("anonymous-30", *_thirty()),
}
ALL = (*(name for name in PROBLEMS if name != "null"), *BAKE_OFFS, *ANONYMOUS)


@lru_cache(maxsize=1)
def posed(name: str) -> tuple[TestFunction, float]:
    """A problem, and the best that exists as far as a search without noise finds it.

    Raises:
        InputError: There is no such problem.
    """
    if name in ANONYMOUS:
        function = ANONYMOUS[name]()
        return function, search_best(function, EFFORT).fitness
    if name not in ALL:
        raise InputError("--problems", f"{name!r} is not one of {', '.join(ALL)}")
    function, known = Functions(FUNCTIONS, Effort()).make(name, "boosting")
    return function, known.best.fitness
