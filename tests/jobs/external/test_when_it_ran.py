"""When a suggestion was measured, and who holds its job while suggestions are made."""

from __future__ import annotations

import threading
from datetime import timedelta
from functools import partial

import pytest
from sqlalchemy import Engine, select

from db.connection.engine import reading
from db.schema.tables import job
from jobs import external
from jobs.execution.held_job import renewed_meanwhile
from jobs.external import ExternalJobs, ReportedTrial, ReportedTrials
from optimizer.trials.trial import History, Purpose, Trial
from sampler.bench.outcome import TrialState
from tests.support.jobs.elsewhere import submit_external
from tests.support.optimizer.pretend_bench import START, bowl, problem_of, trial_of


def told(bench_seconds: float, state: TrialState = TrialState.DONE) -> Trial:
    """A suggestion that was asked for at ``START``, long ago, and is told now."""
    problem = problem_of()
    start = problem.space.default_configuration()
    baseline = trial_of(1, bowl(start), configuration=start, purpose=Purpose.BASELINE)
    asked = trial_of(2, configuration=start, state=TrialState.RUNNING, seconds=0.0)
    reported = ReportedTrials(problem, History([baseline, asked]))
    metrics = bowl(start) if state is TrialState.DONE else {}
    reported.add(
        ReportedTrial(number=2, state=state, metrics=metrics, bench_seconds=bench_seconds)
    )
    (found,) = reported.trials
    return found


@pytest.mark.parametrize("state", [TrialState.DONE, TrialState.FAILED])
def test_one_of_many_suggestions_began_as_long_before_it_was_told_as_it_took(state: TrialState):
    trial = told(90.0, state)
    assert trial.started_at is not None and trial.finished_at is not None
    assert trial.finished_at - trial.started_at == timedelta(seconds=90)


@pytest.mark.parametrize("seconds", [0.0, 1e9])
def test_it_began_when_it_was_asked_for_where_nothing_else_is_known(seconds: float):
    assert told(seconds).started_at == START


def test_what_is_given_began_nobody_knows_when():
    problem = problem_of()
    reported = ReportedTrials(problem, History())
    start = problem.space.default_configuration()
    reported.add(ReportedTrial(baseline=True, metrics=bowl(start), bench_seconds=9.0))
    assert [trial.started_at for trial in reported.trials] == [None]


def test_nobody_else_takes_a_job_whose_suggestions_take_longer_than_its_lease(
    database: Engine, monkeypatch: pytest.MonkeyPatch
):
    job_id = submit_external(database, trials=24)

    def until() -> object:
        with reading(database) as connection:
            which = select(job.c.lease_expires_at).where(job.c.id == job_id)
            return connection.execute(which).scalar_one()

    monkeypatch.setattr(external, "renewed_meanwhile", partial(renewed_meanwhile, every=0.01))
    with ExternalJobs(database).hold(job_id):
        at_first, given_up = until(), threading.Event()
        stop = threading.Timer(30.0, given_up.set)
        stop.start()
        while until() <= at_first:  # type: ignore[operator]
            assert not given_up.is_set(), "the lease is not renewed"
        stop.cancel()
    assert until() is None
    assert not [each for each in threading.enumerate() if each.name == f"lease of job {job_id}"]
