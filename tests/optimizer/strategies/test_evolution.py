"""The population that evolves on a model."""

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy

import numpy as np
import pytest
from deap import tools

from optimizer.strategies.guided import drawing_from, evolve

HIGH = np.array([0.2, 0.9, 0.5, 0.5])
MATTERS = np.array([1.0, 1.0, 0.0, 0.0])


def hill(points: np.ndarray) -> np.ndarray:
    return -((points[:, :2] - HIGH[:2]) ** 2).sum(axis=1)


def start(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random((30, 4))


def test_it_climbs():
    found = evolve(hill, start(), MATTERS, seed=1)
    assert hill(start()).max() < -1e-3
    assert hill(found[:1])[0] > -1e-4


def test_the_highest_come_first_and_lie_in_the_cube():
    found = evolve(hill, start(), MATTERS, seed=2)
    values = hill(found)
    assert (np.diff(values) <= 0).all()
    assert ((found >= 0) & (found < 1)).all()


def test_nothing_that_it_began_with_is_lost():
    begun = np.vstack([start(), HIGH])
    assert hill(evolve(hill, begun, MATTERS, seed=3)[:1])[0] == 0.0


def test_the_seed_decides_and_the_global_generator_is_left_alone():
    random.seed(5)
    state = random.getstate()
    first = evolve(hill, start(), MATTERS, seed=4)
    assert random.getstate() == state
    assert np.array_equal(first, evolve(hill, start(), MATTERS, seed=4))
    assert not np.array_equal(first, evolve(hill, start(), MATTERS, seed=5))


def test_it_moves_mostly_what_matters_and_now_and_then_the_rest():
    moved = np.zeros(4)

    def count(points: np.ndarray) -> np.ndarray:
        nonlocal moved
        moved = moved + (points != 0.5).sum(axis=0)
        return np.zeros(len(points))

    evolve(count, np.full((10, 4), 0.5), MATTERS, seed=6)
    assert moved[:2].min() > 2 * moved[2:].max()
    assert moved[2:].min() > 0


def test_nothing_that_matters_is_no_obstacle():
    assert len(evolve(hill, start(), np.zeros(4), seed=7)) > 0


def test_two_threads_that_take_turns_find_what_each_finds_alone():
    """A service proposes for two jobs at once: each proposal is a function of its own history."""
    turns = threading.Barrier(2, timeout=60)

    def in_turn(points: np.ndarray) -> np.ndarray:
        turns.wait()  # neither goes on to its next generation before the other has come as far
        return hill(points)

    alone = [evolve(hill, start(seed), MATTERS, seed=seed) for seed in (1, 2)]
    with ThreadPoolExecutor(2) as threads:
        both = [
            threads.submit(evolve, in_turn, start(seed), MATTERS, seed=seed) for seed in (1, 2)
        ]
        found = [each.result() for each in both]
    for one, other in zip(alone, found, strict=True):
        assert np.array_equal(one, other)


def test_other_code_may_draw_from_the_global_generator_meanwhile():
    def drawing(points: np.ndarray) -> np.ndarray:
        random.random()
        return hill(points)

    found = evolve(drawing, start(), MATTERS, seed=4)
    assert np.array_equal(found, evolve(hill, start(), MATTERS, seed=4))


@pytest.mark.parametrize(
    ("module", "name", "arguments"),
    [
        (tools.selection, "selTournament", ([1.0, 2.0, 3.0], 2, 3, "real")),
        (tools.crossover, "cxUniform", ([0.1] * 9, [0.9] * 9, 0.5)),
        (tools.crossover, "cxSimulatedBinaryBounded", ([0.1] * 9, [0.9] * 9, 20.0, 0.0, 1.0)),
        (tools.mutation, "mutPolynomialBounded", ([0.4] * 9, 20.0, 0.0, 1.0, 0.5)),
    ],
)
@pytest.mark.parametrize("seed", [0, 7, 2**63 - 1])
def test_operators_do_what_they_do_with_the_global_generator(module, name, arguments, seed):
    state = random.getstate()
    random.seed(seed)
    expected = getattr(module, name)(*deepcopy(arguments))
    random.setstate(state)
    assert getattr(drawing_from(random.Random(seed), module), name)(*arguments) == expected
    assert random.getstate() == state
