"""Which dumps are of one opening, and what its families come to together."""

import pytest
from hypothesis import given, settings

from sampler.rocksdb.opening import Opening
from tests.support.sampler.read_openings import parse_openings
from tests.support.sampler.written_dumps import BENCH, KEYS, Dump, Family, any_file, clock, text

FIRST = Dump(at=600, seconds=600, marker=clock(10)).text()
SECOND = Dump(at=1200, seconds=600, marker=clock(20)).text()
HEADER = f"{clock(1)} 7f RocksDB version: 7.8.3\n"


def moments(told: str) -> list[list[float]]:
    return [[each.at for each in opening.intervals] for opening in parse_openings(told)]


def only(told: str) -> Opening:
    (opening,) = parse_openings(told)
    return opening


def test_a_family_that_is_written_twice_counts_once_with_its_interval() -> None:
    families = (Family(name="a", written=6.0), Family(name="b", written=3.0))
    dump = Dump(at=600, seconds=600, families=families, twice=True, marker=clock(10))
    (interval,) = only(dump.text()).intervals
    assert (interval.seconds, interval.compacted_gib) == (600.0, 9.0)
    assert interval.compaction == pytest.approx(2 * 0.2 * 1024 / 600, abs=0.01)


def test_a_family_that_is_left_out_keeps_its_last_total() -> None:
    both = (Family(name="a", written=6.0), Family(name="b", written=3.0))
    opening = only(
        text(
            Dump(at=600, seconds=600, families=both, marker=clock(10)),
            Dump(
                at=1200, seconds=600, families=(Family(name="a", written=7.0),), marker=clock(20)
            ),
            Dump(at=1800, seconds=600, families=(), marker=clock(30)),
            Dump(at=2400, seconds=600, families=(), marker=clock(40)),
        )
    )
    assert [each.compacted_gib for each in opening.intervals] == [9.0, 10.0, 10.0, 10.0]
    # Nobody wrote in the third; the fourth may be cut off.
    assert [each.compaction is None for each in opening.intervals] == [False, False, False, True]
    assert opening.intervals[2].compaction == 0.0
    assert opening.intervals[1].cumulative_compaction == pytest.approx(10 * 1024 / 1200, abs=0.01)


def test_a_family_that_comes_back_wrote_in_the_last_interval() -> None:
    first = Family(name="a", written=6.0)
    back = Family(name="a", written=8.0, interval_written=2.0, seconds=1200)
    opening = only(
        text(
            Dump(at=600, seconds=600, families=(first,), marker=clock(10)),
            Dump(at=1200, seconds=600, families=(), marker=clock(20)),
            Dump(at=1800, seconds=600, families=(back,), marker=clock(30)),
        )
    )
    assert opening.intervals[-1].compaction == pytest.approx(2 * 1024 / 600)


@pytest.mark.parametrize(
    ("dumps", "openings"),
    [
        # Two runs with one dump each: their intervals overlap.
        ((Dump(at=41.5, seconds=38.5), Dump(at=80.2, seconds=77.1)), 2),
        ((Dump(at=4.2, seconds=1.1), Dump(at=4.0, seconds=1.0)), 2),
        # `stats` twice in one run.
        ((Dump(at=41.5, seconds=38.5), Dump(at=80.2, seconds=38.7)), 1),
        # A dump of the LOG ended the interval between.
        ((Dump(at=41.5, seconds=38.5), Dump(at=610.0, seconds=10.0)), 1),
        # The clock goes back without an interval since the opening.
        ((Dump(at=41.5, seconds=1.0), Dump(at=30.0, seconds=1.0)), 2),
        # What came in goes back.
        ((Dump(at=41.5, seconds=1.0, ingest=3.0), Dump(at=60.0, seconds=1.0, ingest=2.0)), 2),
        ((Dump(at=0.0, seconds=0.0), Dump(at=0.2, seconds=0.2), Dump(at=9.0, seconds=8.8)), 1),
    ],
)
def test_runs_are_told_apart_by_their_intervals(dumps: tuple[Dump, ...], openings: int) -> None:
    assert len(moments(text(*dumps))) == openings


