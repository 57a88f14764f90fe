"""Events of LOGs of every version are read by one table, and what it does not know is told."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from sampler.common.documents import packaged_rows
from sampler.rocksdb.log_reader import MARK, LogEvent, UnknownEvents, event_of

DATA = Path(__file__).parents[2] / "data"
LOGS = sorted(
    path
    for pattern in ("cases/*/*LOG*", "applications/*.LOG.gz", "cases/*/db_bench.log")
    for path in DATA.glob(pattern)
)


def lines_of(path: Path) -> Iterator[str]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", errors="replace") as file:
        yield from file


def line(event: dict[str, object]) -> str:
    return f"2026/01/01-00:00:00.000000 7 {MARK}{json.dumps(event)}"


@pytest.mark.parametrize("path", LOGS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_event_of_a_real_log_is_unknown(path: Path) -> None:
    """RocksDB 3.x to 11.x; two of the LOGs were cut by hand within events."""
    unknown, told = UnknownEvents(), 0
    for each in lines_of(path):
        event = event_of(each) if MARK in each else None
        if event and not event.cut:
            unknown.take(event)
            told += 1
    assert unknown.words() == ()
    assert told == sum(unknown.seen.values())


def test_a_field_is_the_same_under_the_names_of_all_versions() -> None:
    """db/flush_job.cc of 9.9.3 and 10.4.2; table properties of 5.11.3 are strings."""
    old = event_of(line({"event": "flush_started", "job": 3, "num_entries": 7, "num_deletes": 0}))
    new = event_of(
        line({"event": "flush_started", "job": 3, "total_num_input_entries": 7, "num_deletes": 0})
    )
    assert old
    assert new
    assert old.number("num_entries") == new.number("num_entries") == 7
    assert (old.missing(), new.missing()) == ((), ())
    assert new.number("num_range_deletes") is None  # of 6.x and older: not told, not 0
    properties = {"kDeletedKeys": "12", "num_entries": 40}
    table = LogEvent("table_file_creation", {"table_properties": properties})
    assert (table.number("num_deletions"), table.number("num_merge_operands")) == (12, None)


def test_a_needed_field_of_another_name_or_type_is_told() -> None:
    unknown = UnknownEvents()
    for entries in ({"entries": 7}, {"num_entries": "many"}, {"num_entries": -1}, {}):
        event = event_of(line({"event": "flush_started", "job": 3, "num_deletes": 0, **entries}))
        assert event
        assert unknown.take(event) == ("num_entries or total_num_input_entries",)
    assert unknown.words() == (
        "4 of 4 flush_started events have no number num_entries or total_num_input_entries",
    )
    assert unknown.lacks("flush_started")
    assert not unknown.lacks("flush_finished")


def test_a_file_that_was_not_made_lacks_nothing() -> None:
    """Since 9.x a table that failed is told, too, with its status."""
    event = event_of(line({"event": "table_file_creation", "job": 3, "status": "IO error: full"}))
    assert event
    assert event.failed
    assert event.missing() == ()


def test_a_line_that_is_cut_off_tells_what_stands_before_the_cut() -> None:
    """LogToBuffer cut events at 512 bytes up to 6.x (logging/event_logger.h)."""
    whole = line(
        {
            "time_micros": 5, "job": 3, "event": "compaction_finished", "output_level": 1,
            "total_output_size": 70, "num_input_records": 9, "num_output_records": 8,
            "lsm_state": [0, 1, 0, 0],
        }
    )  # fmt: skip
    for end in range(len(whole)):
        event = event_of(whole[:end])
        assert event is None or event.kind == "compaction_finished"
        assert event is None or event.number("num_input_records") in (None, 9)
    cut = event_of(whole[:-6])
    assert cut
    assert (cut.cut, cut.missing(), cut.levels) == (True, (), None)
    told = event_of(whole)
    assert told
    assert told.levels == (0, 1, 0, 0)


def test_the_table_names_a_source_and_versions_for_each_field() -> None:
    rows = list(packaged_rows("sampler.rocksdb", "event_fields.csv"))
    assert len({(row["event"], row["name"]) for row in rows}) == len(rows)
    for row in rows:
        assert row["source"].startswith("db/")
        first, last = (tuple(map(int, row[each].split("."))) for each in ("first", "last"))
        assert (4, 13, 0) <= first <= last
