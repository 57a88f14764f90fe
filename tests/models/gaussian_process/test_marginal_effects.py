"""Partial dependence in closed form, against averages of the process's own predictions."""

import numpy as np
import pytest
from numpy.typing import NDArray

from models.gaussian_process.effects import Grid, MarginalEffects, effects_of
from models.gaussian_process.process import (
    AdditiveProcess,
    KernelInputs,
    VarianceComponents,
    covariance,
    fit_process,
    kernel_matrices,
)
from tests.support.models.planted import ranges

Floats = NDArray[np.float64]
SHARES = VarianceComponents(np.array([0.6, 0.3, 0.2]), pairs=0.8, level=0.5, noise=0.01)


def grid(count: int) -> Grid:
    position = (np.arange(count) + 0.5) / count
    weight = np.arange(1.0, count + 1)
    return Grid(
        ranges(position[:, None]),
        weight / weight.sum(),
    )


GRIDS = [grid(4), grid(3), grid(5)]


@pytest.fixture
def fitted() -> tuple[AdditiveProcess, KernelInputs]:
    points = np.random.default_rng(3).random((40, 3))
    values = 5 + 2 * points[:, 0] + points[:, 0] * points[:, 1] - np.sin(3 * points[:, 2])
    known = ranges(points)
    return fit_process(covariance(kernel_matrices(known, known), SHARES), values, SHARES), known


def every() -> tuple[KernelInputs, Floats]:
    """All settings of the grids together, and how often each is drawn."""
    axes = np.meshgrid(*(g.settings.position[:, 0] for g in GRIDS), indexing="ij")
    weight = np.einsum("a,b,c->abc", *(g.weight for g in GRIDS))
    return ranges(np.stack([axis.ravel() for axis in axes], axis=1)), weight


def predicted(process: AdditiveProcess, known: KernelInputs) -> tuple[Floats, Floats, Floats]:
    """Expectation over all settings together, shape (4, 3, 5), and its covariance."""
    asked, weight = every()
    cross = covariance(kernel_matrices(asked, known), SHARES)
    among = covariance(kernel_matrices(asked, asked), SHARES)
    expected, doubt = process.predict_together(cross, among)
    return expected.reshape(weight.shape), doubt, weight


def contrast(column: int) -> Floats:
    """From all settings together to the mean at each setting of one, less the mean of all."""
    _, weight = every()
    rows = []
    for place in range(weight.shape[column]):
        index = [slice(None)] * 3
        index[column] = place  # type: ignore[call-overload]
        part = np.zeros_like(weight)
        part[tuple(index)] = weight[tuple(index)] / weight[tuple(index)].sum()
        rows.append((part - weight).ravel())
    return np.array(rows)


@pytest.mark.parametrize("column", [0, 1, 2])
def test_a_main_effect_is_the_average_of_predictions(
    fitted: tuple[AdditiveProcess, KernelInputs], column: int
) -> None:
    process, known = fitted
    expected, doubt, _ = predicted(process, known)
    average = contrast(column)
    main = MarginalEffects(process, known, GRIDS).main(column)
    np.testing.assert_allclose(main.expected, average @ expected.ravel(), atol=1e-5)
    sure = np.sqrt(np.diag(average @ doubt @ average.T))
    np.testing.assert_allclose(main.deviation, sure, atol=2e-4)
    assert abs(GRIDS[column].weight @ main.expected) < 1e-9
    assert (main.deviation > 0).all()


def test_mains_and_pairs_sum_to_what_is_expected(
    fitted: tuple[AdditiveProcess, KernelInputs],
) -> None:
    process, known = fitted
    expected, _, weight = predicted(process, known)
    found = MarginalEffects(process, known, GRIDS)
    rebuilt = np.full(weight.shape, (weight * expected).sum())
    for column in range(3):
        shape = [1, 1, 1]
        shape[column] = -1
        rebuilt = rebuilt + found.main(column).expected.reshape(shape)
    for pair in found.pairs():
        i, j = pair.columns
        shape = [1, 1, 1]
        shape[i], shape[j] = pair.beyond.shape
        rebuilt = rebuilt + pair.beyond.reshape(shape)
    np.testing.assert_allclose(rebuilt, expected, atol=1e-4)


def test_the_variances_are_the_shares_that_are_told_elsewhere(
    fitted: tuple[AdditiveProcess, KernelInputs],
) -> None:
    process, known = fitted
    found = MarginalEffects(process, known, GRIDS)
    mains, pairs = [found.main(column).variance for column in range(3)], found.pairs()
    whole = sum(mains) + sum(each.variance for each in pairs)
    effects = effects_of(process, known, GRIDS)
    np.testing.assert_allclose(np.array(mains) / whole, effects.alone, atol=1e-4)
    for column in range(3):
        own = sum(each.variance for each in pairs if column in each.columns)
        assert (mains[column] + own) / whole == pytest.approx(effects.total[column], abs=1e-4)
    assert pairs[0].columns == (0, 1), "the pair that was put in is the strongest"
    assert [p.variance for p in pairs] == sorted((p.variance for p in pairs), reverse=True)
