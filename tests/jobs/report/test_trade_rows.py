"""What was won and paid, row by row: the same marks as in the words of the verdict."""

from typing import Any

import pytest

from jobs.report.rows import trade_rows
from jobs.results.figures import amount_with_unit

OBJECTIVE = {
    "name": "o",
    "metric": [{"name": "waf", "direction": "min"}, {"name": "rate", "direction": "max"}],
}


def change(low: float, high: float) -> dict[str, float]:
    return {"percent": (low + high) / 2, "low": low, "high": high, "p": 0.5}


def result(**changes: dict[str, float]) -> dict[str, Any]:
    level = dict.fromkeys(changes, 2.0)
    return {
        "job": {"objective": OBJECTIVE},
        "baseline": {"metrics": level},
        "verdict": {"metrics": dict.fromkeys(changes, 1.0), "change": changes},
    }


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
    (row,) = trade_rows(result(**{metric: change(*interval)}))
    assert (row["metric"], row["mark"]) == (metric, mark)


def test_what_was_won_comes_first_and_what_did_not_move_is_left_out() -> None:
    rows = trade_rows(result(
        waf=change(-1, 1), peak_rss=change(5, 9), rate=change(5, 9), memory=change(0, 0),
        cpu_seconds=change(5, 9),
    ))  # fmt: skip
    assert [(row["name"], row["mark"]) for row in rows] == [
        ("RATE", "better"), ("peak memory", "worse"), ("WAF", "not significant"),
    ]  # fmt: skip
    assert (rows[0]["default"], rows[0]["best"]) == (2.0, 1.0)


def test_without_a_proof_there_is_no_row() -> None:
    assert trade_rows({**result(waf=change(1, 2)), "verdict": None}) == []


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
