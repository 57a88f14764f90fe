"""The catalogue of starting points: every option has its source, and rules keep to their room."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampler.common.errors import InputError
from sampler.rocksdb.parameters import catalogue
from sampler.space.space import default_values
from sampler.space.starting_points import (
    Room,
    baseline_values,
    classes_of,
    handful,
    handfuls,
    known_points,
    values_of,
)
from sampler.workload.workload import LoadClass
from sampler.workload.workload_file import load_workload

MIB = 2**20
BY_CLASS = [name for name in known_points() if classes_of(name) and name != "library"]
NAMED = (
    "RocksDB", "TiKV", "Apache Kvrocks", "MyRocks", "reth", "YugabyteDB", "Apache Flink",
)  # fmt: skip


def test_each_class_begins_with_a_handful():
    assert set(handfuls()) == {*get_args(LoadClass), "space"}
    for names in handfuls().values():
        assert names[0] == "library" and 4 <= len(names) <= 6
        assert len(set(names)) == len(names) and set(names) <= set(known_points())


def test_a_load_begins_with_the_points_of_its_class():
    assert handful(load_workload("load-quick"))[1] == "writing-leveled"
    assert handful(load_workload("read-quick"))[1] == "reading-leveled"
    assert handful(load_workload("load-quick"), space_bound=True)[1] == "space-leveled"


@pytest.mark.parametrize("name", BY_CLASS)
def test_each_option_says_where_it_is_from(name: str):
    point = known_points()[name]
    assert point.sources.keys() == point.values.keys() | point.rules.keys()
    for source in point.sources.values():
        for part in source.split("; "):  # in full, as the legend of the catalogue has it
            assert part.startswith(NAMED) and any(mark in part for mark in (",", "."))


@pytest.mark.parametrize("name", BY_CLASS)
@given(cores=st.integers(1, 512), memory=st.integers(64 * MIB, 2**40))
def test_what_is_worked_out_keeps_to_the_range_and_the_memory(name: str, cores: int, memory: int):
    point, known = known_points()[name], catalogue()
    values = point.values_in(Room(cores, memory))
    for option in point.rules:
        parameter, found = known[option], values[option]
        assert isinstance(found, int) and found % parameter.quantum == 0
        assert parameter.low is not None and parameter.high is not None
        assert parameter.low <= found <= parameter.high
    whole = {**default_values("library"), **values}
    taken = int(whole["write_buffer_size"]) * int(whole["max_write_buffer_number"])
    if "write_buffer_size" in point.rules:
        assert taken + int(values.get("cache_size", 0)) <= memory


def test_more_cores_are_more_jobs_up_to_what_the_catalogue_knows():
    def jobs(cores: int) -> object:
        return values_of("writing-leveled", None, Room(cores, 128 * MIB))["max_background_jobs"]

    assert [jobs(cores) for cores in (1, 2, 4, 8, 64)] == [4, 4, 4, 8, 16]


def test_more_memory_is_larger_memtables_and_a_level_1_that_matches():
    small = values_of("writing-leveled", None, Room(2, 128 * MIB))
    large = values_of("writing-leveled", None, Room(2, 512 * MIB))
    assert (small["write_buffer_size"], large["write_buffer_size"]) == (64 * MIB, 256 * MIB)
    for values in (small, large):
        level_0 = int(values["write_buffer_size"]) * int(
            values["level0_file_num_compaction_trigger"]
        )
        assert values["max_bytes_for_level_base"] == level_0


def test_a_baseline_is_no_point_that_depends_on_the_host():
    assert baseline_values("level-style")["compression_type"] == "lz4"
    with pytest.raises(InputError, match="'writing-leveled' is neither library"):
        baseline_values("writing-leveled")
