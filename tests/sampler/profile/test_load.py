"""The load that is chosen for a profile does what the profile tells."""

import math
import tomllib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampler.common.errors import InputError
from sampler.profile.load import ChosenLoad, choose_load, even_share, load_toml
from sampler.profile.load_shape import MOST_OPERATIONS
from sampler.profile.profile import DatabaseProfile, FamilyProfile, Skew, Source, ValueSize
from sampler.workload.db_bench_benchmarks import operations_of
from sampler.workload.workload_file import workload_from_document


def _family(**told: object) -> FamilyProfile:
    usual = {"name": "default", "key_size": 16.0, "value_size": ValueSize(400.0)}
    return FamilyProfile(**(usual | {"compression_ratio": 0.5} | told))


def _load(family: FamilyProfile, profile: DatabaseProfile | None = None) -> ChosenLoad:
    return choose_load(profile or DatabaseProfile(families=(family,)), family, name="mine")


def _did(load: ChosenLoad, benchmark: str) -> int:
    """Operations of a benchmark in all its runs."""
    workload = load.workload
    return sum(
        run.times * operations_of(run.benchmark, workload.num, dict(workload.flags))
        for run in workload.runs
        if run.benchmark.name == benchmark
    )


_counts = st.one_of(st.just(0.0), st.floats(1.0, 1e11))


class TestAnyProfile:
    @given(
        operations=st.fixed_dictionaries(
            dict.fromkeys(("put", "delete", "merge", "get", "seek", "multiget"), _counts)
        ),
        entries=st.one_of(st.none(), st.integers(0, 10**11)),
        overwritten=st.one_of(st.none(), st.floats(0, 1)),
        key=st.one_of(st.none(), st.floats(0.5, 4000)),
        value=st.one_of(st.none(), st.floats(0.0, 1e6)),
        p99=st.one_of(st.none(), st.floats(0.0, 1e7)),
        skew=st.one_of(st.none(), st.floats(0.0, 0.5)),
        batch=st.one_of(st.none(), st.floats(1, 5000)),
        buffer=st.one_of(st.none(), st.integers(1, 2**34)),
        name=st.text(max_size=20),
    )
    def test_becomes_a_workload_that_is_taken_or_one_clear_refusal(
        self, operations, entries, overwritten, key, value, p99, skew, batch, buffer, name
    ):
        family = _family(
            name=name, operations=operations, entries=entries, overwrite_share=overwritten,
            key_size=key, value_size=ValueSize(value, value, p99), skew=Skew(skew, skew),
        )  # fmt: skip
        profile = DatabaseProfile(families=(family,), batch_size=batch, seconds=10.0)
        if not sum(operations.values()):
            with pytest.raises(InputError, match="no operation"):
                choose_load(profile, family, name="x", write_buffer=buffer)
            return
        chosen = choose_load(profile, family, name="x", write_buffer=buffer)
        read = tomllib.loads(load_toml(chosen))
        assert workload_from_document(read) == chosen.workload
        assert chosen.workload.scale >= 1
        total = sum(
            run.times * operations_of(run.benchmark, chosen.workload.num, read["flags"])
            for run in chosen.workload.runs
        )
        assert 1 <= total <= 2.5 * MOST_OPERATIONS

    def test_tells_what_each_figure_is_made_of(self):
        sources = {"key_size": Source("LOG: 41 tables made by flushes", "counted")}
        text = load_toml(_load(_family(operations={"put": 1e6}, sources=sources)))
        assert "# LOG: 41 tables made by flushes (counted)\nkey_size = 16" in text
        assert "# assumed: not in the input\nvalue_size = 400" in text


