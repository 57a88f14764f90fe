"""Dumps of RocksDB 2.x and 3.x, in the formats of their db/internal_stats.cc."""

import pytest

from sampler.rocksdb.figure_lines import as_document, header_columns, level_row
from sampler.rocksdb.opening import Opening
from tests.support.sampler.read_openings import parse_openings

TWO = """2014/03/01-10:01:40.000000 7f00aa ------- DUMPING STATS -------
2014/03/01-10:01:40.000001 7f00aa
                               Compactions
Level  Files Size(MB) Score Time(sec)  Read(MB) Write(MB)    Rn(MB)  Rnp1(MB)  Wnew(MB) RW-Amplify\
 Read(MB/s) Write(MB/s)      Rn     Rnp1     Wnp1     NewW    Count  msComp   msStall  Ln-stall\
 Stall-cnt
--------------------------------------------------------------------------------------------------
  0        2       10   0.5         3         0      1536         0         0      1536        0.0\
       0.0       512.0        0        0        0        0      100      29       0.3       5.0\
        16
  1        7      700   0.9        30      3072      3072      1536      1536      1536        4.0\
     102.4       102.4       20       20       40       20       10    2700       0.0       0.0\
         0
Uptime(secs): 100.0 total, 60.0 interval
Writes cumulative: 123456 total, 100000 batches, 1.2 per batch, 1.50 ingest GB
WAL cumulative: 123456 WAL writes, 0 WAL syncs, 123456.00 writes per sync, 1.50 GB written
Compaction IO cumulative (GB): 1.50 new, 3.00 read, 4.50 write, 7.50 read+write
Compaction IO cumulative (MB/sec): 15.4 new, 30.7 read, 46.1 write, 76.8 read+write
Amplification cumulative: 4.0 write, 6.0 compaction
Writes interval: 60000 total, 50000 batches, 1.2 per batch, 600.0 ingest MB
WAL interval: 60000 WAL writes, 0 WAL syncs, 60000.00 writes per sync, 0.59 MB written
Compaction IO interval (MB): 600.00 new, 1200.00 read, 1800.00 write, 3000.00 read+write
Compaction IO interval (MB/sec): 10.0 new, 20.0 read, 30.0 write, 50.0 read+write
Amplification interval: 3.0 write, 5.0 compaction
Stalls(secs): 1.500 level0_slowdown, 0.500 level0_numfiles, 3.000 memtable_compaction, 0.000\
 leveln_slowdown
Stalls(count): 12 level0_slowdown, 1 level0_numfiles, 3 memtable_compaction, 0 leveln_slowdown
"""

THREE_TABLE = """** Compaction Stats [{name}] **
Level Files Size(MB) Score Read(GB)  Rn(GB) Rnp1(GB) Write(GB) Wnew(GB) RW-Amp W-Amp Rd(MB/s)\
 Wr(MB/s)  Rn(cnt) Rnp1(cnt) Wnp1(cnt) Wnew(cnt)  Comp(sec) Comp(cnt) Avg(sec) Stall(sec)\
 Stall(cnt)  Avg(ms)
--------------------------------------------------------------------------------------------------
  L0    2/1        30   0.5      0.0     0.0      0.0       1.2      1.2    0.0   0.0      0.0\
     30.0         0         0         0         0         40       100    0.400     2.00       16\
   125.00
 Sum    9/1       730   0.0      2.0     1.0      1.0       3.7      1.7    4.8   3.1     20.0\
     37.0        20        20        40        20        100       110    0.909     2.00       16\
   125.00
 Int    0/0         0   0.0      1.0     0.5      0.5       1.5      0.5    0.0   3.0     20.0\
     30.0        10        10        20        10         50        50    1.000     1.00        8\
   125.00
Flush(GB): accumulative 1.234, interval 0.500
Stalls(secs): 2.000 level0_slowdown, 0.000 level0_numfiles, 0.000 memtable_compaction, 0.000\
 leveln_slowdown_soft, 0.000 leveln_slowdown_hard
Stalls(count): 16 level0_slowdown, 0 level0_numfiles, 0 memtable_compaction, 2\
 leveln_slowdown_soft, 0 leveln_slowdown_hard

"""
THREE_DATABASE = """** DB Stats **
Uptime(secs): {at:.1f} total, 50.0 interval
Cumulative writes: 1288457 writes, 14173030 keys, 357293 batches, 3.6 writes per batch, 2.50 GB\
 user ingest, stall micros: 2000000
Cumulative WAL: 1251702 writes, 357293 syncs, 3.50 writes per sync, 2.50 GB written
Interval writes: 36219 writes, 398413 keys, 10136 batches, 3.6 writes per batch, 1000.0 MB user\
 ingest, stall micros: 1000000
Interval WAL: 35110 writes, 10136 syncs, 3.46 writes per sync, 0.98 MB written
"""


def only(text: str) -> Opening:
    (opening,) = parse_openings(text)
    return opening


