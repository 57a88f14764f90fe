"""Why writes stalled, and why write amplification is below 1, in sentences."""

import pytest

from jobs.interval_report.answers import partial_dumps, stall_answer, write_amplification
from jobs.interval_report.documents import notes
from sampler.rocksdb.opening import Opening
from tests.support.sampler.read_openings import parse_openings
from tests.support.sampler.written_dumps import Dump, Family, clock, text

GIB = 2**30


def only(told: str) -> Opening:
    (opening,) = parse_openings(told)
    return opening


def stalled(counts: str, *, percent: float = 12.5, before: str = "", after: str = "") -> Opening:
    family = Family(stalls=counts)
    dump = Dump(at=600, seconds=600, families=(family,), stall_percent=percent, marker=clock(10))
    return only(before + dump.text() + after)


@pytest.mark.parametrize(
    ("counts", "options"),
    [
        ("Stalls(count): 7 level0_slowdown, 3 level0_numfiles",
         ["level0_slowdown_writes_trigger", "level0_stop_writes_trigger"]),
        ("Stalls(count): 0 level0_slowdown, 0 stop for pending_compaction_bytes, 2 slowdown for "
         "pending_compaction_bytes", ["soft_pending_compaction_bytes_limit"]),
        ("Stalls(count): 5 memtable_compaction, 0 memtable_slowdown", ["max_write_buffer_number"]),
        ("Write Stall (count): l0-file-count-limit-stops: 4, total-delays: 0, total-stops: 4",
         ["level0_stop_writes_trigger"]),
        ("Write Stall (count): memtable-limit-delays: 1, pending-compaction-bytes-stops: 2",
         ["hard_pending_compaction_bytes_limit", "max_write_buffer_number"]),
        ("Write Stall (count): write-buffer-manager-limit-stops: 9", ["db_write_buffer_size"]),
        ("Stalls(count): 0 level0_slowdown, 6 leveln_slowdown_soft", ["soft_rate_limit"]),
    ],
)  # fmt: skip
def test_a_reason_names_its_options(counts: str, options: list[str]) -> None:
    answer = stall_answer(stalled(counts))
    assert answer.startswith("Writes waited for 12.5% of the time (75 s). Why: ")
    looked_at = [part.partition("Look at ")[2] for part in answer.split("Why: ")[1:]]
    for option in options:
        assert any(option in each for each in looked_at), answer


def test_the_most_frequent_reason_comes_first_with_its_counts() -> None:
    answer = stall_answer(
        stalled(
            "Stalls(count): 2 level0_slowdown, 1 level0_slowdown_with_compaction, 1 "
            "level0_numfiles, 50 memtable_compaction"
        )
    )
    assert answer.index("50 stops") < answer.index("2 slowdowns, 1 of them during a compaction")
    assert "and 1 stop)" in answer


def test_the_value_of_an_option_is_told_where_the_log_has_it() -> None:
    options = (
        "x Options for column family [default]:\nx   Options.level0_slowdown_writes_trigger: 20\n"
    )
    counts = "Stalls(count): 2 level0_slowdown, 0 level0_numfiles"
    assert "level0_slowdown_writes_trigger (now 20)" in stall_answer(
        stalled(counts, before=options)
    )
    assert "(now" not in stall_answer(stalled(counts))


def test_only_families_that_stalled_are_named() -> None:
    families = (
        Family(name="quiet"),
        Family(name="busy", stalls="Stalls(count): 3 level0_slowdown, 0 level0_numfiles"),
    )
    answer = stall_answer(only(Dump(at=9, seconds=9, families=families).text()))
    assert "in busy (3 slowdowns)" in answer
    assert "quiet" not in answer


def test_lines_of_the_log_stand_in_for_counts() -> None:
    line = (
        f"{clock(11)} 7f [WARN] [/column_family.cc:1] [default] Stopping writes because we have 3 "
        "immutable memtables (waiting for flush), max_write_buffer_number is set to 2\n"
    )
    answer = stall_answer(stalled("", after=line))
    assert "the LOG says that writes were held back: too many memtables (1 stop)" in answer
    assert "Look at max_write_buffer_number" in answer
    answer = stall_answer(stalled("Stalls(count): 0 level0_slowdown", percent=0.0, after=line))
    assert answer.startswith("No stall had ended by the last dump, but the LOG says")


@pytest.mark.parametrize(
    ("opening", "answer"),
    [
        (stalled("Stalls(count): 0 level0_slowdown", percent=0.0), "Writes did not stall."),
        (only(Dump(at=9, seconds=9, families=(Family(stalls=""),), database=False).text()),
         "The file does not show whether writes stalled: it has no line `Cumulative stall`, which "
         "RocksDB writes below ** DB Stats **."),
        (only(Dump(at=9, seconds=9, families=(Family(stalls="Stalls(count): 0 level0_slowdown"),),
                   database=False).text()),
         "The file does not show whether writes stalled: it has no line `Cumulative stall`, which "
         "RocksDB writes below ** DB Stats **. The counts by reason in it are 0."),
        (stalled("Stalls(count): 0 level0_slowdown"),
         "Writes waited for 12.5% of the time (75 s). The file counts no reason: the column "
         "family that caused the stall may have been dropped, or is missing from the file."),
    ],
)  # fmt: skip
def test_what_is_not_told_is_not_made_up(opening: Opening, answer: str) -> None:
    assert stall_answer(opening) == answer


