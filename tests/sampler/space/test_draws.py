import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import qmc

from sampler.space.latent import Design, draw

DESIGNS: tuple[Design, ...] = ("random", "lhs", "sobol")
every_design = pytest.mark.parametrize("design", DESIGNS)


def points(
    design: Design, count: int, *, n: int = 0, dimensions: int = 30, seed: int = 3
) -> NDArray[np.float64]:
    return np.array(
        [draw(design, i, n=n or count, dimensions=dimensions, seed=seed) for i in range(count)]
    )


@every_design
def test_coordinates_are_at_least_0_and_below_1(design: Design):
    drawn = points(design, 600)
    assert drawn.shape == (600, 30)
    assert drawn.min() >= 0 and drawn.max() < 1


@every_design
def test_the_same_seed_and_index_give_the_same_point(design: Design):
    first = points(design, 20)
    assert np.array_equal(first, points(design, 20))
    assert np.array_equal(
        first[::-1], [draw(design, i, n=20, dimensions=30, seed=3) for i in range(19, -1, -1)]
    )


@every_design
def test_another_seed_gives_other_points(design: Design):
    assert not np.isclose(points(design, 20, seed=3), points(design, 20, seed=4)).any(axis=1).all()


@every_design
def test_no_two_points_of_a_design_are_the_same(design: Design):
    assert len(np.unique(points(design, 600), axis=0)) == 600


@given(st.integers(1, 80), st.integers(1, 40), st.integers(0, 2**32))
def test_a_latin_hypercube_has_each_stratum_of_each_coordinate_once(
    n: int, dimensions: int, seed: int
):
    drawn = points("lhs", n, dimensions=dimensions, seed=seed)
    strata = np.sort((drawn * n).astype(int), axis=0)
    assert (strata == np.arange(n)[:, None]).all()


def test_points_beyond_a_latin_hypercube_are_new_ones():
    drawn = points("lhs", 60, n=20)
    assert len(np.unique(drawn, axis=0)) == 60


def test_random_points_do_not_depend_on_how_many_are_asked_for():
    assert np.array_equal(points("random", 10, n=10), points("random", 10, n=500))


def test_sobol_by_index_is_the_sequence_itself_also_across_blocks():
    rng = np.random.default_rng(3)
    sequence = qmc.Sobol(30, scramble=True, rng=rng).random(1024)
    assert np.allclose(points("sobol", 1024), sequence)


@pytest.mark.parametrize("count", [32, 64, 256])
def test_any_prefix_of_sobol_is_spread_better_than_chance(count: int):
    even = qmc.discrepancy(points("sobol", count, dimensions=5))
    chance = qmc.discrepancy(points("random", count, dimensions=5))
    assert even < chance / 2


@pytest.mark.parametrize("count", [16, 64, 256])
def test_a_power_of_two_of_sobol_has_each_stratum_once(count: int):
    strata = np.sort((points("sobol", count) * count).astype(int), axis=0)
    assert (strata == np.arange(count)[:, None]).all()