def test_a_heading_of_db_bench_begins_a_run_even_where_the_intervals_fit() -> None:
    first, second = Dump(at=4.0, seconds=1.0).text(), Dump(at=5.0, seconds=1.0).text()
    assert moments(first + second) == [[4.0, 5.0]]
    assert moments(BENCH + first + BENCH + second) == [[4.0], [5.0]]
    assert moments(KEYS + first + KEYS + second) == [[4.0], [5.0]]


def run(last: float) -> tuple[str, str]:
    """Both outputs of a run, standard output first; its last dump is on it."""
    error = text(*(Dump(at=float(at), seconds=1.0) for at in range(1, int(last))))
    return KEYS + Dump(at=last, seconds=1.0).text(), BENCH + error


def test_both_outputs_of_two_runs_in_any_order() -> None:
    (out, error), (other_out, other_error) = run(6.0), run(4.0)
    expected = [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1.0, 2.0, 3.0, 4.0]]
    assert moments(out + error + other_out + other_error) == expected
    assert moments(error + out + other_error + other_out) == expected


def test_standard_output_stands_first_though_a_dump_of_the_log_ended_its_intervals() -> None:
    error = text(*(Dump(at=at, seconds=0.1) for at in (1.1, 2.1, 3.1)))
    last = Dump(at=4.2, seconds=0.1).text()
    assert moments(KEYS + last + BENCH + error) == [[1.1, 2.1, 3.1, 4.2]]
    assert len(moments(last + error)) == 2  # nothing says that it is one run


@pytest.mark.parametrize(
    ("first", "second", "openings"),
    [
        (clock(10), clock(20), 1),  # 600 s later on both clocks
        (clock(10), clock(50), 2),
        (clock(10), clock(20, hour=11), 1),  # summer time
    ],
)
def test_the_clock_of_a_log_tells_openings_apart(first: str, second: str, openings: int) -> None:
    dumps = (
        Dump(at=600, seconds=300, marker=first),
        Dump(at=1200, seconds=300, marker=second),  # a dump between them is missing
    )
    assert len(moments(text(*dumps))) == openings


def test_two_openings_of_which_only_the_first_dump_is_there() -> None:
    dumps = (Dump(at=0.0, seconds=0.0, marker=clock(minute)) for minute in (10, 20))
    assert moments(text(*dumps)) == [[0.0], [0.0]]


def test_a_rolled_log_repeats_its_header_and_goes_on() -> None:
    assert moments(HEADER + FIRST + HEADER + SECOND) == [[600.0, 1200.0]]


def test_families_alone_by_interval_are_one_opening() -> None:
    """db_bench with several families tells of no database; 8.x does not end their intervals."""
    families = (Family(name="a", written=1.0), Family(name="b", written=2.0))
    dumps = [
        Dump(at=float(at), seconds=float(at), families=families, database=False)
        for at in range(1, 5)
    ]
    opening = only(text(*dumps))
    assert [each.at for each in opening.intervals] == [1.0, 2.0, 3.0, 4.0]
    assert [each.seconds for each in opening.intervals] == [1.0, 1.0, 1.0, 1.0]
    assert opening.intervals[-1].compacted_gib == 3.0


RECOVERED = f"{clock(1)} 7f [db/version_set.cc:1] Recovered from manifest file:/db/MANIFEST-1\n"


def stopped(family: int) -> str:
    return f"{clock(1)} 7f [{family}] Stopping writes because we have 36 level-0 files\n"


def test_stall_lines_of_an_opening_without_a_dump_are_of_no_other() -> None:
    opening = only(
        HEADER + RECOVERED + stopped(1)  # closed before its first dump
        + HEADER + RECOVERED + stopped(2) + FIRST
        + HEADER + stopped(3) + SECOND + stopped(4)  # rolled
        + HEADER + RECOVERED + stopped(5)
    )  # fmt: skip
    assert [each.family for each in opening.stall_lines] == ["2", "3", "4"]


