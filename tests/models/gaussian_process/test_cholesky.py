"""Covariances that rounding has left without a Cholesky factor."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.linalg import LinAlgError, cho_factor

from models.gaussian_process.effects import matter_p, unseen_r2
from models.gaussian_process.process import (
    VarianceComponents,
    covariance,
    fit_process,
    kernel_matrices,
    log_evidence,
    lower_factor,
    standardised,
)
from models.gaussian_process.variance_components import (
    drawn_components,
    learn_components,
    settled_components,
)
from tests.support.models.planted import ranges

STRONG = VarianceComponents(np.array([10.0, 10.0]), pairs=10.0, level=0.5, noise=1e-4)


def kernels_of(points: np.ndarray) -> np.ndarray:
    settings = ranges(points)
    return kernel_matrices(settings, settings)


def repeated(rows: int, times: int, *, parameters: int = 2, seed: int = 0) -> np.ndarray:
    return np.repeat(np.random.default_rng(seed).random((rows, parameters)), times, axis=0)


def test_a_covariance_that_has_a_factor_gets_no_jitter():
    known = covariance(kernels_of(repeated(20, 1)), STRONG) + np.eye(20)
    factor = lower_factor(known)
    expected = np.tril(cho_factor(known, lower=True, check_finite=False)[0])
    assert np.array_equal(factor, expected)


def test_settings_that_are_alike_have_one_with_hardly_any():
    noisy = covariance(kernels_of(repeated(50, 4)), STRONG) + np.diag(np.full(200, 1e-4))
    with pytest.raises(LinAlgError):
        cho_factor(noisy, lower=True)
    factor = lower_factor(noisy)
    largest = float(noisy.max())
    # The jitter is that, and rounding is of the processor.
    assert np.abs(factor @ factor.T - noisy).max() <= 1e-6 * largest + 1e-12 * largest
    assert (np.triu(factor, 1) == 0).all()


@given(
    st.integers(1, 12).flatmap(
        lambda n: st.lists(st.floats(-1e6, 1e6), min_size=n * n, max_size=n * n)
    )
)
def test_any_finite_symmetric_matrix_has_one(elements: list[float]):
    size = int(len(elements) ** 0.5)
    matrix = np.array(elements).reshape(size, size)
    matrix = matrix + matrix.T
    factor = lower_factor(matrix)
    assert np.isfinite(factor).all() and (np.diag(factor) > 0).all()
    # Off the diagonal it is the matrix itself: jitter is noise of each value by itself.
    missed = np.abs(factor @ factor.T - matrix) * (1 - np.eye(size))
    assert missed.max() <= 1e-9 * max(1.0, float(np.abs(matrix).max()))


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_what_is_not_finite_is_refused(wrong: float):
    matrix = np.eye(3)
    matrix[2, 1] = matrix[1, 2] = wrong
    with pytest.raises(ValueError, match="finite"):
        lower_factor(matrix)


@pytest.mark.slow
@settings(max_examples=20)
@given(
    rows=st.integers(4, 24),
    times=st.integers(1, 4),
    parameters=st.integers(1, 4),
    noise=st.sampled_from([0.0, 1e-9, 1e-3]),
    shape=st.sampled_from(["constant", "sum", "product", "steps", "square"]),
    seed=st.integers(0, 2**32 - 1),
)
@example(rows=60, times=1, parameters=2, noise=0.0, shape="product", seed=2)
def test_no_process_fails_however_alike_its_trials_are(
    rows: int, times: int, parameters: int, noise: float, shape: str, seed: int
):
    points = repeated(rows, times, parameters=parameters, seed=seed)
    first, last = points[:, 0], points[:, -1]
    values = {
        "constant": np.full(len(points), 0.1),
        "sum": np.sin(3 * points).sum(axis=1),
        "product": 4 * first * last,
        "steps": (first > 0.5).astype(float),
        "square": 3 * (first - last) ** 2,
    }[shape]
    values = values + noise * np.random.default_rng(seed).standard_normal(len(values))
    kernels, scaled = kernels_of(points), standardised(values)[0]
    components = settled_components(kernels, scaled)
    process = fit_process(covariance(kernels, components), values, components)
    expected, deviation = process.predict(covariance(kernels, components))
    assert np.isfinite(expected).all() and np.isfinite(deviation).all()
    assert np.isfinite(log_evidence(covariance(kernels, components), components.noise, scaled))
    found = matter_p(kernels, scaled, components)
    assert ((found >= 0) & (found <= 1)).all()
    r2 = unseen_r2(kernels, values, np.arange(len(values)), seed=0)
    assert r2 is None or np.isfinite(r2)
    start = learn_components(kernels, scaled)
    for each in drawn_components(kernels, scaled, start, draws=1, seed=[seed]):
        assert np.isfinite(each.parameters).all()
