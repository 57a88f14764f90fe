import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampler.workload.db_bench_benchmarks import Fill, distinct_keys
from sampler.workload.workload import Prepare, Workload

fills = st.builds(
    Fill,
    keys=st.integers(2, 60),
    writes=st.integers(0, 100).map(float),
    whole=st.booleans(),
)


@given(st.lists(fills, min_size=1, max_size=3))
def test_it_is_the_sum_of_each_key_s_chance_to_be_there(some: list[Fill]):
    def absent(key: int) -> float:
        reached = [fill for fill in some if key < fill.keys]
        return math.prod(0.0 if f.whole else (1 - 1 / f.keys) ** f.writes for f in reached)

    most = max(fill.keys for fill in some)
    assert distinct_keys(some) == pytest.approx(sum(1 - absent(key) for key in range(most)))


def test_one_key_written_once_is_there():
    assert distinct_keys([Fill(1, 1.0)]) == 1.0
    assert distinct_keys([Fill(1, 0.0)]) == 0.0


def test_a_prepared_load_leaves_what_was_prepared_and_what_was_written_after():
    fill = Prepare(benchmarks=("fillrandom",), num=1_000)
    reads = Workload(name="w", benchmarks=("readrandom",), num=1_000, prepare=fill)
    once = Workload(name="w", num=1_000).distinct_keys(1)
    twice = Workload(name="w", num=1_000).distinct_keys(2)
    assert reads.distinct_keys(1) == pytest.approx(once)
    beside = replace(reads, benchmarks=("readwhilewriting",))
    assert beside.distinct_keys(1, written=1_000) == pytest.approx(twice)
    again = Workload(name="w", benchmarks=("overwrite",), num=1_000, prepare=fill)
    assert again.distinct_keys(1) == pytest.approx(twice)


def test_threads_that_prepare_each_write_all_the_keys():
    one, two = (Prepare(benchmarks=("fillrandom",), num=500, threads=t) for t in (1, 2))
    assert two.writes == 2 * one.writes == 1_000
    assert [fill.writes for fill in two.fills] == [1_000]


def test_a_preparation_may_write_less_than_its_key_space():
    part = Prepare(benchmarks=("fillseq",), num=1_000, flags=(("writes", 300),))
    assert part.writes == 300
    assert distinct_keys(part.fills) == 300


def test_a_preparation_that_reads_and_writes_in_turn_does_the_larger_number_of_both():
    flags = (("reads", 500), ("writes", 200))
    both = Prepare(benchmarks=("fillrandom", "updaterandom"), num=1_000, flags=flags)
    assert both.writes == 200 + 500
