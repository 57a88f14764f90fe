"""What db_bench was told to do is what its LOG and OPTIONS are read to say."""

from __future__ import annotations

import math
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sampler.profile.profile import DatabaseProfile
from sampler.profile.reading import read_profile
from tests.support.sampler.real_databases import fill, fingerprints

pytestmark = [pytest.mark.db_bench, pytest.mark.slow]
_DRAWN = 1 - math.exp(-1)  # of so many keys, that as many draws leave
Fill = Callable[..., DatabaseProfile]


@pytest.fixture
def filled(tmp_path: Path) -> Fill:
    """Fills a database, once or in several processes, and reads it."""

    def run(*processes: str, **flags: object) -> DatabaseProfile:
        for number, benchmarks in enumerate(processes):
            again = {"use_existing_db": 1, "seed": 1 + number} if number else {}
            fill(tmp_path / "db", benchmarks, **again, **flags)
        return read_profile(tmp_path / "db")

    return run


@pytest.mark.parametrize(
    ("key_size", "value_size", "codec", "ratio"),
    [(16, 100, "snappy", 0.5), (24, 400, "lz4", 0.25), (32, 1000, "zstd", 0.75),
     (20, 200, "zlib", 0.9), (20, 300, "lz4", 1.0)],
)  # fmt: skip
def test_sizes_and_compressibility(
    filled: Fill, key_size: int, value_size: int, codec: str, ratio: float
) -> None:
    profile = filled(
        "fillrandom", num=4_000_000 // value_size, key_size=key_size, value_size=value_size,
        compression_type=codec, compression_ratio=ratio,
    )  # fmt: skip
    family = profile.family("default")
    assert family.key_size == key_size
    size = family.value_size
    assert (size.mean, size.p50, size.p99) == (value_size, value_size, value_size)
    assert profile.version
    assert family.compression_ratio == pytest.approx(ratio, rel=0.05)
    assert (family.codec or "").lower() == codec
    assert family.sources["key_size"].where.endswith("tables made by flushes")
    assert profile.options
    assert "[DBOptions]" in profile.options


def test_values_that_were_written_in_order_go_on_from_each_other(filled: Fill) -> None:
    """Of pieces of 100 bytes, so one of 120 repeats what its neighbour in the table began."""
    profile = filled("fillseq", num=50_000, value_size=120, compression_type="lz4")
    assert profile.family("default").compression_ratio == pytest.approx(0.5, rel=0.05)


def test_different_sizes_without_statistics(filled: Fill) -> None:
    profile = filled(
        "fillrandom", num=100_000, value_size_distribution_type="uniform", value_size_min=50,
        value_size_max=150, compression_type="lz4", write_buffer_size=2**18, statistics=0,
    )  # fmt: skip
    family = profile.family("default")
    assert family.value_size.mean == pytest.approx(100, rel=0.01)
    # By the means of some 60 tables; that of these sizes is 28.9.
    assert family.value_size.deviation == pytest.approx(28.9, rel=0.3)
    assert family.compression_ratio == pytest.approx(0.5, rel=0.05)


@pytest.mark.parametrize(
    ("processes", "share"),
    [
        (["fillseq"], 0.0),
        (["filluniquerandom"], 0.0),
        (["fillrandom"], 1 - _DRAWN),
        (["fillseq,overwrite"], 0.5),
        (["filluniquerandom", "overwrite"], 1.0),  # the second process is asked
        (["fillrandom,updaterandom"], 1 - (1 - math.exp(-2)) / 2),
        (["fillrandom,deleterandom"], 1 - _DRAWN),
        (["fillrandom", "overwrite,compact"], 1 - math.exp(-1) * _DRAWN),
    ],
)
def test_overwrites(filled: Fill, processes: list[str], share: float) -> None:
    # On a slow machine the first dump of statistics would fall into the run, before the deletes.
    flags = {"num": 60_000, "value_size": 150, "stats_dump_period_sec": 0}
    family = filled(*processes, **flags).family("default")
    assert family.overwrite_share == pytest.approx(share, abs=0.05)
    assert family.sources["overwrite_share"].sure == "estimated"


def test_the_mix_hit_rate_and_scans_with_statistics(tmp_path: Path) -> None:
    folder = fill(tmp_path / "db", "fillrandom", num=50_000, value_size=100)
    fill(  # of ten times the keys: however fast the machine is, most gets find none
        folder, "readrandomwriterandom,seekrandom", use_existing_db=1, num=500_000, value_size=100,
        seed=2, readwritepercent=75, seek_nexts=7, duration=3, stats_dump_period_sec=1,
    )  # fmt: skip
    profile = read_profile(folder)
    family = profile.family("default")
    did = family.operations
    assert did["put"] / (did["put"] + did["get"]) == pytest.approx(0.25, abs=0.01)
    assert 0.9 * _DRAWN / 10 < (family.hit_rate or 0) < 0.9  # the writes add keys
    assert family.scan_length == pytest.approx(7, rel=0.01)
    assert profile.batch_size == pytest.approx(1, abs=0.01)
    assert profile.wal is True
    assert profile.sync_share == 0.0
    assert profile.latency["get_p99"] > profile.latency["get_p50"] > 0
    assert profile.seconds is not None
    assert profile.seconds >= 2
    assert (profile.ingest_peak or 0) >= 0.9 * (profile.ingest_rate or 0) > 0


def test_without_statistics_reads_are_asked_for_and_writes_are_known(filled: Fill) -> None:
    profile = filled("fillrandom,readrandom", num=30_000, statistics=0, value_size=150)
    family = profile.family("default")
    assert family.operations["put"] == pytest.approx(30_000, rel=0.2)  # what was flushed
    assert "get" not in family.operations
    how = {each.what: each.how for each in profile.unknown}
    assert "stats_dump_period_sec" in how["gets, seeks and multigets of column family 'default'"]


def test_families_are_told_apart(filled: Fill) -> None:
    profile = filled("fillrandom,flush", num=60_000, num_column_families=3, value_size=150)
    names = ["default", "column_family_name_000001", "column_family_name_000002"]
    assert [each.name for each in profile.families] == names
    for family in profile.families:
        assert family.key_size == 16
        assert family.value_size.mean == 150
        assert family.operations["put"] == pytest.approx(20_000, rel=0.05)
        assert family.overwrite_share == pytest.approx(1 - _DRAWN, abs=0.08)


def test_levels_are_those_of_the_folder(tmp_path: Path) -> None:
    folder = fill(tmp_path / "db", "fillrandom,waitforcompaction", num=60_000, value_size=150)
    levels = read_profile(folder).families[0].levels
    tables = [path.stat().st_size for path in folder.glob("*.sst")]
    assert sum(level.files for level in levels) == len(tables)
    assert sum(level.bytes for level in levels) == sum(tables)


def test_nothing_is_written_and_an_open_database_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "db"
    holder = subprocess.Popen(
        ["db_bench", f"--db={folder}", "--benchmarks=fillrandom,readrandom", "--num=30000",
         "--reads=100000000", "--write_buffer_size=1000000", "--value_size=150"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        until = time.monotonic() + 60
        while len(list(folder.glob("*.sst"))) < 2 and time.monotonic() < until:
            time.sleep(0.05)
        assert holder.poll() is None
        assert read_profile(folder).version
    finally:
        holder.kill()
        holder.wait()
    before = fingerprints(folder)
    assert read_profile(folder).family("default").key_size == 16
    assert fingerprints(folder) == before
    folder.chmod(0o555)
    assert read_profile(folder).family("default").key_size == 16
