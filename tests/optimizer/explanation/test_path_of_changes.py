"""The path on spaces with rules: it ends at the winner, and every point of it is valid."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizer.strategies.changes import Changes, fewest_changes, path_of
from optimizer.trials.problem import Problem
from sampler.space.space import memory_bytes
from sampler.space.space_file import load_space
from tests.support.optimizer.known_effects import problem

NAMES = ("default", "paper", "universal", "blob", "all")


@cache
def asked_of(name: str) -> Problem:
    space = load_space(name)
    return problem(space, memory=memory_bytes(space.context) if space.memory_budget else None)


def hashed(seed: int) -> Any:
    """Some fitness or other, the same for the same configuration."""

    def fitness(configurations: Sequence[Mapping[str, Any]]) -> Any:
        found = [sum(hash((seed, k, v)) % 997 for k, v in each.items()) for each in configurations]
        return np.array(found, dtype=float)

    return fitness


def require_valid(asked: Problem, configuration: Mapping[str, Any], chosen: set[str]) -> None:
    """By the rules as the catalogue states them, not as the code under test reads them."""
    values = asked.space.complete(configuration)
    if asked.memory is not None:
        assert memory_bytes(values) <= asked.memory
    for parameter in asked.space.parameters:
        name = parameter.name
        active = all(values[c.parameter] in c.values for c in parameter.active_if)
        assert active or name not in chosen
        value = values[name]
        if not active or not parameter.is_numeric or value in parameter.special:
            continue
        if parameter.floor:
            assert value >= values[parameter.floor.parameter] + parameter.floor.offset, name
        if parameter.ceiling:
            assert value <= values[parameter.ceiling.parameter] + parameter.ceiling.offset, name
        if parameter.multiple_of and name in chosen:
            assert value % values[parameter.multiple_of] == 0


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(name=st.sampled_from(NAMES), seed=st.integers(0, 10**6))
def test_every_point_is_valid_and_the_last_is_the_winner(name: str, seed: int):
    asked = asked_of(name)
    rng = np.random.default_rng(seed)
    winner = asked.configuration({n: float(rng.random()) for n in asked.space.names})
    changes = Changes(asked, winner)
    steps = path_of(changes, hashed(seed))
    made: frozenset[str] = frozenset()
    for step in steps:
        assert step and not step & made
        made |= step
        require_valid(asked, changes.configuration(made), set(made))
    assert made == set(changes.names)
    assert changes.configuration(made) == winner

    def losses(configurations: Sequence[Mapping[str, Any]]) -> Any:
        lost = hashed(seed)([winner]) - hashed(seed)(configurations)
        return np.where(lost > 0, np.inf, lost)

    fewest = fewest_changes(changes, losses, steps)
    require_valid(asked, changes.configuration(fewest), set(fewest))
    assert losses([changes.configuration(fewest)])[0] <= 0


def moved(space: str = "default", **values: Any) -> Changes:
    """A winner that differs from the baseline in these."""
    asked = asked_of(space)
    return Changes(asked, {**asked.space.default_configuration(), **values})


def test_what_depends_on_each_other_moves_together():
    """Neither fits the memory by itself: twice the buffer, half as many."""
    both = moved(write_buffer_size=2**27, max_write_buffer_number=1)
    none: frozenset[str] = frozenset()
    assert both.partners(none, "max_write_buffer_number") == {"max_write_buffer_number"}
    pair = {"write_buffer_size", "max_write_buffer_number"}
    assert both.partners(none, "write_buffer_size") == pair
    whole = frozenset(pair)
    assert both.dependents(whole, "max_write_buffer_number") == pair
    assert both.dependents(whole, "write_buffer_size") == {"write_buffer_size"}


def test_a_condition_goes_with_what_needs_it():
    packed = moved("all", compression_type="zstd", compression_level=5)
    none: frozenset[str] = frozenset()
    assert packed.partners(none, "compression_level") == {"compression_type", "compression_level"}
    assert packed.partners(none, "compression_type") == {"compression_type"}


@pytest.mark.parametrize(("trigger", "alone"), [(8, True), (30, False)])
def test_a_floor_that_is_passed_takes_the_next_along(trigger: int, alone: bool):
    raised = moved(level0_file_num_compaction_trigger=trigger, level0_slowdown_writes_trigger=32)
    name = "level0_file_num_compaction_trigger"
    expected = {name} if alone else {name, "level0_slowdown_writes_trigger"}
    assert raised.partners(frozenset(), name) == expected


def test_a_part_that_gains_by_itself_goes_first():
    both = moved(write_buffer_size=2**27, max_write_buffer_number=1)

    def fitness(configurations: Sequence[Mapping[str, Any]]) -> Any:
        return np.array(
            [2.0 * (c["write_buffer_size"] > 2**26) + (c["max_write_buffer_number"] == 1)
             for c in configurations]
        )  # fmt: skip

    assert path_of(both, fitness) == [{"max_write_buffer_number"}, {"write_buffer_size"}]