class TestKeySpace:
    @pytest.mark.parametrize("share", [0.05, 0.368, 0.7, 0.95])
    def test_puts_find_their_key_as_often_as_in_the_database(self, share: float):
        puts = 4e6
        load = _load(_family(
            operations={"put": puts}, overwrite_share=share, entries=round(puts * (1 - share))
        ))  # fmt: skip
        workload = load.workload
        assert workload.benchmarks == ("fillrandom",)
        written = _did(load, "fillrandom")
        assert 1 - workload.distinct_keys(1) / written == pytest.approx(share, abs=0.002)

    def test_keys_that_were_there_before_are_filled_in_first(self):
        family = _family(
            operations={"put": 6e5}, overwrite_share=0.9, entries=6_000_000, keys_in=10**7
        )
        load = _load(family)
        prepare, workload = load.workload.prepare, load.workload
        assert prepare is not None and prepare.benchmarks == ("filluniquerandom",)
        assert prepare.num * workload.scale == pytest.approx(6e6 - 6e4, rel=0.001)
        assert workload.benchmarks == ("overwrite",)
        new = workload.distinct_keys(1) - prepare.num
        assert 1 - new / _did(load, "overwrite") == pytest.approx(0.9, abs=0.005)

    def test_in_order_where_compactions_read_next_to_nothing(self):
        told = {"operations": {"put": 1e6}, "overwrite_share": 0.0, "entries": 1_000_000}
        assert _load(_family(**told, keys_in=100)).workload.benchmarks == ("fillseq",)
        read = _load(_family(**told, keys_in=3 * 10**6)).workload
        assert read.benchmarks == ("filluniquerandom",)


class TestMixes:
    def test_gets_and_puts(self):
        load = _load(_family(
            operations={"put": 3e5, "get": 7e5}, overwrite_share=1.0, entries=200_000
        ))  # fmt: skip
        flags = dict(load.workload.flags)
        assert load.workload.benchmarks == ("readrandomwriterandom",)
        assert flags["readwritepercent"] == 70

    def test_scans_and_skewed_keys_are_those_of_mixgraph(self):
        operations = {"put": 2e5, "get": 5e5, "seek": 3e5}
        family = _family(
            operations=operations, overwrite_share=1.0, entries=200_000, scan_length=33.0,
            skew=Skew(reads=0.1),
        )  # fmt: skip
        load = _load(family)
        flags, num = dict(load.workload.flags), load.workload.num
        assert load.workload.benchmarks == ("mixgraph",)
        ratios = [flags[f"mix_{kind}_ratio"] for kind in ("get", "put", "seek")]
        assert ratios == pytest.approx([0.5, 0.2, 0.3])
        assert (flags["value_theta"], flags["iter_theta"]) == (400.0, 33.0)
        # A tenth of all keys takes half of the operations: F(x) = a x^b.
        a, b = float(flags["key_dist_a"]), float(flags["key_dist_b"])
        assert a * (0.1 * num) ** b == pytest.approx(0.5, rel=0.01)
        assert a * num**b == pytest.approx(1.0, rel=0.01)

    def test_a_database_that_was_filled_before_its_gets_is_filled_first(self):
        operations = {"put": 8e5, "get": 7e5}
        load = _load(_family(
            operations=operations, overwrite_share=3 / 8, entries=500_000, hit_rate=1.0
        ))  # fmt: skip
        workload = load.workload
        assert workload.benchmarks == ("filluniquerandom", "readrandomwriterandom")
        assert workload.measured == ("readrandomwriterandom",)
        scale = workload.scale
        assert _did(load, "filluniquerandom") * scale == pytest.approx(5e5, rel=0.01)
        assert _did(load, "readrandomwriterandom") * scale == pytest.approx(1e6, rel=0.01)
        assert dict(workload.flags)["readwritepercent"] == 70
        assert workload.distinct_keys(1) * scale == pytest.approx(5e5, rel=0.01)

    def test_deletes_run_in_rounds_beside_the_rest(self):
        operations = {"put": 6e5, "delete": 2e5, "get": 4e5, "seek": 1e5}
        load = _load(_family(operations=operations, overwrite_share=0.3, entries=250_000))
        puts = _did(load, "fillrandom") + _did(load, "overwrite")
        done = {name: _did(load, name) for name in ("deleterandom", "readrandom", "seekrandom")}
        shares = [each / (puts + sum(done.values())) for each in (puts, *done.values())]
        assert shares == pytest.approx([6 / 13, 2 / 13, 4 / 13, 1 / 13], abs=0.01)
        assert any("in 4 rounds" in line for line in load.not_expressed)

    def test_merges_that_are_most_are_merges(self):
        load = _load(_family(operations={"put": 10.0, "merge": 1e6}, entries=10**5))
        assert set(load.workload.benchmarks) == {"mergerandom"}
        assert dict(load.workload.flags)["merge_operator"] == "put"
        assert any("merge operator" in line for line in load.not_expressed)


