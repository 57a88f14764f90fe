"""Shares that are drawn from their posterior, against effects that are known."""

import numpy as np

from models.gaussian_process.process import (
    KernelInputs,
    VarianceComponents,
    covariance,
    kernel_matrices,
    own_variance,
    standardised,
)
from models.gaussian_process.variance_components import drawn_components, learn_components
from tests.support.models.planted import ranges


def known(count: int, parameters: int = 6, seed: int = 0) -> tuple[KernelInputs, np.ndarray]:
    """The first parameter does most, the second a little, the rest nothing."""
    rng = np.random.default_rng(seed)
    position = rng.random((count, parameters))
    values = 2 * position[:, 0] + 0.5 * position[:, 1] + 0.2 * rng.standard_normal(count)
    return ranges(position), values


def drawn(count: int, seed: int = 1, draws: int = 40) -> np.ndarray:
    settings, values = known(count)
    kernels = kernel_matrices(settings, settings, rough=0.5)
    scaled, _, _ = standardised(values)
    found = drawn_components(
        kernels, scaled, learn_components(kernels, scaled), draws=draws, seed=[seed]
    )
    return np.array([each.parameters for each in found])


def test_what_matters_has_the_largest_shares():
    components = np.median(drawn(80), axis=0)
    assert components.argmax() == 0
    assert components[0] > 20 * np.median(components[2:])


def test_few_values_leave_more_possible():
    """How much an idle parameter may do depends on how much was seen of it."""
    many, few = (np.log(drawn(count)) for count in (120, 12))
    upper = [np.quantile(each[:, 2:], 0.9) for each in (many, few)]
    assert upper[1] > upper[0] + np.log(3)
    assert few[:, 0].std() > many[:, 0].std()


def test_the_same_seed_draws_the_same():
    assert (drawn(30, draws=3) == drawn(30, draws=3)).all()
    assert (drawn(30, draws=3) != drawn(30, seed=2, draws=3)).any()


def test_without_values_that_differ_it_is_the_prior():
    """Nothing is learned of shares from one value."""
    settings = ranges(np.full((1, 4), 0.5))
    kernels = kernel_matrices(settings, settings)
    start = VarianceComponents(np.full(4, 0.1), pairs=1.0, level=0.5, noise=0.1)
    found = drawn_components(kernels, np.zeros(1), start, draws=400, seed=[3])
    logs = np.log([each.parameters for each in found])
    assert np.abs(logs.mean() - np.log(0.4 / 4)) < 0.8
    assert 1.7 < logs.std() < 3.0


def test_what_only_many_do_together_is_a_covariance():
    settings, _ = known(40)
    kernels = kernel_matrices(settings, settings, rough=0.5)
    components = VarianceComponents(np.full(6, 0.2), pairs=0.5, level=0.5, noise=0.1, together=0.7)
    found = covariance(kernels, components)
    assert np.allclose(np.diag(found), own_variance(components), atol=1e-5)
    assert np.linalg.eigvalsh(found).min() > -1e-5
    without = covariance(
        kernels, VarianceComponents(np.full(6, 0.2), pairs=0.5, level=0.5, noise=0.1)
    )
    assert ((found - without) > 0).all() and np.allclose(np.diag(found - without), 0.7, atol=1e-5)


def test_a_rough_kernel_is_smooth_over_long_steps_and_falls_off_at_short_ones():
    settings = ranges(np.array([[0.0], [0.02], [1.0]]))
    smooth, rough = (kernel_matrices(settings, settings, rough=part)[0] for part in (0.0, 0.5))
    assert np.allclose(np.diag(rough), 1.0)
    assert smooth[0, 1] > 0.999 and rough[0, 1] < 0.98
    assert 0.4 * smooth[0, 2] < rough[0, 2] < smooth[0, 2]
