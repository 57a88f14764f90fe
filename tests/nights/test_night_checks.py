"""What a night is for a CI: which series fail or could not be compared, and how it is written."""

from collections.abc import Sequence
from typing import Any

import pytest

from jobs.regression.detection import RegressionReport, detect_regressions
from jobs.regression.report import checks_of_night, junit_text, markdown_text, report_lines
from tests.support.api.watched_nights import nights_that_turn_worse, nights_up_to_the_finding
from tests.support.jobs.batch_nights import ASKED, nights_of, result
from tests.support.jobs.junit import Case, read_junit

ITEM = "load/default"
WAF = "WAF of the default"
DONE = {"item": ITEM, "state": "done", "error": None}


def document(*items: dict[str, Any]) -> dict[str, Any]:
    return {"name": "nightly", "began_at": "2026-11-24T02:30:00+00:00", "items": items or [DONE]}


def written(
    results: Sequence[dict[str, Any] | None], *items: dict[str, Any]
) -> tuple[RegressionReport, dict[str, dict[str, Case]], str]:
    """The watch, and what is read back of both reports."""
    watch = detect_regressions(nights_of(results))
    suites = checks_of_night(document(*items), watch)
    text = markdown_text(document(*items), watch, suites)
    return watch, read_junit(junit_text(document(*items), suites)), text


def test_what_fails_is_what_was_found_on_this_night() -> None:
    nights = nights_up_to_the_finding()
    watch, suites, summary = written(nights)
    assert watch.worsened
    cases = suites[ITEM]
    failed = {name for name, case in cases.items() if case.kind == "failure"}
    assert failed == {WAF}
    assert cases[WAF].words == report_lines(watch)[0]
    assert cases["job"] == Case("passed", "")
    assert summary.startswith("## nightly: **regression**\n\n- load/default: since 2026-11-17 (")
    assert f"| {ITEM} | done | {WAF} | 4 | 0 |" in summary
    # The night before knew nothing of it; on those after it is no news.
    _, before, quiet = written(nights[:-1])
    assert {case.kind for case in before[ITEM].values()} == {"passed"}
    assert quiet.startswith("## nightly: no regression found\n\n\n| job | ended |")
    later, after, summary = written(nights_that_turn_worse())
    assert after[ITEM][WAF] == Case("passed", report_lines(later)[0])
    assert "no regression found" in summary and "since 2026-11-17" not in summary


@pytest.mark.parametrize("many", range(1, len(nights_that_turn_worse()) + 1))
def test_as_many_series_are_compared_as_the_watch_has_tested(many: int) -> None:
    watch, suites, _ = written(nights_that_turn_worse()[:many])
    compared = [case.kind for name, case in suites[ITEM].items() if name != "job"]
    assert len(compared) - compared.count("skipped") == watch.tested
    assert (compared.count("failure") > 0) == watch.worsened


def test_a_first_night_is_compared_with_nothing_and_says_so() -> None:
    _, suites, summary = written(nights_that_turn_worse()[:1])
    assert suites[ITEM][WAF] == Case("skipped", "1 of 5 nights needed for a comparison")
    assert summary.startswith("## nightly: nothing to compare yet\n")
    assert f"| {ITEM} | done |  | 0 | 4 |" in summary
    assert "a series needs 5 nights" in summary


def test_a_series_begins_anew_with_another_setting() -> None:
    same = nights_that_turn_worse()[:6]
    other = result({"waf": 9.0, "sa": 1.0, "time": 3.0, "rate": 100.0}, job={**ASKED, "scale": 2})
    _, suites, _ = written([*same, other])
    assert suites[ITEM][WAF].words.startswith("1 of 5 nights needed")
    assert len(suites[ITEM]) == 5  # the job, and each metric once


def test_a_failed_job_is_an_error_and_its_series_have_no_value() -> None:
    gone = {"item": ITEM, "state": "failed", "error": "the disk is\x00 on <fire> | & \x1b[31mred"}
    other = {"item": "never/ran", "state": "cancelled", "error": None}
    _, suites, summary = written([*nights_that_turn_worse()[:6], None], gone, other)
    assert suites[ITEM]["job"] == Case("error", "failed: the disk is on <fire> | & [31mred")
    assert suites[ITEM][WAF] == Case("skipped", "no value this night")
    assert suites["never/ran"] == {"job": Case("error", "cancelled: no reason recorded")}
    assert "- load/default: failed: the disk is on &#60;fire&#62; &#124; &#38;" in summary
    assert f"| {ITEM} | failed |  | 0 | 4 |" in summary
    assert "<" not in summary


def test_a_change_for_the_better_is_told_and_fails_nothing() -> None:
    nights = nights_up_to_the_finding()
    better = [
        {**each, "baseline": {**each["baseline"], "noise": {
            name: {**noise, "median": 6 / noise["median"]}
            for name, noise in each["baseline"]["noise"].items()
        }}}
        for each in nights
    ]  # fmt: skip
    watch, suites, summary = written(better)
    assert watch.found_tonight and not watch.worsened
    assert suites[ITEM][WAF] == Case("passed", report_lines(watch)[0])
    assert "better; p" in summary and summary.startswith("## nightly: no regression found\n")
