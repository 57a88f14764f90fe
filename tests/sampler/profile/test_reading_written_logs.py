"""What is read of LOGs that were written for it: openings, shares of families, shared tickers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from sampler.common.errors import InputError
from sampler.profile.load import choose_load
from sampler.profile.profile import DatabaseProfile
from sampler.profile.reading import read_profile
from tests.support.sampler.written_dumps import Dump, Family
from tests.support.sampler.written_events import BEGIN, compaction, event, flush, table

HEADER = ("x RocksDB version: 7.8.3", *BEGIN)
Read = Callable[..., DatabaseProfile]
AT = "2026/01/01-00:{:02}:00.000000"


def dump(
    minute: int, *, gib: float = 1.0, families: tuple[Family, ...] = (Family(),)
) -> list[str]:
    at = AT.format(minute)
    return Dump(
        at=60.0 * minute, seconds=60.0, families=families, ingest=gib, marker=at
    ).text().splitlines()  # fmt: skip


def statistics(**tickers: float) -> list[str]:
    told = {name.replace("_", "."): int(count) for name, count in tickers.items()}
    return [
        "x STATISTICS:",
        *(f" rocksdb.{name} COUNT : {count}" for name, count in told.items()),
        "rocksdb.db.get.micros P50 : 5.0 P95 : 7.0 P99 : 9.0 P100 : 9.0 COUNT : 3 SUM : 15",
        "rocksdb.db.seek.micros P50 : 0.0 P95 : 0.0 P99 : 0.0 P100 : 0.0 COUNT : 0 SUM : 0",
    ]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def written(*parts: Iterable[str]) -> DatabaseProfile:
        lines = [line for part in parts for line in part]
        (tmp_path / "LOG").write_text("\n".join(lines) + "\n")
        return read_profile(tmp_path)

    return written


def test_tickers_make_the_mix_and_the_rates(read: Read) -> None:
    told = statistics(
        bytes_written=2**30, number_keys_written=800, number_keys_read=150, memtable_hit=20,
        l0_hit=40, number_db_seek=50, number_db_next=70, number_db_prev=30, write_self=300,
        write_other=100, write_wal=400, wal_synced=100, number_multiget_get=0,
    )  # fmt: skip
    profile = read(HEADER, flush(5, 100, 100), dump(1), told)
    (family,) = profile.families
    assert family.operations == {
        "put": 800, "delete": 0, "merge": 0, "get": 150, "seek": 50, "multiget": 0
    }  # fmt: skip
    assert family.sources["operations"].sure == "counted"
    assert (family.hit_rate, family.scan_length) == (60 / 150, 2.0)
    assert (profile.batch_size, profile.sync_share) == (2.0, 0.25)
    assert profile.ingest_rate == pytest.approx(2**30 / 60)
    assert profile.latency == {"get_p50": 5.0, "get_p99": 9.0}
    assert profile.operations["get"] == 150


def test_tickers_of_other_databases_are_left_out(read: Read) -> None:
    told = statistics(bytes_written=9 * 2**30, number_keys_written=800, number_keys_read=150)
    profile = read(HEADER, flush(5, 100, 100), dump(1), told)
    (family,) = profile.families
    assert family.operations == {"put": 704e6, "delete": 0, "merge": 0}  # Cumulative writes
    assert profile.latency == {}
    how = {each.what: each.how for each in profile.unknown}
    assert "its own statistics" in how["gets, seeks and multigets of column family 'default'"]


def test_families_share_what_was_written_by_their_memtables(read: Read) -> None:
    other = [line.replace("default", "b") for line in flush(6, 300, 300)]
    told = statistics(bytes_written=2**30, number_keys_written=800, number_keys_read=150)
    families = (Family(), Family(name="b"))
    profile = read(HEADER, flush(5, 100, 100), other, dump(1, families=families), told)
    first, second = profile.families
    assert (first.operations["put"], second.operations["put"]) == (200, 600)
    assert "get" not in first.operations
    assert profile.operations["get"] == 150  # of which family, nothing tells
    assert profile.hit_rate == 0.0 and profile.sources["operations"].sure == "counted"
    assert "gets, seeks and multigets by column family" in {e.what for e in profile.unknown}
    load = choose_load(profile, second, name="x")
    assert any(line.startswith("reads: 150 gets of all column") for line in load.not_expressed)
    assert first.waf == pytest.approx(100 / (2**30 / 4))


def test_an_empty_default_family_takes_no_operations(read: Read) -> None:
    only = [line.replace("default", "b") for line in flush(6, 300, 300)]
    told = statistics(bytes_written=2**30, number_keys_written=800, number_keys_read=150)
    named = [
        "x --------------- Options for column family [default]:",
        "x Options.compression: LZ4",
    ]
    profile = read(HEADER[:1], named, HEADER[1:], only, dump(1, families=()), told)
    default, other = profile.families
    assert (default.name, default.codec, default.operations) == (
        "default", "LZ4", {"put": 0, "delete": 0, "merge": 0}
    )  # fmt: skip
    assert other.operations["get"] == 150


def test_a_dump_before_nearly_everything_tells_too_little(read: Read) -> None:
    flushes = [line for number in range(5, 30) for line in flush(number, 100, 100)]
    told = statistics(bytes_written=2**30, number_keys_written=100, number_keys_read=9)
    profile = read(HEADER, flush(3, 100, 100), dump(1), told, flushes)
    assert profile.families[0].operations == {"put": 2_600, "delete": 0, "merge": 0}
    assert profile.batch_size is None


def test_the_newest_opening_that_did_something_is_taken(read: Read, tmp_path: Path) -> None:
    (tmp_path / "LOG.old.9").write_text("\n".join([*HEADER, *flush(5, 100, 100)]) + "\n")
    again = ["x RocksDB version: 7.8.3", "x SST files in db dir, Total Num: 1, files: 5.sst"]
    again += ["x Recovered from manifest file:db/MANIFEST-2"]
    (tmp_path / "LOG.old.10").write_text("\n".join([*again, *flush(8, 30, 30)]) + "\n")
    told: list[str] = []
    read(again)
    profile = read_profile(tmp_path, told=told.append)
    (family,) = profile.families
    assert told == [
        "Operations are from opening 2 of 3 in the LOG; all openings together flushed 130 writes."
    ]
    assert family.operations["put"] == 30
    assert (family.entries, family.key_size) == (130, 16)
    assert [(each.level, each.files) for each in family.levels] == [(0, 2)]


def test_deletes_and_merges_are_counted_by_memtables(read: Read) -> None:
    lines = [
        "x [default] [JOB 5] Flushing memtable",
        event("flush_started", job=5, num_entries=100, num_deletes=20),
        table(5, 100, 5, num_deletions=20, num_merge_operands=40),
        "x [default] Level-0 commit table #5: memtable #1 done",
    ]
    profile = read(HEADER, lines)
    (family,) = profile.families
    assert family.operations == {"put": 40, "delete": 20, "merge": 40}
    assert family.value_size.mean == 100 * 100 / 80
    # Nothing was dropped: whether the deletes hit keys that were there is not known.
    assert (family.overwrite_share, family.entries) == (None, 80)
    assert "deletes" in how(profile)["overwrite_share of column family 'default'"]


@pytest.mark.parametrize("told", [{"num_range_deletes": 20}, {}])  # newer versions tell it
def test_range_deletes_are_no_puts_and_hold_no_values(read: Read, told: dict[str, int]) -> None:
    """RocksDB counts them among entries and deletes, and their ends, 16 bytes, as values."""
    lines = [
        "x [default] [JOB 5] Flushing memtable",
        event("flush_started", job=5, num_entries=100, num_deletes=10, **told),
        table(5, 100, 5, num_deletions=30, num_range_deletions=20, raw_value_size=70 * 100 + 320),
        "x [default] Level-0 commit table #5: memtable #1 done",
    ]
    (family,) = read(HEADER, lines).families
    assert family.operations == {"put": 70, "delete": 30, "merge": 0}
    assert family.value_size.mean == 100


def how(profile: DatabaseProfile) -> dict[str, str]:
    return {each.what: each.how for each in profile.unknown}


def blob_flush(number: int, **memtable: int) -> list[str]:
    """100 puts of 16 B keys and 5,000 B values, in a blob file; as 9.8.4 and 7.8.3 write it."""
    index = table(number, 100, number, raw_value_size=700)
    return [
        f"x [default] [JOB {number}] Flushing memtable with next log file: 9",
        event("flush_started", job=number, num_entries=100, num_deletes=0, **memtable),
        event(
            "blob_file_creation", cf_name="default", job=number, file_number=number + 1,
            total_blob_count=100, total_blob_bytes=300_000, status="OK",
        ),
        f"x [default] [JOB {number}] Generated blob file #{number + 1}: 100 total blobs",
        index,
        f"x [default] Level-0 commit table #{number} (+1 blob files) started",
        f"x [default] Level-0 commit table #{number} (+1 blob files): memtable #1 done",
    ]  # fmt: skip


def test_values_in_blob_files_have_the_size_that_came_into_memtables(read: Read) -> None:
    data = 100 * (1 + 24 + 2 + 5_000)  # MemTable::Add: two lengths, the key with 8 bytes, a value
    flushes = [line for number in (5, 7) for line in blob_flush(number, total_data_size=data)]
    profile = read(HEADER, flushes)
    (family,) = profile.families
    assert (family.value_size.mean, family.value_size.p99) == (5_000, 5_000)
    assert family.operations["put"] == 200
    assert family.flushed_bytes == 2 * (300_000 + 100)
    assert family.waf == pytest.approx(2 * 300_100 / (2 * data))
    assert family.compression_ratio is None
    assert "blob files" in how(profile)["compression_ratio of column family 'default'"]
    packed = ["x Options for column family [default]:", "x Options.blob_compression_type: LZ4"]
    (family,) = read(HEADER[:1], packed, HEADER[1:], flushes).families
    # 300,000 / 100 - 32 - 16 of 5,000 bytes are left
    assert family.compression_ratio == pytest.approx(0.54, abs=0.03)


def test_values_in_blob_files_are_asked_for_where_memtables_do_not_tell_them(read: Read) -> None:
    profile = read(HEADER, blob_flush(5))
    assert profile.families[0].value_size.mean is None
    assert "blob files" in how(profile)["value size of column family 'default'"]


def renamed(lines: list[str], name: str, other: str) -> list[str]:
    return [line.replace(f'"{name}"', f'"{other}"') for line in lines]


def test_a_flush_that_counts_its_entries_under_the_name_of_10(read: Read) -> None:
    lines = renamed(flush(5, 100, 80), "num_entries", "total_num_input_entries")
    lines[2] = lines[2].replace("total_num_input_entries", "num_entries")
    profile = read(HEADER, lines)
    assert profile.families[0].operations["put"] == 100
    assert not [each for each in profile.unknown if "events have no" in each.what]


def test_events_of_an_unknown_version_are_said_and_count_as_nothing_known(read: Read) -> None:
    lines = renamed(flush(5, 100, 80), "num_entries", "entries")
    lines[2] = lines[2].replace('"entries"', '"num_entries"')
    profile = read(HEADER, lines, flush(7, 50, 50))
    words = "1 of 2 flush_started events have no number num_entries or total_num_input_entries"
    told = how(profile)
    assert f"what the LOG counts: {words}" in told
    (family,) = profile.families
    assert (family.operations, family.overwrite_share, family.entries) == ({}, None, None)
    for figure in ("operations", "overwrite_share", "entries"):
        assert words in told[f"{figure} of column family 'default'"]


def test_a_table_of_unknown_size_leaves_what_was_written_unknown(read: Read) -> None:
    profile = read(HEADER, renamed(flush(5, 100, 80), "file_size", "size"), flush(7, 50, 50))
    (family,) = profile.families
    assert (family.waf, family.flushed_bytes) == (None, None)
    assert (
        "table_file_creation events have no number file_size"
        in (how(profile)["waf of column family 'default'"])
    )


def test_range_deletes_are_no_puts_and_what_they_drop_is_no_overwrite(read: Read) -> None:
    lines = flush(5, 100, 100)
    lines[1] = event("flush_started", job=5, num_entries=100, num_deletes=0, num_range_deletes=30)
    profile = read(HEADER, lines)
    assert profile.families[0].operations == {"put": 70, "delete": 30, "merge": 0}
    assert "range deletes" in how(profile)["overwrite_share of column family 'default'"]


def test_what_a_filter_drops_is_no_overwrite(read: Read) -> None:
    named = [
        "x Options for column family [default]:",
        "x Options.compaction_filter: None",
        "x Options.compaction_filter_factory: TtlCompactionFilterFactory",
    ]
    lines = [*flush(5, 100, 100), *flush(6, 100, 100), *compaction(7, [5, 6], {8: 10})]
    profile = read(HEADER[:1], named, HEADER[1:], lines)
    assert "compaction filter" in how(profile)["overwrite_share of column family 'default'"]
    told = statistics(bytes_written=2**30, number_keys_written=200, compaction_key_drop_user=190)
    (family,) = read(HEADER[:1], named, HEADER[1:], lines, dump(1), told).families
    assert family.overwrite_share == pytest.approx(0.0, abs=0.01)
    assert family.entries == 10


def test_deletes_that_are_still_in_memory_are_told_by_the_bytes_of_all_batches(read: Read) -> None:
    """A put of a batch of its own takes 12 + 2 + 16 + 1 + 100 bytes, a delete 12 + 2 + 16."""
    told = statistics(
        bytes_written=160 * 131 + 90 * 30, number_keys_written=250, write_self=250, write_other=0
    )
    gib = (160 * 131 + 90 * 30) / 2**30
    (family,) = read(HEADER, flush(5, 100, 100), dump(1, gib=gib), told).families
    assert family.operations["put"] == pytest.approx(160, abs=1)
    assert family.operations["delete"] == pytest.approx(90, abs=1)


@pytest.mark.parametrize(
    ("flushed", "keys", "rest"), [((100, 100), 375, 125), ((150, 145), 900, None)]
)
def test_what_a_family_that_flushed_nothing_got(
    read: Read, flushed: tuple[int, int], keys: int, rest: float | None
) -> None:
    """Of 150 sequence numbers each: what the other's rate leaves, where that is sure enough."""
    begin = "x Recovered from manifest file:db/M-1 succeeded,last_sequence is 0, log_number is 0"
    lines = ["x RocksDB version: 9.8.4", BEGIN[0], begin]
    for number, (entries, largest) in enumerate(zip(flushed, (150, 300), strict=True), 5):
        made = json.loads(table(number, entries, number).partition("EVENT_LOG_v1 ")[2])
        made |= {"cf_name": "one", "smallest_seqno": largest - 149, "largest_seqno": largest}
        wrote = [line.replace("[default]", "[one]") for line in flush(number, entries, entries)]
        wrote[2] = f"x EVENT_LOG_v1 {json.dumps(made)}"
        lines += wrote
    told = statistics(number_keys_written=keys, write_self=keys, bytes_written=2**30)
    profile = read(lines, dump(1, families=(Family(), Family(name="one"))), told)
    kept, other = profile.family("default"), profile.family("one")
    assert other.operations["put"] == pytest.approx(sum(flushed) + flushed[1] * (keys - 300) / 150)
    assert kept.operations.get("put") == (None if rest is None else pytest.approx(rest))
    how = {each.what: each.how for each in profile.unknown}
    assert "call DB::Flush" in how["entries of column family 'default'"]
    if rest is None:
        assert "at most" in how["entries of column family 'default'"]
        with pytest.raises(InputError, match="'default': it flushed nothing: call DB::Flush"):
            choose_load(profile, kept, name="n")
