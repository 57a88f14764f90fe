"""What to do next where a limit stands against a winner, and when there is no trade-off."""

from typing import Any

import pytest

from jobs.report.changed import beside_section
from jobs.report.verdict import limit_advice, only_limits_failed
from optimizer.results.document import Result
from tests.support.jobs.small_result import small_result

FLOOR = {
    "limit": "rate >= 1 baseline",
    "metric": "rate",
    "at_least": 100.0,
    "at_most": None,
    "kept": False,
}
BROKEN = {**FLOOR, "value": 80.0, "standing": "broken"}
UNSURE = {**FLOOR, "value": 101.0, "standing": "not shown"}
BELOW = {**FLOOR, "value": 99.0, "standing": "not shown"}
FORMER = {**FLOOR, "value": 80.0}  # of a job of an earlier version


def result(*limits: dict[str, Any], p: float = 0.001, **more: Any) -> Result:
    return small_result(verdict={"p": p, "limits": list(limits)}, **more)


@pytest.mark.parametrize("row", [BROKEN, BELOW, FORMER])
def test_what_is_beyond_the_bound_is_to_be_loosened_not_measured_more(row: dict[str, Any]):
    said = " ".join(limit_advice(result(row)))
    assert "Loosen the limit rate >= 1 baseline" in said and "`rocktune pick ID`" in said
    assert "more pairs" not in said


def test_what_may_be_kept_takes_more_pairs():
    said = " ".join(limit_advice(result(UNSURE)))
    assert "more pairs (`--detect 5%`)" in said and "Loosen" not in said


def test_limits_alone_stand_against_it_where_the_test_passed():
    assert only_limits_failed(result(BROKEN))
    assert not only_limits_failed(result(BROKEN, p=0.3))
    assert not only_limits_failed(result({**BROKEN, "kept": True}))
    assert limit_advice(result({**BROKEN, "kept": True})) == limit_advice(result()) == []


def test_no_line_says_that_nothing_was_traded_under_a_cost():
    lost = {"percent": -90.0, "low": -95.0, "high": -79.0, "p": 0.0001, "p_adjusted": 0.001}
    untraded = {
        "trial": 1, "configuration": {}, "is_best": True, "fitness": 1.0, "terms": {},
        "metrics": {},
    }  # fmt: skip
    level = {"baseline": {"metrics": {"read_present": 1.0}}, "no_trade": untraded}

    def told(change: dict[str, float]) -> list[str]:
        verdict = {"change": {"read_present": change}}
        return beside_section(small_result(verdict=verdict, **level)).words

    assert told(lost) == []
    (line,) = told({**lost, "p_adjusted": 0.2})
    assert line.startswith("The best has no significant cost")
