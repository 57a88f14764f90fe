"""What a live page is drawn from: the course of a job, its plots, its events."""

from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from db.connection.engine import reading
from db.jobs.job_store import JobStore
from db.leases import acquire, this_process_name
from db.trials.trial_log import StoredTrialLog
from db.trials.trial_rows import read_baseline_runs, read_latest, read_trial_facts
from jobs.charts.trials import metric_series_chart
from jobs.results import fits
from jobs.views import live as live_module
from jobs.views.live import baseline_so_far, job_series_of, live_job
from optimizer.evaluation.baseline import MetricNoise, summarise
from optimizer.objective.objective import Term
from optimizer.trials.trial import Phase, Purpose, Trial
from sampler.bench.outcome import TrialState
from tests.support.api.browser import see
from tests.support.api.callers import EXTERNAL, submit
from tests.support.api.fake_runner import ask, measure, tell
from tests.support.api.sse import events

pytestmark = pytest.mark.one_database

LIMITED = {**EXTERNAL, "trials": 24, "strategy": "random", "limits": ["rate <= 1300"]}


def advance(client: TestClient, job: int, rounds: int) -> None:
    """Tells some trials, of which the fifth has failed."""
    for _ in range(rounds):
        for suggestion in ask(client, job, count=2)["suggestions"]:
            failed = {"number": 5, "state": "failed", "failure": "it broke\nsomewhere"}
            tell(client, job, failed if suggestion["number"] == 5 else measure(suggestion))


def chart(client: TestClient, name: str) -> dict[str, Any]:
    found = client.get("/v1/jobs/1/charts").json()["charts"]
    return {each["name"]: each["figure"] for each in found}[name]  # type: ignore[no-any-return]


@pytest.mark.slow
def test_the_best_of_the_plots_is_that_of_the_job(client: TestClient, database: Engine) -> None:
    submit(client, LIMITED)
    assert client.get("/v1/jobs/1/charts").json() == {"charts": []}
    advance(client, 1, 7)
    best = client.get("/v1/jobs/1").json()["best"]
    course = job_series_of(database, JobStore(database).job(1))
    assert course is not None and course.breaking
    assert course.best == best["trial"]
    assert course.fitness[best["trial"]] == pytest.approx(best["fitness"])
    line = next(t for t in chart(client, "convergence")["data"] if t["name"] == "best so far")
    assert line["x"].count(best["trial"]) == 1
    assert line["y"][-1] == pytest.approx(best["fitness"], rel=1e-4)
    diamond = next(t for t in chart(client, "course-rate")["data"] if t["name"] == "best so far")
    assert diamond["x"] == [best["trial"]]


