"""Traces that db_bench records of known loads, and their profiles beside what is known."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from sampler.bench.installed import InstalledDbBench
from sampler.bench.query_trace import is_trace
from sampler.profile.profile import FamilyProfile
from sampler.profile.trace import read_trace_profile
from tests.support.sampler.traces import printed, recorded

pytestmark = pytest.mark.db_bench
SIZES = ("--num=3000", "--key_size=20", "--value_size=70", "--seed=7")


def counts(family: FamilyProfile) -> dict[str, float]:
    return {name: count for name, count in family.operations.items() if count}


@pytest.mark.parametrize(
    ("benchmarks", "flags", "wanted"),
    [
        ("fillseq", (), {"put": 3000}),
        ("fillseq,deleterandom", ("--deletes=700",), {"delete": 700}),
        ("fillseq,seekrandom", ("--reads=500", "--seek_nexts=7"), {"seek": 500}),
        ("fillseq,multireadrandom", ("--reads=400", "--batch_size=4"), {"multiget": 400}),
        ("mergerandom", ("--merge_operator=put", "--reads=600"), {"merge": 600}),
        ("fillseq,updaterandom", ("--reads=300",), {"get": 300, "put": 300}),
    ],
)
def test_operations_are_those_that_were_asked_for(
    installed: InstalledDbBench,
    tmp_path: Path,
    benchmarks: str,
    flags: tuple[str, ...],
    wanted: dict[str, int],
):
    path, _ = recorded(installed.program, tmp_path, benchmarks, *SIZES, *flags)
    assert is_trace(path)
    (family,) = read_trace_profile(path).families
    assert counts(family) == wanted
    assert family.key_size == 20
    if "put" in wanted or "merge" in wanted:
        assert family.value_size.mean == 70


def test_a_mixture_and_what_it_overwrites(installed: InstalledDbBench, tmp_path: Path):
    flags = ("--reads=9000", "--readwritepercent=40", "--compression_ratio=0.3")
    path, said = recorded(installed.program, tmp_path, "readrandomwriterandom", *SIZES, *flags)
    (family,) = read_trace_profile(path).families
    puts = printed(said, "writes")
    assert counts(family) == {"get": printed(said, "reads"), "put": puts}
    distinct = 3000 * (1 - (1 - 1 / 3000) ** puts)
    assert family.overwrite_share == pytest.approx(1 - distinct / puts, abs=0.02)
    assert family.compression_ratio == pytest.approx(0.3, rel=0.05)


def test_batches_and_families(installed: InstalledDbBench, tmp_path: Path):
    flags = ("--batch_size=10", "--num_column_families=3")
    path, _ = recorded(installed.program, tmp_path, "fillrandom", *SIZES, *flags)
    profile = read_trace_profile(path)
    assert profile.batch_size == 10
    assert sum(family.operations["put"] for family in profile.families) == 3000
    assert [family.name for family in profile.families] == ["default", "id 1", "id 2"]


def test_sizes_of_values_are_those_that_were_drawn(installed: InstalledDbBench, tmp_path: Path):
    flags = (
        "--value_size_distribution_type=uniform", "--value_size_min=100", "--value_size_max=300",
    )  # fmt: skip
    path, _ = recorded(installed.program, tmp_path, "fillrandom", *SIZES, *flags)
    (family,) = read_trace_profile(path).families
    size = family.value_size
    assert (size.mean, size.p50, size.p99) == pytest.approx((200, 200, 298), rel=0.05)


@pytest.mark.parametrize("steepness", [2.0, 8.0])
def test_skew_of_reads_is_that_of_the_distribution(
    installed: InstalledDbBench, tmp_path: Path, steepness: float
):
    keys, reads = 3000, 20_000
    flags = (f"--reads={reads}", f"--read_random_exp_range={steepness}")
    path, _ = recorded(installed.program, tmp_path, "fillseq,readrandom", *SIZES, *flags)
    (family,) = read_trace_profile(path).families
    # db_bench draws the rank of a key as exp(-u * range) of all, and spreads ranks over keys.
    drawn = np.random.default_rng(1).random(reads)
    uses = sorted(Counter((np.exp(-drawn * steepness) * keys).astype(int)).values(), reverse=True)
    half = int(np.searchsorted(np.cumsum(uses), reads / 2)) + 1
    assert family.skew.reads == pytest.approx(half / len(uses), rel=0.1)