MOVED = (
    "Level    Files   Size     Score Moved(GB)\n  L1     10/0    1.00 GB   1.0       0.9\n"
    " Sum     10/0    1.00 GB   0.0       0.9\n"
)


def written(
    came: float, family: Family, *, options: str = "", seconds: float = 600, version: str = "9.1.1"
) -> str:
    header = f"{clock(0)} 7f RocksDB version: {version}\n{options}"
    dump = Dump(at=600, seconds=seconds, ingest=came, families=(family,), marker=clock(10))
    (note,) = [each for each in notes(only(header + dump.text())) if "below 1" in each] or [""]
    return note


def test_an_amplification_below_one_is_explained_by_what_was_not_flushed() -> None:
    note = written(2.0, Family(written=1.5, flushed=1.5))
    assert "of 2 GiB of user writes, flushes had written 1.5 GiB" in note
    left = "the other 0.5 GiB (25%) were still in memtables or were saved by compression"
    assert left in note
    assert "no compaction had rewritten anything yet" in note


def test_what_was_not_flushed_at_all_is_in_memtables() -> None:
    note = written(2.0, Family(written=0.0, flushed=0.0))
    assert note.endswith("memtables hold all 2 GiB of user writes; the last dump shows no flush.")


def test_memtables_explain_no_more_than_they_hold() -> None:
    options = (
        "x Options for column family [default]:\nx Options.compression: NoCompression\n"
        f"x Options.write_buffer_size: {GIB // 16}\nx Options.max_write_buffer_number: 2\n"
    )
    note = written(2.0, Family(written=1.5, flushed=1.5), options=options)
    assert "memtables hold at most 0.125 GiB, so at least 0.375 GiB were saved by overw" in note
    assert "compression" not in note


def test_trivial_moves_and_idle_families_are_named_where_the_file_shows_them() -> None:
    note = written(2.0, Family(written=1.5, flushed=1.5, levels=MOVED))
    assert "0.9 GiB moved to a lower level unchanged (trivial moves)" in note
    assert "idle" not in note  # the first dump is told
    family = Family(written=1.5, flushed=1.5)
    assert "families idle since before" in written(2.0, family, seconds=300)
    assert "idle" not in written(2.0, family, seconds=300, version="7.8.3")


def test_db_bench_leaves_no_family_out_for_being_idle() -> None:
    dump = Dump(at=600, seconds=300, ingest=2.0, families=(Family(written=1.5, flushed=1.5),))
    (note,) = [each for each in notes(only(dump.text())) if "below 1" in each]
    assert "idle" not in note


def test_an_amplification_of_one_or_more_needs_no_explanation() -> None:
    assert written(1.0, Family(written=1.0, flushed=1.0)) == ""


@pytest.mark.parametrize(
    ("version", "partial"), [("7.8.3", False), ("7.9.2", True), ("11.8.1", True), (None, True)]
)
def test_idle_families_are_left_out_since_7_9(version: str | None, partial: bool) -> None:
    assert partial_dumps(version) is partial


def with_tickers(came: float, flush: float, compact: float) -> Opening:
    dump = Dump(at=600, seconds=600, ingest=1.0, families=(Family(written=2.5),), marker=clock(10))
    return only(
        dump.text()
        + f"x STATISTICS:\n rocksdb.bytes.written COUNT : {round(came * GIB)}\n"
        + f"rocksdb.flush.write.bytes COUNT : {round(flush * GIB)}\n"
        + f"rocksdb.compact.write.bytes COUNT : {round(compact * GIB)}\n"
    )


def test_tickers_of_the_same_opening_are_taken() -> None:
    found = write_amplification(with_tickers(1.003, 1.0, 1.496))
    assert found.value == pytest.approx(2.496 / 1.003)
    assert found.source == "tickers"


@pytest.mark.parametrize(
    "tickers",
    [(1.1, 1.0, 1.5), (1.0, 1.0, 1.0)],
    ids=["of a longer process", "of less than the dump has"],
)
def test_tickers_of_another_span_are_not_taken(tickers: tuple[float, float, float]) -> None:
    found = write_amplification(with_tickers(*tickers))
    assert (found.value, found.source) == (2.5, "dump")


def test_tickers_show_families_that_the_dump_does_not_tell() -> None:
    opening = with_tickers(1.0, 2.0, 3.0)
    assert write_amplification(opening).value == 5.0
    assert any("the dump omits column families" in each for each in notes(opening))


def test_little_data_is_told_by_its_rates() -> None:
    opening = only(Dump(at=4.0, seconds=4.0, ingest=0.05, families=(Family(written=0.09),)).text())
    found = write_amplification(opening)
    assert found.source == "rates"
    assert found.value == pytest.approx(0.09 / 0.05, rel=0.01)


def test_openings_follow_one_another_with_their_own_answers() -> None:
    calm = Dump(at=600, seconds=600, marker=clock(10))
    busy = Dump(at=600, seconds=600, stall_percent=50.0, marker=clock(40))
    first, second = parse_openings(text(calm, busy))
    assert stall_answer(first) == "Writes did not stall."
    assert stall_answer(second).startswith("Writes waited for 50%")
