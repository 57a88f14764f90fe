"""What was won and paid, row by row: the same marks as in the words of the verdict."""

import pytest

from jobs.report.section import Cell
from jobs.report.verdict import trade_section, traded_rows
from jobs.results.figures import amount_with_unit
from optimizer.results.document import Result
from tests.support.jobs.small_result import small_result

OBJECTIVE = {
    "name": "o",
    "metric": [{"name": "waf", "direction": "min"}, {"name": "rate", "direction": "max"}],
}


def change(low: float, high: float) -> dict[str, float]:
    return {"percent": (low + high) / 2, "low": low, "high": high, "p": 0.5}


def result(**changes: dict[str, float]) -> Result:
    return small_result(
        job={"objective": OBJECTIVE},
        baseline={"metrics": dict.fromkeys(changes, 2.0)},
        verdict={"metrics": dict.fromkeys(changes, 1.0), "change": changes},
    )


@pytest.mark.parametrize(
    ("metric", "interval", "mark"),
    [
        ("waf", (-20.0, -10.0), "better"),
        ("waf", (10.0, 20.0), "worse"),
        ("waf", (-1.0, 1.0), "not significant"),
        ("rate", (10.0, 20.0), "better"),
        ("rate", (-20.0, -10.0), "worse"),
        ("scan_short", (-20.0, -10.0), "worse"),
        ("memory", (10.0, 20.0), "worse"),
    ],
)
def test_the_interval_and_the_direction_decide(
    metric: str, interval: tuple[float, float], mark: str
) -> None:
    ((row, marked),) = traded_rows(result(**{metric: change(*interval)}))
    assert (row.metric, marked) == (metric, mark)


def test_what_was_won_comes_first_and_what_did_not_move_is_left_out() -> None:
    found = result(
        waf=change(-1, 1), peak_rss=change(5, 9), rate=change(5, 9), memory=change(0, 0),
        cpu_seconds=change(5, 9),
    )  # fmt: skip
    table = trade_section(found).blocks[0]
    told = [(row[0], row[-1].mark) for row in table.rows if isinstance(row[-1], Cell)]
    assert told == [
        ("RATE", "better"), (Cell("peak_rss", "peak memory"), "worse"),
        ("WAF", "not significant"),
    ]  # fmt: skip
    assert table.rows[0][1:] == ("2 ops/s", "1 ops/s", Cell("+7.0%", "+5.0% to +9.0%", "better"))


def test_a_percentage_changes_by_the_points_between_the_medians_beside_it() -> None:
    """The mean of the ratios is another; an interval of ratios may lead above 100%."""
    found = small_result(
        job={"objective": OBJECTIVE},
        baseline={"metrics": {"stall_percent": 21.58}},
        verdict={
            "metrics": {"stall_percent": 29.13},
            "change": {"stall_percent": {"percent": 42.0, "low": -75.0, "high": 600.0, "p": 0.5}},
        },
    )
    table = trade_section(found).blocks[0]
    change = Cell("+7.6 points", "-16.2 to +78.4 points", "not significant")
    assert table.rows[0][1:] == ("21.58 %", "29.13 %", change)


def test_without_a_proof_there_is_no_row() -> None:
    assert traded_rows(small_result()) == trade_section(small_result()).blocks == []


@pytest.mark.parametrize(
    ("value", "metric", "words"),
    [
        (2.5 * 2**20, "memory", "2.5 MiB"),
        (52_340.4, "rate", "52,340 ops/s"),
        (340.0, "write_p99", "340 us"),
        (1.374, "waf", "1.374"),
        (None, "rate", "n/a"),
    ],
)
def test_a_figure_has_its_unit(value: float | None, metric: str, words: str) -> None:
    assert amount_with_unit(value, metric) == words
