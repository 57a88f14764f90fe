"""Reading for totals alone keeps little, and changes none of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampler.rocksdb.opening import openings_in
from sampler.rocksdb.parts import read_contents, read_lines
from tests.support.sampler.read_openings import parse_openings
from tests.support.sampler.written_dumps import Dump, Family

CASES = Path(__file__).parents[2] / "data" / "cases"
TICKER = "rocksdb.bytes.written COUNT : 5\n"
OPENED = "x Recovered from manifest file:db/MANIFEST-000004 succeeded\n"
LOGS = sorted(path for path in CASES.rglob("*LOG*") if path.is_file())


def statistics(number: int) -> str:
    return (
        f"x STATISTICS:\n rocksdb.bytes.written COUNT : {number}\n"
        f"rocksdb.db.get.micros P50 : 1.5 P95 : 2.0 P99 : 3.0 COUNT : {number} SUM : 4\n"
    )


def same_totals(text: str) -> None:
    whole = openings_in(read_contents(text))
    short = openings_in(read_lines(text.splitlines(keepends=True), totals=True))
    assert len(whole) == len(short)
    for one, other in zip(whole, short, strict=True):
        assert one.families == other.families
        assert (one.database, one.tickers, one.histograms, one.line, one.version) == (
            other.database, other.tickers, other.histograms, other.line, other.version
        )  # fmt: skip
        assert [(each.at, each.writes, each.ingested_gib) for each in one.intervals] == [
            (each.at, each.writes, each.ingested_gib) for each in other.intervals
        ]


@pytest.mark.parametrize("path", LOGS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_of_logs_of_others(path: Path) -> None:
    same_totals(path.read_text(encoding="utf-8", errors="replace"))


@given(st.lists(st.tuples(st.integers(1, 9), st.booleans()), min_size=1, max_size=4))
def test_of_several_openings(openings: list[tuple[int, bool]]) -> None:
    text, minute = "", 0
    for dumps, second in openings:
        text += OPENED
        for number in range(1, dumps + 1):
            minute += 1
            families = (Family(written=number), *([Family(name="b")] if second else []))
            text += Dump(
                at=60.0 * number, seconds=60.0, families=families, ingest=float(number),
                marker=f"2026/01/01-{minute // 60:02}:{minute % 60:02}:00.000000",
            ).text() + statistics(minute)  # fmt: skip
        minute += 60
    same_totals(text)
    assert len(parse_openings(text)) == len(openings)


def test_memory_does_not_grow_with_tables_and_statistics() -> None:
    text = OPENED
    for number in range(1, 200):
        text += Dump(
            at=60.0 * number,
            seconds=60.0,
            marker=f"2026/01/01-{number // 60:02}:{number % 60:02}:00",
        ).text() + statistics(number)
    contents = read_lines(text.splitlines(keepends=True), totals=True)
    assert sum(part.family is not None for part in contents.parts) <= 3
    assert len(contents.tickers) == len(contents.histograms) == 2


_TOLD = "50 : 1.500000 {0}95 : 2.000000 {0}99 : 3.250000 {0}100 : 9.0 COUNT : 7 SUM : 12"


@pytest.mark.parametrize(
    "line",
    ["P" + _TOLD.format("P"), "statistics Percentiles :=> " + _TOLD.format("")],
    ids=["since 6.0", "before"],
)
def test_histograms(line: str) -> None:
    dump = Dump(at=60.0, seconds=60.0, marker="2026/01/01-00:01:00.000000").text()
    (opening,) = parse_openings(f"{dump}x STATISTICS:\n{TICKER}rocksdb.db.get.micros {line}\n")
    assert opening.histograms == {
        "rocksdb.db.get.micros": {
            "P50": 1.5, "P95": 2.0, "P99": 3.25, "P100": 9.0, "COUNT": 7.0, "SUM": 12.0
        }
    }  # fmt: skip


def test_statistics_that_are_cut_off_give_way_to_the_ones_before() -> None:
    dump = Dump(at=60.0, seconds=60.0, marker="2026/01/01-00:01:00.000000").text()
    cut = "x STATISTICS:\n rocksdb.bytes.written COUNT : 9\n"
    (opening,) = parse_openings(dump + statistics(5) + cut)
    assert opening.tickers == {"rocksdb.bytes.written": 5}
