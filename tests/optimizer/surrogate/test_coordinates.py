"""Latent points as levels and positions: two points are alike when they mean the same value."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from optimizer.surrogate.training_data import cube_layout
from sampler.space.latent import decode
from sampler.space.space_file import load_space
from tests.support.optimizer.pretend_bench import small_space

SPACE = small_space()
LAYOUT = cube_layout(SPACE, SPACE.names)
ROW = {name: column for column, name in enumerate(LAYOUT.names)}
points = st.lists(st.floats(0, 1, exclude_max=True), min_size=6, max_size=6)


@given(points, points)
def test_categories_have_a_level_each_and_no_position(one: list[float], other: list[float]):
    settings = LAYOUT.settings(np.array([one, other]))
    values = [decode(SPACE, dict(zip(LAYOUT.names, row, strict=True))) for row in (one, other)]
    for name in ("codec", "sync"):
        level = settings.level[:, ROW[name]]
        assert (level[0] == level[1]) == (values[0][name] == values[1][name])
        assert (settings.position[:, ROW[name]] == 0).all()


@given(points)
def test_numbers_have_one_level_and_their_place_in_the_range(point: list[float]):
    settings = LAYOUT.settings(np.array([point]))
    assert settings.level[0, ROW["x"]] == 0
    assert settings.position[0, ROW["x"]] == point[ROW["x"]]


def test_special_values_are_apart_from_the_range():
    space = load_space("default")
    layout = cube_layout(space, space.names)
    name = next(p.name for p in space.parameters if p.special)
    column = layout.names.index(name)
    rows = np.full((4, len(layout.names)), 0.5)
    rows[:, column] = 0.0, 0.19, 0.2, 0.999
    settings = layout.settings(rows)
    special, number = settings.level[:2, column], settings.level[2:, column]
    assert (special > 0).all()
    assert (number == 0).all()
    assert settings.position[:2, column].tolist() == [0.0, 0.0]
    assert settings.position[2, column] == 0.0
    assert settings.position[3, column] > 0.99


def test_only_the_parameters_that_move_are_laid_out():
    layout = cube_layout(SPACE, ("codec", "x"))
    assert layout.names == ("codec", "x")
    assert layout.kinds == ((3, 0), (0, 0))
