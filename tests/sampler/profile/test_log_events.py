"""Events of a LOG, each of which changes what is known of a tree."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from sampler.common.documents import packaged_rows
from sampler.profile.family_events import COMPACTION, FLUSH, Held
from sampler.profile.log_events import LogEvents
from sampler.rocksdb.log_reader import read_log
from tests.support.sampler.written_events import BEGIN, compaction, event, flush, table


def taken(*lines: Iterable[str]) -> LogEvents:
    events = LogEvents()
    read_log((line for each in lines for line in each), events)
    events.settle()
    return events


def test_a_flush_and_a_compaction() -> None:
    events = taken(BEGIN, flush(5, 110, 100), flush(6, 100, 100), compaction(7, [5, 6], {8: 180}))
    assert events.accounted("default")
    assert events.held("default") == Held(180, 180)
    assert {number: each.level for number, each in events.live.items()} == {8: 1}
    family = events.of_all_openings("default")
    assert family.counts["written"] == 210
    assert (family.counts["read"], family.counts["kept"]) == (200, 180)
    assert family.made[FLUSH, "", True]["tables"] == 2
    assert family.made[COMPACTION, "", True]["num_entries"] == 180
    assert events.new("default") == 0  # the first flush dropped entries
    assert [(each.kept, each.writes, each.runs) for each in events.merges["default"]] == [
        (100, 110, ()), (100, 100, ()), (180, 0, (100, 100))
    ]  # fmt: skip


def test_a_flush_is_committed_in_the_words_of_each_version() -> None:
    since_9 = "x [default] Level-0 commit flush result of table #5: memtable #1 done"
    assert taken(BEGIN, flush(5, 100, 100, commit=False), [since_9]).held("default") == Held(
        100, 100
    )
    begun = since_9.replace(": memtable #1 done", " started")
    assert taken(BEGIN, flush(5, 100, 100, commit=False), [begun]).held("default") == Held(0, 0)


def test_entries_up_to_the_first_drop_are_new() -> None:
    events = taken(BEGIN, flush(5, 100, 100), flush(6, 100, 100), compaction(7, [5, 6], {8: 200}))
    assert events.new("default") == 200
    assert not events.merges["default"]
    events = taken(BEGIN, flush(5, 100, 100), flush(6, 100, 99), flush(7, 100, 100))
    assert events.new("default") == 100


def test_what_the_end_of_a_process_cancels_changes_nothing() -> None:
    events = taken(
        BEGIN, flush(5, 100, 100), compaction(7, [5], {8: 60}, done=False),
        flush(6, 50, 50, commit=False), [event("table_file_deletion", file_number=6)],
    )  # fmt: skip
    assert events.accounted("default")
    assert events.held("default") == Held(100, 100)
    assert events.of_all_openings("default").counts["written"] == 100
    assert events.of_all_openings("default").counts["read"] == 0


def test_a_recovery_flushes_what_the_opening_before_wrote() -> None:
    again = ["x Recovered from manifest file:db/M-2", table(9, 30, 1)]
    events = taken(BEGIN, flush(5, 100, 100), again, flush(12, 40, 40))
    first, second = events.openings
    assert first.families["default"].counts["written"] == 130
    assert second.families["default"].counts["written"] == 40
    history = events.history("default", second)
    assert [(each.puts, each.counts) for each in history] == [
        (100, False),
        (30, False),
        (40, True),
    ]
    assert events.held("default") == Held(170, 100)


def test_tables_that_come_or_go_in_other_ways_are_not_accounted_for() -> None:
    dropped = [event("table_file_deletion", file_number=5)]  # FIFO, DeleteFilesInRange
    assert not taken(BEGIN, flush(5, 100, 100), dropped).accounted("default")
    assert not taken(BEGIN, compaction(7, [3], {8: 60})).accounted("default")
    begun_before = compaction(7, [3], {8: 60})[2:]
    generated = ["x [default] [JOB 7] Generated table #8: 60 keys, 100 bytes"]
    events = taken(BEGIN, generated, begun_before)
    assert not events.accounted("default")
    assert events.of_all_openings("default").made[COMPACTION, "", True]["tables"] == 1
    assert not taken(["x SST files in db dir, Total Num: 3, files: 1.sst"]).accounted("default")
    # A rolled LOG repeats the header, but does not say again that the database was opened.
    assert not taken(BEGIN[:1], flush(5, 100, 100)).accounted("default")


NEEDED = sorted(
    {
        (row["event"], row["field"])
        for row in packaged_rows("sampler.rocksdb", "event_fields.csv")
        if row["needed"] and row["event"] not in ("blob_file_creation", "flush_finished")
    }
)


@pytest.mark.parametrize(("kind", "field"), NEEDED)
def test_an_event_without_a_needed_field_leaves_its_family_unaccounted(
    kind: str, field: str
) -> None:
    """As a version would write it that renames the field: it is told, and counts for nothing."""
    lines = [
        *BEGIN, *flush(4, 50, 50), *flush(5, 110, 100), *flush(6, 100, 100),
        *compaction(7, [5, 6], {8: 180}),
    ]  # fmt: skip
    assert taken(lines).accounted("default")
    renamed = [
        line.replace(f'"{field}"', '"renamed"') if f'"{kind}"' in line else line for line in lines
    ]
    events = taken(renamed)
    assert not events.accounted("default")
    (words,) = events.unknown.words()
    assert f"{kind} events have no number {field}" in words


def test_a_table_that_is_moved_in_the_words_of_each_version() -> None:
    moved = "x [default] {} #5 {}to {}level-2 100 bytes"
    for words in (
        ("Moving", "", ""),
        ("Moved", "", ""),
        ("Moving", "from from_level-0 ", "from_"),
    ):
        assert taken(BEGIN, flush(5, 100, 100), [moved.format(*words)]).live[5].level == 2
    summary = ["x [default] Moved #5 files to level-2 100 bytes OK: files[0 0 1]"]
    assert taken(BEGIN, flush(5, 100, 100), summary).live[5].level == 0


def test_a_family_is_known_from_the_moment_at_which_all_its_tables_are() -> None:
    """``lsm_state`` of an event counts the tables that the LOG has told of."""
    begun = ["x SST files in db dir, Total Num: 9, files: ", BEGIN[1]]
    whole = compaction(7, [2, 3, 5], {8: 90})
    job = [event("flush_finished", job=7, lsm_state=[0, 1]), *flush(9, 100, 20)]
    events = taken(begun, flush(5, 110, 100), whole, job)
    assert events.accounted("default")
    history = events.history("default", events.openings[0])
    assert [(each.puts, each.counts) for each in history] == [(90, False), (100, True)]
    assert events.held("default") == Held(110, 90)
    others = [line.replace("[0, 1]", "[0, 2]") for line in job]
    assert not taken(begun, flush(5, 110, 100), whole, others).accounted("default")


@pytest.mark.slow
def test_a_long_history_keeps_its_sums() -> None:
    events = taken(BEGIN, *(flush(number, 10, 10) for number in range(5, 7_005)))
    history = events.history("default", events.openings[0])
    assert sum(each.puts for each in history) == 70_000
    assert len(history) <= 2_000