def test_the_table_and_the_plots_tell_the_same_of_the_best(
    client: TestClient, database: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit(client, {**EXTERNAL, "trials": 24, "strategy": "random"})
    advance(client, 1, 7)
    row = JobStore(database).job(1)
    course, live = job_series_of(database, row), live_job(database, row)
    assert course is not None and course.best is not None
    assert live.metrics
    for each in live.metrics:
        assert each.best == pytest.approx(course.metrics[course.best][each.term.metric])
    drifted = replace(course.baseline, hosts={h: Drifting() for h in course.baseline.hosts})
    run = next(each for each in course.runs if each.number == course.best)
    monkeypatch.setattr(live_module, "baseline_so_far", lambda *_: drifted)
    told = {each.term.metric: each.best for each in live_job(database, row).metrics}
    assert told["rate"] == pytest.approx(2 * run.metrics["rate"])


class Drifting:
    """A host that was twice as fast when all was measured."""

    runs = 2

    def factors(self, *_: object) -> dict[str, float]:
        return {"rate": 2.0}


def test_of_very_many_points_the_best_is_never_left_out() -> None:
    trials = [
        Trial(number=n, phase=Phase.SEARCH, purpose=Purpose.CANDIDATE, seed=1, configuration={},
              digest=str(n), state=TrialState.DONE)
        for n in range(1, 10_001)
    ]  # fmt: skip
    values = {n: 2.0 + n % 7 / 100 for n in range(1, 10_001)} | {4444: 0.5}
    noise = MetricNoise(median=2.0, spread=0.01, drift_p=None, drifting=False)
    for best in (4444, None):
        drawn = metric_series_chart(Term("waf", "min"), trials, values, noise, best)
        points = [x for trace in drawn.traces for x in trace["x"]]
        assert len(points) < 3500 and (best is None or best in points)
        low, high = drawn.layout["yaxis"]["range"]
        assert best is None or low < 0.5 < 2.06 < high
    assert "of 10,000 points" in drawn.caption


def test_facts_are_those_of_all_trials(client: TestClient, database: Engine) -> None:
    submit(client, LIMITED)
    advance(client, 1, 4)
    out = ask(client, 1, count=3)["suggestions"]
    with reading(database) as connection:
        facts = read_trial_facts(connection, 1)
        latest = read_latest(connection, 1, limit=4)
        baseline = read_baseline_runs(connection, 1)
    assert facts.failures == [(("failed", "it broke"), 1)]
    assert [trial.number for trial in facts.out] == [each["number"] for each in out]
    ended = JobStore(database).trials_ended(1, after=None, number=0, limit=100)
    assert [t.number for t in latest] == [t.number for t in ended][:-5:-1]
    assert facts.ended_at == ended[-1].finished_at
    whole = baseline_runs(database)
    assert [(t.number, t.metrics) for t in baseline] == [(t.number, t.metrics) for t in whole]


def baseline_runs(database: Engine) -> list[Trial]:
    return [t for t in JobStore(database).trials(1) if t.purpose is Purpose.BASELINE and t.done]


@pytest.mark.slow
def test_the_baseline_is_summed_up_when_it_has_a_new_run(
    client: TestClient, database: Engine
) -> None:
    submit(client, LIMITED)
    seen = []
    for _ in range(10):
        advance(client, 1, 1)
        known = baseline_so_far(database, JobStore(database).job(1))
        runs = baseline_runs(database)
        assert known is not None and known.runs == len(runs)
        assert known.metrics == summarise(runs).metrics
        assert baseline_so_far(database, JobStore(database).job(1)) is known
        seen.append(known)
    assert 1 < len({id(each) for each in seen}) == len({each.runs for each in seen}) < 10


def test_plots_that_take_long_are_made_again_only_after_a_while(
    client: TestClient, database: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit(client, LIMITED)
    advance(client, 1, 4)
    seconds = count(step=1.0)  # by the clock each drawing takes a second
    monkeypatch.setattr(fits, "monotonic", lambda: next(seconds))
    first = live_module.live_charts(database, JobStore(database).job(1))
    advance(client, 1, 1)
    row = JobStore(database).job(1)
    again = [live_module.live_charts(database, row) for _ in range(6)]
    assert again[0] is first and again[-1] is not first
    advance(client, 1, 1)
    client.post("/v1/jobs/1/cancel")
    ended = live_module.live_charts(database, JobStore(database).job(1))
    assert ended is not again[-1], "what has ended is drawn as it ended"


def test_a_page_hears_only_of_trials_that_it_does_not_show(
    client: TestClient, database: Engine
) -> None:
    submit(client, LIMITED)
    advance(client, 1, 3)
    page = see(client, "/jobs/1").text
    address = page.split('data-events="')[1].split('"')[0]
    assert address.startswith("/v1/jobs/1/events?after=")
    advance(client, 1, 2)
    client.post("/v1/jobs/1/cancel")
    heard = list(events(client.get(address).text.splitlines()))
    shown = JobStore(database).trials_ended(1, after=datetime.min.replace(tzinfo=UTC), number=0,
                                         limit=100)  # fmt: skip
    numbers = [each.data["number"] for each in heard if each.kind == "trial"]
    assert numbers == [trial.number for trial in shown][-len(numbers) :]
    assert 0 < len(numbers) < len(shown)
    assert heard[-1].kind == "end"


def test_a_trial_that_waits_for_the_host_is_not_said_to_run(
    client: TestClient, database: Engine
) -> None:
    job = submit(client, EXTERNAL)
    ask(client, job)
    assert "Trial 1 (baseline) is running" in see(client, f"/jobs/{job}").text
    lease = acquire(database, job, this_process_name())
    log = StoredTrialLog(database, lease)
    log.wait_for("process 4711")
    shown = see(client, f"/jobs/{job}").text
    assert "Trial 1 (baseline) waits for the bench host, which process 4711 is using." in shown
    assert "is running" not in shown
    log.wait_for(None)
    assert "Trial 1 (baseline) is running" in see(client, f"/jobs/{job}").text