def test_rocksdb_2_tells_totals_rates_levels_and_stalls() -> None:
    opening = only(TWO)
    (interval,) = opening.intervals
    assert (interval.at, interval.seconds) == (100.0, 60.0)
    assert (interval.ingested_gib, interval.compacted_gib) == (1.5, 4.5)
    assert (interval.compaction, interval.compaction_read) == (30.0, 20.0)
    assert (interval.cumulative_compaction, interval.cumulative_writes) == (46.1, 15.36)
    assert interval.writes == 10.0  # 600 MB in 60 s
    assert interval.cumulative_stall_percent == 5.0  # 1.5 + 0.5 + 3 of 100 s
    assert as_document(opening.stalls) == {
        "l0_files": {"delays": 12, "stops": 1},
        "memtables": {"stops": 3},
        "level_score": {"delays": 0},
    }
    (family,) = opening.families
    first, second = family.levels
    assert (first["level"], first["files"], first["write_gib"]) == ("L0", 2, 1.5)
    assert (second["read_gib"], second["compactions"], second["stalls"]) == (3.0, 10, 0)
    assert opening.database["total_writes_count"] == "123456"


def test_a_table_without_a_heading_is_of_the_default_family() -> None:
    table = (
        "Level Files Size(MB) Score Read(GB) Write(GB) Stall(cnt)\n"
        "  L0     2       10   0.5      0.0       1.5         16\n"
        " Sum     9      710   0.0      3.0       4.5         16\n\n"
    )
    opening = only(table + TWO[TWO.index("Uptime") :])
    (family,) = opening.families
    assert (family.family, family.figures["total_compaction_write_gib"]) == ("default", 4.5)
    assert [(row["level"], row["files"], row["stalls"]) for row in family.levels] == [
        ("L0", 2, 16), ("Sum", 9, 16)
    ]  # fmt: skip
    assert opening.intervals[0].ingested_gib == 1.5


def test_db_bench_of_rocksdb_2_run_twice() -> None:
    one = TWO[TWO.index("                               Compactions") :]
    assert len(parse_openings(one + one.replace("100.0 total, 60.0", "90.0 total, 80.0"))) == 2


def test_two_dumps_of_rocksdb_2_are_one_opening() -> None:
    later = TWO.replace("10:01:40", "10:02:40").replace("100.0 total", "160.0 total")
    assert [each.at for each in only(TWO + later).intervals] == [100.0, 160.0]


def test_rocksdb_3_1_has_its_clock_last_and_totals_in_the_tables_alone() -> None:
    families = THREE_TABLE.format(name="default") + THREE_TABLE.format(name="other")
    opening = only(families + THREE_DATABASE.format(at=100.0))
    (interval,) = opening.intervals
    assert [(each.family, each.at) for each in opening.families] == [
        ("default", 100.0), ("other", 100.0)
    ]  # fmt: skip
    assert interval.compacted_gib == 7.4  # twice the 3.7 of the rows `Sum`
    assert interval.compaction == pytest.approx(2 * 1.5 * 1024 / 50)
    assert (interval.ingested_gib, interval.writes) == (2.5, 20.0)
    assert (interval.cumulative_stall_percent, interval.stall_percent) == (2.0, 2.0)
    assert opening.stalls["l0_files", "delays"] == 32
    assert opening.stalls["level_score", "delays"] == 4


def test_a_family_without_a_clock_is_not_given_that_of_the_next_dump() -> None:
    cut = THREE_TABLE.format(name="cut")
    marker = "2014/03/01-10:01:40.000000 7f00aa ------- DUMPING STATS -------\n"
    text = marker + cut + marker + THREE_TABLE.format(name="default")
    opening = only(text + THREE_DATABASE.format(at=100.0))
    assert [each.family for each in opening.families] == ["default"]


def test_levels_of_rocksdb_3_with_the_totals_of_the_default_family_in_the_database() -> None:
    compaction = (
        "Cumulative compaction: 5.00 GB write, 51.20 MB/s write, 1.00 GB read, 10.24 MB/s read, "
        "9.0 seconds\n"
    )
    families = THREE_TABLE.format(name="default") + THREE_TABLE.format(name="other")
    (interval,) = only(families + THREE_DATABASE.format(at=100.0) + compaction).intervals
    assert interval.compacted_gib == 8.7  # 5.00 of default, 3.7 of the other's table


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("  L1     29/2    4.45 GB   3.6     34.9", {"size": "4.45 GB", "score": 3.6}),
        (" Sum     29/2    0.00 KB   nan     34.9", {"level": "Sum", "score": None}),
        ("  L1     29/0   4.45 GB", {"files": 29, "compacting": 0}),
    ],
)
def test_rows_are_read_by_the_names_of_the_columns(row: str, told: dict[str, object]) -> None:
    columns = header_columns("Level    Files   Size     Score Read(GB)")
    assert columns is not None
    found = level_row(row, columns)
    assert told.items() <= found.items()


def test_threads_by_priority_are_no_levels() -> None:
    assert header_columns("Priority    Files   Size     Score Read(GB)") is None
    columns = header_columns("Level    Files   Size     Score Read(GB)")
    assert columns is not None
    for name in ("User", " Low", "High", "Bottom"):
        assert level_row(f"{name}      0/0    0.00 KB   0.0      0.0", columns) is None


def test_sizes_by_level_of_db_bench_are_no_table_of_compactions() -> None:
    assert header_columns("Level Files Size(MB)") is None
