"""Arrays: points of the unit cube that are drawn, and configurations as columns of models."""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sampler.rocksdb.parameters import Parameter, Value
from sampler.space.space import Configuration, Space

INACTIVE = -2.0
SPECIAL = -1.0
Design = Literal["random", "lhs", "sobol"]
_LARGEST_DOUBLE_BELOW_1 = np.nextafter(1.0, 0.0)
_BLOCK = 256


def encode_columns(
    space: Space, configurations: Sequence[Configuration]
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Effective values as columns.

    Numbers become a share of their range, special values -1 and lower, inactive parameters -2
    and lower still; a categorical parameter has one column for each of its values.

    Returns:
        ``values`` (n_configurations, n_columns) and ``owner`` (n_columns,): the index in
        ``space.parameters`` that each column belongs to.
    """
    columns: list[list[float]] = []
    owner: list[int] = []
    for index, parameter in enumerate(space.parameters):
        given = [configuration.get(parameter.name) for configuration in configurations]
        if parameter.kind == "cat":
            own = [[float(value == level) for value in given] for level in parameter.values]
        else:
            own = [[_number(parameter, value) for value in given]]
        columns += own
        owner += [index] * len(own)
    shape = (len(owner), len(configurations))
    return np.asarray(columns, dtype=np.float64).reshape(shape).T, np.asarray(owner, dtype=np.intp)


def _number(parameter: Parameter, value: Value | None) -> float:
    if value is None:
        return INACTIVE
    if value in parameter.special and not isinstance(value, bool):
        return SPECIAL - 0.1 * parameter.special.index(value)
    if not parameter.is_numeric:
        return float(value)
    number = float(value)
    return math.log2(number) if parameter.log and number > 0 else number


def draw(design: Design, index: int, *, n: int, dimensions: int, seed: int) -> NDArray[np.float64]:
    """One point of a design, (dimensions,), each coordinate in [0, 1).

    ``random``: independent uniform; ``lhs``: a Latin hypercube of ``n`` points, each coordinate
    once in every n-th of its range, and independent points beyond; ``sobol``: a scrambled Sobol
    sequence. Points are counted from 0; the same seed and index give the same point.
    """
    if design == "sobol":
        point = _sobol(dimensions, seed, index // _BLOCK)[index % _BLOCK]
    elif design == "lhs" and index < n:
        point = _latin_hypercube(n, dimensions, seed)[index]
    else:
        point = np.random.default_rng([seed, index]).random(dimensions)
    return np.asarray(np.minimum(point, _LARGEST_DOUBLE_BELOW_1))


@lru_cache(maxsize=2)
def _latin_hypercube(n: int, dimensions: int, seed: int) -> NDArray[np.float64]:
    from scipy.stats import qmc

    rng = np.random.default_rng(seed)
    return np.asarray(qmc.LatinHypercube(dimensions, rng=rng).random(n))


@lru_cache(maxsize=2)
def _sobol(dimensions: int, seed: int, block: int) -> NDArray[np.float64]:
    from scipy.stats import qmc

    sequence = qmc.Sobol(dimensions, scramble=True, rng=np.random.default_rng(seed))
    if block:
        sequence.fast_forward(block * _BLOCK)  # by 0 it fails (SciPy 1.17)
    return np.asarray(sequence.random(_BLOCK))