def test_a_line_that_tells_of_an_opening_parts_what_would_fit() -> None:
    assert moments(RECOVERED + FIRST + SECOND) == [[600.0, 1200.0]]
    assert moments(RECOVERED + FIRST + RECOVERED + SECOND) == [[600.0], [1200.0]]


def test_a_family_is_named_by_any_bytes() -> None:
    priorities = "** Compaction Stats [\n] **\nPriority    Files   Size     Score Read(GB)\n"
    table = "Level    Files   Size     Score Read(GB)\n  L0      5/0   174.83 MB   1.2    0.0\n"
    families = (
        Family(name="\n", written=6.0, levels=table + priorities),
        Family(name="] **", written=3.0),
        Family(name="\\xff", written=1.0),
    )
    dump = Dump(at=600, seconds=600, families=families, marker=clock(10))
    options = (
        "x Options for column family [\n]:\nx Options.max_write_buffer_number: 7\n"
        "x Options for column family [b]:\nx Options.max_write_buffer_number: 8\n"
    )
    opening = only(options + dump.text())
    assert [each.family for each in opening.families] == ["\n", "] **", "\\xff"]
    assert opening.intervals[0].compacted_gib == 10.0
    assert [row["level"] for row in opening.families[0].levels] == ["L0"]
    assert opening.options["\n"] == {"max_write_buffer_number": "7"}


def test_a_name_that_never_ends_spoils_nothing_else() -> None:
    cut = "** Compaction Stats [" + "x\n" * 600
    opening = only(cut + FIRST)
    assert [each.family for each in opening.families] == ["default"]
    nameless = Dump(at=600, seconds=600, families=(Family(written=9.0),), database=False).text()
    named = Dump(at=600, seconds=600, families=(Family(name="a", written=2.0),)).text()
    opening = only(named + cut + nameless.partition("\n")[2])
    assert opening.intervals[-1].compacted_gib == 11.0


def test_versions_options_stall_lines_and_tickers_go_to_their_opening() -> None:
    def log(version: str, minute: int, stall: str, ticker: int) -> str:
        return (
            f"{clock(minute)} 7f RocksDB version: {version}\n"
            f"{clock(minute)} 7f  --------------- Options for column family [default]:\n"
            f"{clock(minute)} 7f          Options.max_write_buffer_number: {minute}\n"
            f"{clock(minute)} 7f [WARN] [db/column_family.cc:1] [default] {stall}\n"
            + Dump(at=0.0, seconds=0.0, marker=clock(minute)).text()
            + f"{clock(minute)} 7f [db/db_impl.cc:1] STATISTICS:\n"
            f" rocksdb.bytes.written COUNT : {ticker}\n"
            "rocksdb.db.get.micros P50 : 1.0 COUNT : 3 SUM : 4\n"
        )

    stopped = "Stopping writes because we have 36 level-0 files"
    stalled = "Stalling writes because of estimated pending compaction bytes 99 rate 1"
    first, second = parse_openings(log("6.8.1", 10, stopped, 7) + log("9.1.1", 20, stalled, 8))
    assert (first.version, second.version) == ("6.8.1", "9.1.1")
    assert [(each.reason, each.kind) for each in first.stall_lines] == [("l0_files", "stops")]
    assert [(each.reason, each.kind) for each in second.stall_lines] == [
        ("pending_compaction_bytes", "delays")
    ]
    assert (first.tickers, second.tickers) == (
        {"rocksdb.bytes.written": 7}, {"rocksdb.bytes.written": 8}
    )  # fmt: skip
    assert second.options["default"] == {"max_write_buffer_number": "20"}


@pytest.mark.slow
@settings(deadline=None, max_examples=300)
@given(any_file())
def test_nothing_that_a_file_holds_breaks_the_reader(told: str) -> None:
    for opening in parse_openings(told):
        assert opening.intervals
        clocks = [each.at for each in opening.intervals]
        assert clocks == sorted(set(clocks))
        assert all(each.seconds >= 0 for each in opening.intervals)
