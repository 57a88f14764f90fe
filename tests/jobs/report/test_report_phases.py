"""Why each phase began and ended, told from the trials alone."""

from collections.abc import Mapping
from dataclasses import replace
from statistics import median
from typing import Any

from jobs.report.course import phases_section
from jobs.results.outcome import JobOutcome
from optimizer.budget.budget import divide
from optimizer.results.document import Result
from optimizer.trials.trial import Phase
from tests.support.jobs.pretended_job import finished_job


def test_all_phases_in_their_order(finished: JobOutcome):
    names, begun, over, runs, _, why = zip(*rows_of(finished, finished.result), strict=True)
    assert names == ("baseline", "sample", "rank", "search", "confirm")
    assert sum(int(number or 0) for number in runs) == len(finished.trials) == 60
    assert list(begun) == sorted(begun)
    assert all(began <= end < "unknown" for began, end in zip(begun, over, strict=True))
    assert why[3] == f"the budget for new configurations, {divide(60).explore}, was used"
    assert f"{2 * divide(60).pairs} proof runs succeeded" in why[4]


def rows_of(finished: JobOutcome, result: Mapping[str, Any]) -> Any:
    """Name, begin, end, runs, why it began and why it ended, of each phase."""
    return phases_section(Result.read(result), finished.trials).blocks[0].rows


def ended(finished: JobOutcome, planned: int | None, **job: Any) -> str:
    """Why the search ended, had the job been asked for so and planned so many configurations."""
    asked = {**finished.result["job"], **job}
    plan = {} if planned is None else {"explore": planned}
    result = {**finished.result, "job": asked, "sampling": None, "plan": plan}
    return next(row[-1] for row in rows_of(finished, result) if row[0] == "search")


def test_a_search_that_ended_otherwise(finished: JobOutcome):
    explored = finished.result["plan"]["explore"]
    assert ended(finished, 99, search={"stop_early": True}) == (
        f"the search stopped early, as its settings allow, after {explored} configurations"
    )
    used = f"the budget for new configurations, {explored}, was used"
    assert ended(finished, explored, trials=None, minutes=5) == used
    assert ended(finished, 99, trials=None, minutes=5) == (
        "the remaining time was needed for the confirmation"
    )
    assert ended(finished, 99) == f"{explored} of 99 planned configurations were tried"
    # Results of earlier versions do not tell what was planned.
    assert ended(finished, None) == f"{explored} new configurations were tried"


def test_what_the_search_could_still_have_gained_is_told(finished: JobOutcome):
    explored = finished.result["plan"]["explore"]
    search = {"saved": 0, "why": "expected gain 30, noise 21"}
    told = replace(finished, result={**finished.result, "search": search})
    used = f"the budget for new configurations, {explored}, was used"
    assert ended(told, explored) == f"{used}; expected gain 30, noise 21"
    search |= {"saved": 9, "why": "expected gain 3, below the noise of 21: 9 runs saved"}
    assert ended(told, explored + 9, search={"stop_early": True}) == search["why"]


def test_configurations_that_were_measured_again_are_not_new(finished: JobOutcome):
    explored = finished.result["plan"]["explore"]
    last = max(t.number for t in finished.trials if t.phase is Phase.SEARCH and not t.is_baseline)
    trials = tuple(replace(t, subject=5) if t.number == last else t for t in finished.trials)
    again = replace(finished, trials=trials)
    assert ended(again, explored) == (
        f"the budget for new configurations, {explored}, was used, "
        "1 of it to repeat doubtful results"
    )
    assert ended(again, None) == f"{explored - 1} new configurations were tried"


def test_why_the_draws_ended_is_told_where_it_is_known(finished: JobOutcome):
    result = {**finished.result, "sampling": {"why": "the order was steady"}}
    assert rows_of(finished, result)[1][-1] == "the order was steady"
    draws = sum(t.phase is Phase.SAMPLE and not t.is_baseline for t in finished.trials)
    _, sample, *_ = rows_of(finished, {**finished.result, "sampling": None})
    assert sample[-1] == f"the sampling budget, {draws} configurations, was used"


def test_a_job_without_a_search_has_no_ranking_phase():
    job = finished_job(12, strategy="random")
    assert [row[0] for row in rows_of(job, job.result)] == ["baseline", "sample", "confirm"]


def test_given_trials_are_no_part_of_what_was_done(finished: JobOutcome):
    given = tuple(replace(trial, given=True) for trial in finished.trials)
    assert rows_of(replace(finished, trials=given), finished.result) == []


def test_a_baseline_s_medians_are_of_all_its_runs_and_not_of_those_of_the_proof(
    finished: JobOutcome,
):
    runs = [t.metrics["time"] for t in finished.trials if t.is_baseline and t.done]
    baseline = finished.result["baseline"]
    assert baseline["noise"]["time"]["median"] == median(runs) != baseline["metrics"]["time"]
