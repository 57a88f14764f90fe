import json
from collections import Counter
from collections.abc import Mapping
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampler.rocksdb.parameters import Value, catalogue
from sampler.space.latent import decode, encode
from sampler.space.space import Configuration, Space, digest, memory_bytes
from sampler.space.space_file import SHIPPED, load_space, space_from_document

SPACES = {name: load_space(name) for name in SHIPPED}
MEMORY = ("write_buffer_size", "max_write_buffer_number", "cache_size")
FIFTH = 0.2
names = st.sampled_from(SHIPPED)
coordinates = st.floats(min_value=0, max_value=1, exclude_max=True)


def least_memory(space: Space) -> int:
    """The budget below which no configuration of a space can be."""
    low = {name: int(space.by_name[name].low or 0) for name in MEMORY if name in space.by_name}
    return memory_bytes({name: low.get(name, space.context[name]) for name in MEMORY})


@st.composite
def full_points(draw: st.DrawFn) -> tuple[str, dict[str, float], int]:
    """A space, a coordinate for each of its parameters, and the bytes that they may take."""
    chosen = draw(names)
    space = SPACES[chosen]
    point = {name: draw(coordinates) for name in space.names}
    least = least_memory(space)
    return chosen, point, draw(st.integers(least, least + 4 * 2**30))


@st.composite
def partial_points(draw: st.DrawFn) -> tuple[str, dict[str, float], int]:
    chosen = draw(names)
    space = SPACES[chosen]
    moving = draw(st.sets(st.sampled_from(space.names)))
    point = {name: draw(coordinates) for name in moving}
    baseline = memory_bytes(space.context)
    return chosen, point, draw(st.integers(baseline, baseline + 4 * 2**30))


points = st.one_of(full_points(), partial_points())


def broken_rules(space: Space, configuration: Configuration) -> list[str]:
    """RocksDB's rules between options that a configuration breaks."""
    v: Mapping[str, Value] = space.complete({**space.fixed, **configuration})
    n = {name: float(value) for name, value in v.items() if not isinstance(value, str)}
    leveled = v["compaction_style"] == "level"
    rules = {
        "trigger <= slowdown": n["level0_file_num_compaction_trigger"]
        <= n["level0_slowdown_writes_trigger"],
        "slowdown <= stop": n["level0_slowdown_writes_trigger"] <= n["level0_stop_writes_trigger"],
        "merge < buffers": n["min_write_buffer_number_to_merge"]
        <= n["max_write_buffer_number"] - 1,
        "soft <= hard": n["soft_pending_compaction_bytes_limit"]
        <= n["hard_pending_compaction_bytes_limit"],
        "file <= level": not leveled
        or n["target_file_size_base"] <= n["max_bytes_for_level_base"],
        "first compressed <= levels": n["min_level_to_compress"] <= n["num_levels"],
        "merge widths": n["universal_min_merge_width"] <= n["universal_max_merge_width"],
        "no mapped and direct files": not (
            (v["mmap_write"] or v["mmap_read"]) and v["use_direct_io_for_flush_and_compaction"]
        ),
    }
    return [rule for rule, holds in rules.items() if not holds]


TYPES = {"int": int, "float": float, "bool": bool, "cat": str}


@given(points)
def test_every_point_is_a_configuration_that_keeps_all_rules(
    drawn_point: tuple[str, dict[str, float], int],
):
    name, point, memory = drawn_point
    space = SPACES[name]
    configuration = decode(space, point, memory=memory)
    values = space.complete(configuration)
    assert broken_rules(space, configuration) == []
    assert memory_bytes(values) <= memory or not space.memory_budget
    for moved in point.keys() & configuration.keys():
        parameter, value = space.by_name[moved], configuration[moved]
        if not parameter.is_numeric:
            assert value in parameter.values
        elif value not in parameter.special:
            assert parameter.low is not None and parameter.high is not None
            unit = configuration[parameter.multiple_of] if parameter.multiple_of else 1
            number = float(value) / float(unit)
            assert parameter.low <= number <= parameter.high
            assert parameter.kind == "float" or number % parameter.quantum == 0
    for shown, value in configuration.items():
        assert type(value) is TYPES[space.known[shown].kind]
    active = {each for each in (*space.fixed, *space.names) if space.is_active(each, values)}
    assert configuration.keys() == active
    still = configuration.keys() - point.keys()
    assert {n: configuration[n] for n in still} == {n: space.start[n] for n in still}
    # However the point is ordered it is the same, and it survives JSON.
    again = decode(space, dict(reversed(point.items())), memory=memory)
    assert digest(again) == digest(configuration)
    assert json.loads(json.dumps(configuration, allow_nan=False)) == configuration