class TestHowItWrites:
    def test_batches_sync_and_wal(self):
        family = _family(operations={"put": 1e6}, overwrite_share=0.5, entries=500_000)
        synced = DatabaseProfile(families=(family,), batch_size=9.6, sync_share=0.9)
        assert dict(_load(family, synced).workload.flags) | {"batch_size": 10, "sync": True} == (
            dict(_load(family, synced).workload.flags)
        )
        unlogged = DatabaseProfile(families=(family,), wal=False)
        assert dict(_load(family, unlogged).workload.flags)["disable_wal"] is True

    def test_values_of_different_sizes_are_as_wide_as_their_quantiles(self):
        size = ValueSize(mean=1000.0, p50=1000.0, p99=1000 + 2.326 * 100)
        family = _family(value_size=size, operations={"put": 1e6}, entries=10**6)
        flags = dict(_load(family).workload.flags)
        # db_bench's normal distribution has three deviations on each side of its mean.
        assert (flags["value_size_min"], flags["value_size_max"]) == (700, 1300)

    def test_other_families_and_the_pace_are_not_expressed(self):
        family, other = _family(operations={"put": 1e6}), _family(name="index")
        profile = DatabaseProfile(families=(family, other), ingest_rate=2.0**20)
        said = _load(family, profile).not_expressed
        assert any("index" in line for line in said)
        assert any("1 MiB/s" in line for line in said)


def test_the_scale_is_as_large_as_seconds_and_memtables_allow():
    family = _family(operations={"put": 1e9}, overwrite_share=0.0, entries=10**9)
    whole = DatabaseProfile(families=(family,))
    for buffer, least in ((64 * 2**20, 1024), (2**20, 16), (1, 1)):
        assert choose_load(whole, family, name="x", write_buffer=buffer).workload.scale == least
    small = _load(_family(operations={"put": 1e5}, entries=10**5)).workload
    assert small.scale == 1 and math.isclose(small.loaded_bytes(), 1e5 * 416, rel_tol=0.01)


@pytest.mark.parametrize("draws", [2_000, 10_000, 100_000, 1_000_000])
def test_keys_that_are_drawn_alike_are_not_taken_for_skewed(draws: int):
    drawn = np.bincount(np.random.default_rng(1).integers(0, 10_000, draws))
    counts = np.sort(drawn[drawn > 0])[::-1]
    half = np.searchsorted(np.cumsum(counts), draws / 2) / len(counts)
    assert even_share(draws / len(counts)) == pytest.approx(half, rel=0.03)
    skew = Skew(reads=float(half), reads_per_key=draws / len(counts))
    family = _family(operations={"put": 1e5, "get": 2e5}, entries=10_000, skew=skew)
    assert _load(family).workload.benchmarks == ("readrandomwriterandom",)


def test_so_many_small_entries_are_scaled_and_not_cut():
    family = _family(
        operations={"put": 3.5e6}, overwrite_share=0.0, entries=3_500_000,
        value_size=ValueSize(32.0),
    )  # fmt: skip
    load = _load(family)
    assert load.workload.scale == 4
    assert _did(load, "filluniquerandom") == pytest.approx(3.5e6 / 4, rel=0.001)
    assert not any("the duration" in line for line in load.not_expressed)


@pytest.mark.parametrize("before", [None, 6_000_000])
def test_puts_beside_many_gets_are_not_lost(before: int | None):
    told = {"entries": before, "overwrite_share": 0.9} if before else {}
    load = _load(_family(operations={"put": 1e6, "get": 1e9}, **told))
    flags = dict(load.workload.flags)
    assert load.workload.benchmarks[-1] == "mixgraph"
    assert flags["mix_put_ratio"] == pytest.approx(0.001, abs=0.0002)


def test_scans_are_as_long_and_gets_beside_them_stay():
    scans = _load(_family(operations={"seek": 1e6}, entries=10**6, scan_length=50.0)).workload
    assert scans.benchmarks == ("seekrandom",)
    assert dict(scans.flags)["seek_nexts"] == 50
    both = _load(_family(operations={"seek": 6e6, "get": 5e6}, entries=10**6)).workload
    assert dict(both.flags)["mix_get_ratio"] == pytest.approx(5 / 11, abs=0.001)
