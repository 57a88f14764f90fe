"""What is told of hosts over their jobs: changes planted in real runs, and who is excluded."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from db.jobs.job_store import JobStore
from db.leases import HostRuns, see_host
from db.schema.job_row import JobState
from jobs.regression.hosts import HostHistory, host_histories, judge_host
from tests.support.jobs.batch_nights import ASKED, ENVIRONMENT
from tests.support.jobs.host_jobs import host_baselines, keep_host_jobs, keep_set_aside
from tests.support.jobs.recorded_nights import NEW, Planted, recorded_runs

WHY = "its baseline's time jumped by +80% and stayed there"


def found(engine: Engine, name: str = "bench-1") -> HostHistory:
    return {each.name: each for each in host_histories(engine)}[name]


def told(history: HostHistory) -> dict[tuple[str, str], bool]:
    return {(each["of"], each["metric"]): each["worse"] for each in history.document()["changes"]}


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("what", "factor", "series", "worse"),
    [
        ("machine_speed", 0.8, ("machine", "machine_speed"), True),
        ("machine_speed", 1.2, ("machine", "machine_speed"), False),
        ("others_cpu", 4.0, ("machine", "others_cpu"), True),
        ("time", 1.3, ("default", "time"), True),
        ("noise of time", 9.0, ("noise", "time"), True),
    ],
)
def test_a_drift_is_told_with_its_job_and_no_other_figure_is(
    database: Engine, what: str, factor: float, series: tuple[str, str], worse: bool
):
    keep_host_jobs(database, host_baselines(Planted(since=14, metrics={what: factor})))
    history = found(database)
    assert told(history) == {series: worse}
    (row,) = [each for each in history.rows if each.night is not None]
    assert row.night == pytest.approx(15, abs=1) and "<svg" in row.drawn


def test_a_steady_host_has_nothing_told_of_it(database: Engine):
    keep_host_jobs(database, host_baselines(Planted()))
    history = found(database)
    assert told(history) == {} and history.excluded is None
    document = history.document()
    assert not document["worsened"] and document["environment"]["kernel"] == "6.1.0"
    of = {(each["of"], each["metric"]): each for each in document["series"]}
    assert [each["job"] for each in of["noise", "waf"]["values"]] == list(range(1, 25))


@pytest.mark.one_database
def test_another_build_is_no_drift_of_the_host(database: Engine):
    baselines = host_baselines(Planted(since=12, metrics={"time": 1.5}))
    keep_host_jobs(database, baselines[:12])
    keep_host_jobs(database, baselines[12:], environment={**ENVIRONMENT, "build": NEW})
    assert told(found(database)) == {}


@pytest.mark.one_database
def test_a_new_job_is_judged_and_worsens_what_it_shows(database: Engine):
    baselines = host_baselines(Planted(since=16, metrics={"time": 2.0}), jobs=30)
    keep_host_jobs(database, baselines[:16])
    assert not found(database).report.worsened
    for baseline in baselines[16:]:
        keep_host_jobs(database, [baseline])
        if found(database).report.worsened:
            break
    else:
        pytest.fail("the change was never found")
    keep_host_jobs(database, [baselines[20]])
    assert told(found(database)) and not found(database).report.worsened


def test_an_excluded_host_is_told_with_the_job_the_reason_and_since_when(database: Engine):
    keep_host_jobs(database, host_baselines(Planted(), jobs=3))
    number = keep_set_aside(database, WHY, state=JobState.RUNNING)
    out = found(database).excluded
    assert (out.job_id, out.why, out.live) == (number, WHY, True)
    assert out.since == recorded_runs()[0].finished_at


@pytest.mark.one_database
def test_since_the_beginning_where_no_run_of_it_counts(database: Engine):
    number = keep_set_aside(database, WHY, state=JobState.DONE, since=None)
    see_host(database, "bench-1", {"cpu": "x"}, None)
    out = found(database).excluded
    assert not out.live
    assert out.since == JobStore(database).job(number).created_at


@pytest.mark.one_database
def test_a_later_job_that_it_measured_for_ends_it(database: Engine):
    keep_set_aside(database, WHY, state=JobState.DONE)
    keep_host_jobs(database, host_baselines(Planted(), jobs=1))
    assert found(database).excluded is None


def test_a_running_job_that_excludes_it_is_told_whatever_was_sent_or_ended_since(database: Engine):
    see_host(database, "bench-1", {}, None)
    number = keep_set_aside(database, WHY, state=JobState.RUNNING)
    keep_set_aside(database, "another reason", state=JobState.DONE)
    keep_host_jobs(database, host_baselines(Planted(), jobs=1))
    for _ in range(101):
        JobStore(database).create_job(ASKED, "digest")
    out = found(database).excluded
    assert (out.job_id, out.why, out.live) == (number, WHY, True)
    JobStore(database).set_state(number, JobState.DONE)
    assert found(database).excluded is None


@pytest.mark.one_database
def test_jobs_that_wait_displace_no_exclusion_of_an_ended_one(database: Engine):
    see_host(database, "bench-1", {}, None)
    number = keep_set_aside(database, WHY, state=JobState.DONE)
    for _ in range(101):
        JobStore(database).create_job(ASKED, "digest")
    out = found(database).excluded
    assert (out.job_id, out.live) == (number, False)


@pytest.mark.one_database
def test_hosts_of_the_table_and_of_jobs_are_told_once(database: Engine):
    see_host(database, "seen", {"cpu": "x"}, 7)
    keep_host_jobs(database, host_baselines(Planted(), jobs=1), host="measured")
    seen, measured = (found(database, name).document() for name in ("seen", "measured"))
    assert (seen["alive"], seen["job_id"], seen["series"]) == (True, 7, [])
    assert (measured["alive"], measured["job_id"]) == (False, None)
    assert measured["seen_at"] is not None


def runs(baselines: list[dict[str, Any]]) -> Iterator[HostRuns]:
    for number, each in enumerate(baselines, 1):
        yield HostRuns(number, datetime(2026, 11, 1, tzinfo=UTC), ASKED, ENVIRONMENT, each)


@pytest.mark.slow
@settings(max_examples=20)
@given(st.floats(0.1, 50), st.integers(0, 50))
def test_how_fast_a_host_is_does_not_decide_what_is_found(factor: float, seed: int):
    planted = Planted(since=14, metrics={"time": 1.3, "machine_speed": 0.8})
    baselines = host_baselines(planted, seed=seed)
    faster = [
        each | {"metrics": each["metrics"] | {n: each["metrics"][n] * factor
                                              for n in ("time", "machine_speed")}}
        for each in baselines
    ]  # fmt: skip
    one, other = judge_host(list(runs(baselines))), judge_host(list(runs(faster)))
    assert [(f.series.metric, f.alarm.since, f.worse) for f in one.findings] == [
        (f.series.metric, f.alarm.since, f.worse) for f in other.findings
    ]


@given(st.integers(0, 6))
def test_few_jobs_are_no_error(jobs: int):
    report = judge_host(list(runs(host_baselines(Planted(), jobs=jobs))))
    assert len(report.nights) == jobs and not report.findings