@given(full_points())
def test_a_configuration_encodes_to_a_point_that_gives_it_back(
    drawn_point: tuple[str, dict[str, float], int],
):
    name, point, memory = drawn_point
    space = SPACES[name]
    configuration = decode(space, point, memory=memory)
    there = encode(space, configuration, memory=memory)
    assert all(0 <= u < 1 for u in there.values())
    assert decode(space, there, memory=memory) == configuration


@pytest.mark.parametrize("name", SHIPPED)
def test_the_baseline_encodes_to_a_point_that_gives_it_back(name: str):
    space = SPACES[name]
    baseline = {**space.fixed, **space.default_configuration()}
    again = decode(space, encode(space, baseline))
    assert {key: again[key] for key in baseline} == baseline


def test_a_choice_that_the_space_has_not_encodes_to_some_point_of_it():
    document = {
        "name": "two",
        "parameter": [{"name": "compression_type", "choices": ["zstd", "lz4"]}],
    }
    space = space_from_document(document)
    point = encode(space, {"compression_type": "bzip2"})
    assert 0 <= point["compression_type"] < 1


@cache
def alone(parameter_name: str) -> Space:
    """`all` with everything switched on that a parameter depends on."""
    on: dict[str, Value] = {}
    waiting = list(catalogue()[parameter_name].active_if)
    while waiting:
        condition = waiting.pop()
        on[condition.parameter] = condition.values[0]
        waiting += catalogue()[condition.parameter].active_if
    return SPACES["all"].at_baseline(on)


def at(parameter_name: str, u: float) -> Value:
    """One parameter of `all` moved alone."""
    return decode(alone(parameter_name), {parameter_name: u})[parameter_name]


SPECIAL = [n for n, p in SPACES["all"].by_name.items() if p.special]
WHOLE = [
    name
    for name, p in SPACES["all"].by_name.items()
    if p.is_numeric and p.kind == "int" and not p.log and not p.floor and not p.ceiling
]


@pytest.mark.parametrize("name", SPECIAL)
def test_special_values_take_the_lowest_fifth_and_nothing_else(name: str):
    special = catalogue()[name].special
    grid = [(step + 0.5) / 200 for step in range(200)]
    assert [u < FIFTH for u in grid] == [at(name, u) in special for u in grid]


@pytest.mark.parametrize("name", WHOLE)
def test_every_whole_number_of_a_range_is_equally_likely(name: str):
    parameter = catalogue()[name]
    assert parameter.low is not None and parameter.high is not None
    cells = int(parameter.high - parameter.low) + 1
    begin = FIFTH if parameter.special else 0.0
    steps = [begin + (1 - begin) * (step + 0.5) / (2 * cells) for step in range(2 * cells)]
    counted = Counter(at(name, u) for u in steps)
    assert len(counted) == cells
    assert set(counted.values()) == {2}


def test_log_ranges_give_each_doubling_the_same_share():
    sizes = [float(at("delayed_write_rate", (i + 0.5) / 1500)) for i in range(1500)]
    doublings = Counter(int(size / 2**22).bit_length() for size in sizes)
    assert all(abs(count - 250) < 38 for bits, count in doublings.items() if bits < 7)


def test_a_larger_coordinate_never_gives_a_smaller_number():
    for name in WHOLE:
        begin = FIFTH if catalogue()[name].special else 0.0
        line = [float(at(name, begin + (1 - begin) * i / 200)) for i in range(200)]
        assert line == sorted(line)


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), coordinates)
def test_a_narrow_range_of_fractions_is_kept(low: float, width: float, u: float):
    high = low + width
    rows = [{"name": "share", "type": "float", "low": low, "high": high}]
    space = space_from_document({"name": "own", "parameter": rows})
    assert low <= float(decode(space, {"share": u})["share"]) <= high


L0 = (
    "level0_file_num_compaction_trigger",
    "level0_slowdown_writes_trigger",
    "level0_stop_writes_trigger",
)


@given(st.tuples(coordinates, coordinates, coordinates), st.integers(12, 96))
def test_a_chain_of_rules_holds_when_the_user_narrows_its_last_link(
    us: tuple[float, float, float], most: int
):
    rows = [{"name": name} for name in L0[:2]] + [{"name": L0[2], "high": most}]
    space = space_from_document({"name": "own", "parameter": rows})
    configuration = decode(space, dict(zip(L0, us, strict=True)))
    trigger, slowdown, stop = (int(configuration[name]) for name in L0)
    assert trigger <= slowdown <= stop <= most


@given(coordinates, coordinates)
def test_a_chain_of_rules_holds_around_a_user_s_own_baseline(trigger: float, slowdown: float):
    own = SPACES["default"].at_baseline(
        {"level0_slowdown_writes_trigger": 8, "level0_stop_writes_trigger": 12}
    )
    configuration = decode(own, {L0[0]: trigger, L0[1]: slowdown})
    assert broken_rules(own, configuration) == []
