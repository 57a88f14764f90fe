"""The covariance of settings: a sum over parameters and over pairs of them."""

from dataclasses import replace
from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from models.gaussian_process.process import (
    KernelInputs,
    VarianceComponents,
    covariance,
    covariances,
    kernel_matrices,
    own_variance,
)
from tests.support.models.planted import ranges

shares_of = st.builds(
    lambda weights, pairs, level: VarianceComponents(np.array(weights), pairs, level, noise=0.1),
    st.lists(st.floats(0.0, 3.0), min_size=4, max_size=4),
    st.floats(0.0, 2.0),
    st.floats(0.0, 1.0),
)


def settings(n: int, seed: int = 0) -> KernelInputs:
    rng = np.random.default_rng(seed)
    level = rng.integers(0, 2, (n, 4))
    position = np.where(level == 0, rng.random((n, 4)), 0.0)
    return KernelInputs(level, position)


def test_equal_settings_are_wholly_alike_and_other_levels_not_at_all():
    kernels = kernel_matrices(settings(12), settings(12))
    assert np.allclose(kernels[:, np.arange(12), np.arange(12)], 1.0)
    level = settings(12).level
    for parameter in range(4):
        differ = level[:, None, parameter] != level[None, :, parameter]
        assert differ.any()
        assert (kernels[parameter][differ] == 0).all()
        assert (kernels[parameter][~differ] > 0).all()


def test_likeness_falls_with_the_distance():
    line = ranges(np.linspace(0, 1, 5)[:, None])
    (row,) = kernel_matrices(line, line)[:, 0]
    assert (np.diff(row) < 0).all()


@given(shares_of)
def test_the_pairs_are_summed_as_if_one_by_one(components: VarianceComponents):
    kernels = kernel_matrices(settings(6), settings(7, seed=1))
    weights = components.parameters
    expected = components.level + sum(weights[i] * kernels[i] for i in range(4))
    for i, j in combinations(range(4), 2):
        expected = expected + components.pairs * weights[i] * weights[j] * kernels[i] * kernels[j]
    assert np.allclose(covariance(kernels, components), expected, rtol=1e-5, atol=1e-5)


@given(shares_of)
def test_it_is_a_covariance_and_its_diagonal_is_told(components: VarianceComponents):
    kernels = kernel_matrices(settings(9), settings(9))
    found = covariance(kernels, components)
    assert np.allclose(found, found.T)
    assert np.linalg.eigvalsh(found).min() > -1e-4
    assert np.allclose(np.diag(found), own_variance(components), rtol=1e-5)


@given(st.lists(shares_of, min_size=1, max_size=3))
def test_several_metrics_at_once_are_as_each_alone(components: list[VarianceComponents]):
    kernels = kernel_matrices(settings(5), settings(6, seed=2))
    found = covariances(kernels, components)
    assert np.allclose(found, [covariance(kernels, each) for each in components], rtol=1e-5)


def test_parameters_without_a_share_may_be_left_out():
    components = VarianceComponents(np.array([0.0, 2.0, 0.0, 1.0]), 0.5, 0.5, 0.1)
    one, other, columns = settings(6), settings(7, seed=1), np.array([1, 3])
    whole = covariance(kernel_matrices(one, other), components)
    shares = replace(components, parameters=components.parameters[columns])
    part = covariance(kernel_matrices(one.of(columns), other.of(columns)), shares)
    assert np.allclose(whole, part, rtol=1e-5)
