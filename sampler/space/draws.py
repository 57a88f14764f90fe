"""Points of the unit cube: independent, stratified (Latin hypercube) or evenly spread (Sobol)."""

from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Design = Literal["random", "lhs", "sobol"]
_LARGEST_DOUBLE_BELOW_1 = np.nextafter(1.0, 0.0)
_BLOCK = 256


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
