"""LOGs that people published: each figure is the one that stands in the file, or is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from sampler.common.errors import InputError
from sampler.profile.profile import DatabaseProfile, FamilyProfile, Level, profile_document
from sampler.profile.reading import read_profile

CASES = Path(__file__).parents[2] / "data" / "cases"
GIB, MIB, KIB = 2**30, 2**20, 2**10


def read(name: str) -> DatabaseProfile:
    return read_profile(CASES / name)


def asked(profile: DatabaseProfile) -> set[str]:
    return {each.what for each in profile.unknown}


def of(figure: str, family: str = "default") -> str:
    return f"{figure} of column family {family!r}"


def nothing_but_name(family: FamilyProfile) -> bool:
    return (family.key_size, family.value_size.mean, family.compression_ratio) == (None,) * 3


def test_tables_of_two_families_and_a_dump_of_four_seconds() -> None:
    profile = read("20-log-parser-samples/LOG_sample")
    assert [each.name for each in profile.families] == [
        "default",
        "_sample/CF_1",
        "_sample/CF-2",
        "",
    ]
    default, empty = profile.family("default"), profile.family("")
    # Two tables of a compaction: raw_key_size 18974616, raw_value_size 50598976, 790609 entries.
    assert (default.key_size, default.value_size.mean) == (16.0, 64.0)
    assert (default.table_bytes, default.table_entries) == ((68429052 + 68427627) / 2, 790609)
    assert default.codec == "NoCompression"
    assert of("compression_ratio") in asked(profile)
    assert default.levels[0] == Level(0, 1, round(149.99 * MIB), 1.0)
    assert default.levels[4] == Level(4, 1022, round(54.33 * GIB), 0.0)
    assert (default.keys_in, default.keys_dropped) == (0, 0)
    assert of("overwrite_share") in asked(profile)  # 1499 tables, of which the LOG tells two
    # One table of a flush: raw_key_size 64085048, raw_value_size 232076, 116038 entries.
    assert empty.key_size == pytest.approx(64085048 / 116038 - 8)
    assert empty.value_size.mean == 2.0
    assert (empty.codec, empty.flushed_bytes) == ("Snappy", 35826404)
    assert empty.levels == (Level(0, 1, 35826404),)
    assert nothing_but_name(profile.family("_sample/CF_1"))
    assert profile.family("_sample/CF-2").codec == "Snappy"
    assert (profile.seconds, profile.stall_percent) == (4.8, 98.7)
    assert (profile.batch_size, profile.wal, profile.latency) == (None, None, {})


def test_the_same_with_one_family() -> None:
    profile = read("20-log-parser-samples/LOG_sample_stats.txt")
    (family,) = profile.families
    assert (family.key_size, family.value_size.mean) == (16.0, 64.0)
    assert [each.files for each in family.levels] == [1, 5, 50, 421, 1022]
    assert family.operations == dict.fromkeys(
        ("put", "delete", "merge", "get", "seek", "multiget"), 0.0
    )
    # 82.43 GB of tables, of which one with 790609 entries takes 68428339.5 bytes
    assert family.entries == pytest.approx(82.43 * GIB / (68428339.5 / 790609), rel=0.01)


def test_one_that_is_cut_before_its_dumps() -> None:
    profile = read("20-log-parser-samples/LOG_sample-bad.txt")
    assert profile.family("").operations == {"put": 116038.0, "delete": 0.0, "merge": 0.0}
    assert profile.seconds == pytest.approx(0.573241)  # from the first event to the last
    assert "rates, batch size, syncs and stalls" in asked(profile)


@pytest.mark.parametrize("version", ["6.26.0", "7.8.3", "8.8.1"])
def test_databases_that_hold_nothing(version: str) -> None:
    profile = read(f"20-log-parser-samples/LOG-rocksdb-{version}")
    (family,) = profile.families
    assert profile.version == version
    assert (family.codec, family.entries, family.flushed_bytes) == ("Snappy", 0, 0)
    assert nothing_but_name(family)
    assert not sum(family.operations.values())
    assert {"options", "skew of reads and writes", of("key and value size")} <= asked(profile)


def test_tables_from_before_the_log_are_not_guessed() -> None:
    profile = read("20-log-parser-samples/LOG-rocksdb-6.0.1")
    (family,) = profile.families
    assert profile.version == "6.0.1"
    assert family.levels == (Level(0, 2, round(1.69 * KIB), 0.0),)
    assert family.entries is None
    assert {of("entries"), of("overwrite_share")} <= asked(profile)


def test_two_families_of_a_graph_store() -> None:
    profile = read("22-basalt-two-families-5.x/LOG")
    default, connections = profile.families
    assert (profile.seconds, profile.stall_percent) == (2088.1, 40.9)
    assert profile.batch_size == 704_591_684 / 24_000  # rocksdb.number.keys.written
    assert (profile.sync_share, profile.wal) == (0.0, True)
    assert profile.ingest_rate == pytest.approx(17380008442 / 2088.1)  # rocksdb.bytes.written
    assert profile.ingest_peak == pytest.approx(4.71 * MIB)
    assert default.levels == (
        Level(0, 5, round(174.83 * MIB), 1.0), Level(1, 5, round(648.20 * MIB), 1.9)
    )  # fmt: skip
    assert (default.keys_in, default.keys_dropped) == (1_081_000_000, 8_794_000)
    assert (connections.keys_in, connections.keys_dropped) == (3_386_000_000, 0)
    assert connections.flushed_bytes == round(6.228 * GIB)
    came_in = 17380008442 / GIB  # of both, in the shares of what was flushed
    assert default.waf == pytest.approx(6.25 / (came_in * 2.251 / 8.479))
    assert connections.waf == pytest.approx(39.41 / (came_in * 6.228 / 8.479))
    assert of("operations", "connections") in asked(profile)
    assert profile.busiest() == "connections"


def test_its_older_release() -> None:
    profile = read("22-basalt-two-families-5.x/LOG-3.x")
    default, connections = profile.families
    assert profile.seconds == 12.2
    assert [(each.level, each.files) for each in default.levels] == [(0, 5), (1, 10)]
    assert connections.flushed_bytes == round(0.012 * GIB)
    assert default.waf is None  # 0.00 GB came in


def test_the_newer_of_two_runs_of_db_bench_is_taken() -> None:
    profile = read("25-db_bench-two-runs-8.9/db_bench.log")
    (family,) = profile.families
    assert (profile.version, profile.seconds) == ("8.9.2", 80.2)
    assert profile.batch_size == 1.0
    assert family.operations["put"] == 4_000_000
    assert family.waf == pytest.approx(2.92 / 3.10)
    assert family.flushed_bytes == round(2.917 * GIB)
    profile = read("40-made-from-the-failures/two-runs-appended.log")
    assert profile.seconds == 4.0
    assert (profile.families[0].keys_in, profile.families[0].keys_dropped) == (366_000, 30_000)
    assert profile.families[0].waf == pytest.approx(0.27 / 0.15)


def test_families_that_a_dump_leaves_out() -> None:
    profile = read("40-made-from-the-failures/partial-families.LOG")
    assert [each.name for each in profile.families] == ["default", "connections"]
    assert profile.seconds == 1200.0
    for family in profile.families:
        assert (family.flushed_bytes, family.waf) == (None, None)
        assert of("waf", family.name) in asked(profile)


def test_folders_of_log_and_options() -> None:
    kafka = read("01-kafka-streams-6.8-options")
    assert kafka.version == "6.8.1"
    assert "rocksdb_version=6.8.1" in (kafka.options or "")
    assert kafka.families[0].entries == 0
    study = read("05-study-5.17-options")
    (family,) = study.families
    # One table: raw_key_size 9, raw_value_size 7, one entry, file_size 674.
    assert (family.key_size, family.value_size.mean, family.entries) == (1.0, 7.0, 1)
    # A recovery flushed it: how often its key was written the LOG does not tell.
    assert (family.table_bytes, family.overwrite_share) == (674, None)
    assert family.levels == (Level(0, 1, 674),)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("04-ardb-custom-comparator-5.14/OPTIONS", "is an OPTIONS file; give the LOG"),
        ("04-ardb-custom-comparator-5.14", "has no LOG"),
        ("08-llm-tuner-inputs/kvrocks_default_options.ini", "is an OPTIONS file; give the LOG"),
        ("30-db_bench-command-lines/commands.txt", "is not a RocksDB LOG"),
    ],
)
def test_what_is_no_log_is_refused(name: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read(name)


def test_the_document_names_sources_and_how_to_learn_the_rest() -> None:
    document = profile_document(read("22-basalt-two-families-5.x/LOG"))
    family = document["families"][1]
    assert family["operations"] == dict.fromkeys(family["operations"])
    assert family["sources"]["waf"]["sure"] == "estimated"
    assert all(each["how to learn it"] for each in document["unknown"])
