"""Variance shares, their doubt and their evidence, where the truth is known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.gaussian_process.effects import (
    Grid,
    drawn_effects,
    effects_of,
    log_likelihood,
    matter_p,
    unseen_r2,
)
from models.gaussian_process.process import (
    AdditiveProcess,
    KernelInputs,
    VarianceComponents,
    covariance,
    fit_process,
    kernel_matrices,
    standardised,
)
from models.gaussian_process.variance_components import DAMPED, relearned, settled_components
from tests.support.models.planted import ranges

N, STEPS = 60, 16
# Of `known_truth`, by hand: a slope of s has a variance of s^2/12. The product's have a slope of
# 6 * 0.3, its rest is 36/144.
_SLOPES = np.array([4.0, 1.0, 1.8**2, 1.8**2, 0.0]) / 12
_PAIR = np.array([0.0, 0.0, 1.0, 1.0, 0.0]) * 36 / 144
_WHOLE = _SLOPES.sum() + 36 / 144
TOTAL, ALONE = (_SLOPES + _PAIR) / _WHOLE, _SLOPES / _WHOLE


def grid() -> Grid:
    position = ((np.arange(STEPS) + 0.5) / STEPS)[:, None]
    return Grid(ranges(position), np.full(STEPS, 1 / STEPS))


def known_truth(seed: int = 0, noise: float = 0.05) -> tuple[KernelInputs, np.ndarray]:
    """Two slopes, and a product of the third and fourth; the fifth is idle."""
    rng = np.random.default_rng(seed)
    points = rng.random((N, 5))
    a, b, c, d, _ = points.T
    return ranges(points), 2 * a + b + 6 * (c - 0.2) * (d - 0.2) + noise * rng.standard_normal(N)


def fitted(known: KernelInputs, values: np.ndarray) -> tuple[AdditiveProcess, VarianceComponents]:
    kernels = kernel_matrices(known, known)
    components = settled_components(kernels, standardised(values)[0])
    return fit_process(covariance(kernels, components), values, components), components


def test_the_shares_are_those_of_the_truth():
    known, values = known_truth()
    process, _ = fitted(known, values)
    found = effects_of(process, known, [grid()] * 5)
    np.testing.assert_allclose(found.total, TOTAL, atol=0.06)
    np.testing.assert_allclose(found.alone, ALONE, atol=0.06)


def test_they_are_those_of_a_brute_force_count():
    known, values = known_truth(1)
    process, components = fitted(known, values)
    rng = np.random.default_rng(0)
    base, other = (rng.integers(STEPS, size=(3000, 5)) for _ in range(2))

    def predicted(cells: np.ndarray) -> np.ndarray:
        cross = covariance(kernel_matrices(ranges((cells + 0.5) / STEPS), known), components)
        return process.predict(cross)[0]

    level = predicted(base)
    counted = []
    for column in range(5):
        moved = base.copy()
        moved[:, column] = other[:, column]
        counted.append(0.5 * ((predicted(moved) - level) ** 2).mean() / level.var())
    found = effects_of(process, known, [grid()] * 5)
    np.testing.assert_allclose(found.total, counted, atol=0.04)


def test_draws_scatter_around_what_is_expected_and_hold_the_truth():
    known, values = known_truth(2)
    process, _ = fitted(known, values)
    drawn = drawn_effects(process, known, [grid()] * 5, values, draws=200, seed=1)
    assert drawn.total.shape == (200, 5)
    low, high = np.percentile(drawn.total, [2.5, 97.5], axis=0)
    middle = effects_of(process, known, [grid()] * 5).total
    np.testing.assert_allclose(np.median(drawn.total, axis=0), middle, atol=0.1)
    assert (low[:4] < TOTAL[:4] + 0.02).all() and (TOTAL[:4] - 0.02 < high[:4]).all()
    again = drawn_effects(process, known, [grid()] * 5, values, draws=200, seed=1)
    np.testing.assert_array_equal(again.total, drawn.total)


def test_the_doubt_falls_with_the_trials():
    widths = []
    whole, measured = known_truth(3, noise=0.01)
    _, components = fitted(whole, measured)
    for n in (15, 60):
        known, values = KernelInputs(whole.level[:n], whole.position[:n]), measured[:n]
        process = fit_process(
            covariance(kernel_matrices(known, known), components), values, components
        )
        drawn = drawn_effects(process, known, [grid()] * 5, values, draws=100, seed=0)
        widths.append(np.ptp(np.percentile(drawn.total[:, 0], [2.5, 97.5])))
    assert widths[1] < 0.6 * widths[0]


def test_what_matters_is_told_from_what_does_not():
    known, values = known_truth(4)
    kernels, scaled = kernel_matrices(known, known), standardised(values)[0]
    p = matter_p(kernels, scaled, settled_components(kernels, scaled))
    assert (p[:4] < 1e-3).all()
    assert p[4] > 0.05


def test_the_only_parameter_matters_or_not():
    rng = np.random.default_rng(5)
    known = ranges(rng.random((30, 1)))
    kernels, noise = kernel_matrices(known, known), 0.1 * rng.standard_normal(30)
    for effect, matters in ((known.position[:, 0], True), (0.0, False)):
        scaled = standardised(effect + noise)[0]
        (p,) = matter_p(kernels, scaled, settled_components(kernels, scaled))
        assert bool(p < 1e-3) is matters


def test_nothing_matters_where_all_is_noise():
    small = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        known = ranges(rng.random((40, 6)))
        kernels, scaled = kernel_matrices(known, known), standardised(rng.standard_normal(40))[0]
        small += int((matter_p(kernels, scaled, settled_components(kernels, scaled)) < 0.01).sum())
    assert small <= 4  # of 120 at the level 0.01


def test_shares_settle_where_whole_steps_swing():
    """Strong pairs and little noise: each whole step throws all shares to the other side."""
    known, values = known_truth(7)
    kernels, scaled = kernel_matrices(known, known), standardised(values)[0]
    settled = settled_components(kernels, scaled)
    after = relearned(kernels, scaled, settled, steps=1, power=DAMPED)
    np.testing.assert_allclose(after.parameters[:4], settled.parameters[:4], rtol=0.1)
    best = log_likelihood(kernels, scaled, settled)
    for steps in (1, 2, 6):
        whole = relearned(kernels, scaled, settled, steps=steps)
        assert log_likelihood(kernels, scaled, whole) < best + 5


def test_a_likelihood_is_the_density():
    known, values = known_truth(5)
    kernels, scaled = kernel_matrices(known, known), standardised(values)[0]
    components = VarianceComponents(np.full(5, 0.2), pairs=0.5, level=0.5, noise=0.1)
    whole = covariance(kernels, components) + 0.1 * np.eye(N)
    wanted = -0.5 * (scaled @ np.linalg.solve(whole, scaled) + np.linalg.slogdet(whole)[1])
    assert log_likelihood(kernels, scaled, components) == pytest.approx(wanted, rel=1e-6)


def test_unseen_trials_are_predicted_as_well_as_they_can_be():
    known, values = known_truth(6)
    kernels = kernel_matrices(known, known)
    every = np.arange(N)
    learned = unseen_r2(kernels, values, every, seed=0)
    assert learned is not None and learned > 0.8
    doubtful = unseen_r2(kernels, known_truth(6, noise=1.0)[1], every, seed=0)
    assert doubtful is not None and 0 < doubtful < 0.4  # 0.56 of what was learned from
    noise = unseen_r2(kernels, np.random.default_rng(0).standard_normal(N), every, seed=0)
    assert noise is not None and noise < 0.2
    assert unseen_r2(kernels, np.ones(N), every, seed=0) is None
    assert unseen_r2(kernels[:, :9, :9], values[:9], every[:9], seed=0) is None


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(8, 20))
def test_shares_are_shares(seed: int, parameters: int, trials: int):
    rng = np.random.default_rng(seed)
    level = rng.integers(0, 3, size=(trials, parameters))
    known = KernelInputs(level, np.where(level == 0, rng.random(level.shape), 0.0))
    values = rng.standard_normal(trials)
    inside = grid().settings
    mixed = Grid(
        KernelInputs(
            np.vstack([[[1], [2]], inside.level]), np.vstack([[[0.0], [0.0]], inside.position])
        ),
        np.concatenate([[0.1, 0.1], np.full(STEPS, 0.8 / STEPS)]),
    )
    process, _ = fitted(known, values)
    found = effects_of(process, known, [mixed] * parameters)
    assert (found.alone >= 0).all()
    assert (found.alone <= found.total + 1e-9).all()
    assert (found.total <= 1 + 1e-9).all()
    assert found.alone.sum() <= 1 + 1e-9
    assert found.total.sum() >= 1 - 1e-9 or not found.total.any()


def test_a_setting_is_never_predicted_from_itself():
    """Few settings of pure noise, measured three times each with the same result."""
    rng = np.random.default_rng(3)
    position = np.repeat(rng.random((15, 6)), 3, axis=0)
    known = ranges(position)
    kernels = kernel_matrices(known, known)
    values = np.repeat(rng.standard_normal(15), 3)
    apart = unseen_r2(kernels, values, np.arange(45), seed=0)
    together = unseen_r2(kernels, values, np.repeat(np.arange(15), 3), seed=0)
    assert apart is not None and apart > 0.5
    assert together is not None and together < 0.1
    few = np.repeat(np.arange(9), 5)
    assert unseen_r2(kernels, values, few, seed=0) is None
