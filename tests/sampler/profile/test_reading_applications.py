"""LOGs of applications whose truth is known: a figure is near it, or is told to be unknown."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from sampler.profile.profile import DatabaseProfile, FamilyProfile
from sampler.profile.reading import read_profile

DATA = Path(__file__).parents[2] / "data"
CASES = DATA / "cases"
Read = Callable[[Path], DatabaseProfile]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def unpacked(path: Path) -> DatabaseProfile:
        (tmp_path / "LOG").write_bytes(gzip.decompress(path.read_bytes()))
        return read_profile(tmp_path)

    return unpacked


def why(profile: DatabaseProfile, figure: str, family: str = "default") -> str:
    how = {each.what: each.how for each in profile.unknown}
    return how.get(f"{figure} of column family {family!r}", "")


def only(profile: DatabaseProfile) -> FamilyProfile:
    (family,) = profile.families
    return family


@pytest.mark.parametrize(
    ("name", "puts", "share", "live", "word"),
    [
        # Each key was written once; the TTL removed them all.
        ("ttl-stats", 100_000, 0.0, 0, ""),
        ("ttl-plain", 100_000, None, None, "compaction filter"),
        # Each key was put once, and deleted 500 puts later.
        ("queue-stats", 150_000, None, None, "deletes"),
        ("queue-plain", 150_000, None, None, "deletes"),
        ("single-db_bench", 60_000, None, None, "single deletes"),
        ("ranges-stats", 100_000, None, None, "range deletes"),
        ("fifo-plain", 100_000, None, None, "FIFO"),
        # The program counted 83.375% and 60.568%, 19,950 and 13,963 keys.
        ("overwrite-plain", 120_000, 0.83375, 19_950, ""),
        ("deletes-stats", 105_000, 0.60568, 13_963, ""),
    ],
)
def test_what_rocksdb_drops_is_only_overwritten_where_that_is_known(
    read: Read, name: str, puts: int, share: float | None, live: int | None, word: str
) -> None:
    profile = read(DATA / "applications" / f"{name}.LOG.gz")
    family = only(profile)
    assert family.operations["put"] == pytest.approx(puts, rel=0.001)
    if share is None:
        assert (family.overwrite_share, family.entries) == (None, live)
        assert word in why(profile, "overwrite_share")
    else:
        assert family.overwrite_share == pytest.approx(share, abs=0.01)
        assert family.entries == pytest.approx(live, rel=0.02)


@pytest.mark.parametrize("version", ["7.8.3", "9.10.0"])
def test_families_with_blob_files(read: Read, version: str) -> None:
    """12,000 puts of 4 KiB to 3,000 keys in each of two families; ratio 0.4, LZ4."""
    profile = read(DATA / "applications" / f"blob-{version}.LOG.gz")
    assert profile.version == version
    assert len(profile.families) == 2
    for family in profile.families:
        assert family.operations["put"] == pytest.approx(6_000, rel=0.01)
        assert (family.key_size, family.value_size.mean, family.value_size.p99) == (16, 4096, 4096)
        assert family.compression_ratio == pytest.approx(0.4, rel=0.05)
        assert family.overwrite_share == pytest.approx(1 - (1 - 0.1353) / 2, abs=0.02)
        assert family.entries == pytest.approx(3_000 * (1 - 0.1353), rel=0.03)


def test_a_cache_of_few_hot_keys_under_10_9(tmp_path: Path) -> None:
    """Its flushes count their entries under a name of 10.x: 3,450,373 puts, all overwrites."""
    folder = CASES / "45-redis-cache-10.9.1-folder"
    profile = read_profile(folder)
    family = only(profile)
    assert family.operations == {"put": 3_450_373, "delete": 0, "merge": 0}
    assert family.overwrite_share == pytest.approx(1.0, abs=0.001)
    assert family.entries == 89_066
    assert family.waf == pytest.approx(0.0745, rel=0.01)  # 35,194,348 / 472,320,244
    assert family.value_size.mean == 112
    # The newest LOG alone: from its first compaction on all tables are known.
    shutil.copy(folder / "LOG", tmp_path)
    family = only(read_profile(tmp_path))
    assert (family.operations["put"], family.entries) == (3_450_373, 89_066)
    assert family.overwrite_share == pytest.approx(1.0, abs=0.001)
    # Two flushes without the rest: 22,000 entries are left, so 97.4% to 100% overwrite.
    family = only(read_profile(folder / "smallest.LOG"))
    assert family.operations["put"] == 432_249 + 430_360
    assert family.overwrite_share == pytest.approx(0.987, abs=0.015)


@pytest.mark.parametrize("name", ["", "smallest.LOG"])
def test_tables_that_come_of_recoveries_alone(name: str) -> None:
    """15,000 puts to 5,000 keys: what a recovery dropped is not told, so no share is 0."""
    profile = read_profile(CASES / "46-database-benchmark-10.4.2-folder" / name)
    family = only(profile)
    assert (family.overwrite_share, family.entries) == (None, None)
    if not name:  # two of its events are cut off in the other
        assert family.operations["put"] == 10_000
        assert "recovery" in why(profile, "overwrite_share")


def test_sequence_numbers_tell_how_much_a_recovery_flushed() -> None:
    told: list[str] = []
    folder = CASES / "46-database-benchmark-10.4.2-folder"
    read_profile(folder, told=told.append)
    assert told == [
        "Operations are from opening 2 of 3 in the LOG; all openings together flushed 15,000 "
        "writes."
    ]


@pytest.mark.slow
def test_five_families_of_which_one_has_blobs(read: Read) -> None:
    folder = CASES / "69-five-families-with-blobs"
    truth = json.loads((folder / "truth.json").read_text())["truth"]
    profile = read(folder / "LOG.gz")
    events, index, blobs, counters = map(profile.family, ("events", "index", "blobs", "counters"))
    # Sequence numbers tell what is in memory; `default` flushed nothing, and has the rest.
    for family in profile.families:
        for kind in ("put", "delete"):
            counted = truth.get(f"{family.name}.{kind}", 0)
            assert family.operations[kind] == pytest.approx(counted, rel=0.005)
    assert 0.93 <= (events.waf or 0) <= 0.95
    assert (events.overwrite_share, events.key_size) == (pytest.approx(0, abs=0.01), 18)
    did = index.operations
    of_deletes = truth["index.delete"] / (truth["index.delete"] + truth["index.put"])
    assert did["delete"] / (did["put"] + did["delete"]) == pytest.approx(of_deletes, abs=0.001)
    assert blobs.value_size.mean == 16_384
    # It deletes keys that are there, once each: not by chance, so neither is told.
    assert (index.overwrite_share, index.entries) == (None, None)
    assert "deletes" in why(profile, "overwrite_share", "index")
    # Reads are the database's; the last dump is some seconds older than the count.
    gets = sum(n for what, n in truth.items() if what.endswith(".get"))
    assert profile.operations["get"] == pytest.approx(gets, rel=0.01)
    scans = truth["events.scan"] + truth["index.scan"]
    assert profile.operations["seek"] == pytest.approx(scans, rel=0.01)
    assert not {"get", "seek"} & events.operations.keys()
    assert "gets, seeks and multigets by column family" in {each.what for each in profile.unknown}
    # Values of 8 and 32 B, of which LZ4 cannot make what their tables come to.
    assert (index.compression_ratio, counters.compression_ratio) == (None, None)
    assert 0 < index.doubted["compression_ratio"] < 3 / 8
    # 500 keys, all in memory: not 0.
    default = profile.family("default")
    assert (default.entries, default.value_size.mean) == (None, pytest.approx(93, abs=1))
    assert default.sources["value_size"].sure == "assumed"
    assert "41,083 writes; it flushed nothing: call DB::Flush" in why(profile, "entries")
