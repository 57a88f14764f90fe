"""A user's own runner, and limits on what it tells."""

import pytest
from sqlalchemy import Engine

from db.jobs.job_store import JobStore
from jobs.external import ExternalJobs, ReportedTrial
from optimizer.objective.objective import Limit, limit_words
from optimizer.trials.trial import Trial
from tests.support.jobs.elsewhere import measured, submit_external

LIMIT = Limit("lag", at_most_baseline=1.5)


def told(trial: Trial) -> ReportedTrial:
    """All but the baseline lag behind: twice as long."""
    lag = 1.0 if trial.is_baseline else 2.0
    of_waf = measured(trial)
    return ReportedTrial(
        number=trial.number, attempt=trial.attempt, host=of_waf.host, bench_seconds=1.0,
        metrics={**of_waf.metrics, "lag": lag},
    )  # fmt: skip


@pytest.mark.slow
def test_a_winner_that_breaks_one_is_not_called_proven(database: Engine):
    job_id = submit_external(database, trials=24, limits=[limit_words(LIMIT)])
    jobs = ExternalJobs(database)
    while not (asked := jobs.ask(job_id, 4)).complete:
        for trial in asked.trials:
            jobs.tell(job_id, [told(trial)])
    store = JobStore(database)
    declared, result = store.recall(job_id, "declared_test"), store.result(job_id)
    assert declared is not None and result is not None
    assert declared["limits"] == ["lag <= 1.5 baseline"]
    (row,) = result["verdict"]["limits"]
    assert (row["at_most"], row["value"], row["kept"], row["runs_kept"]) == (1.5, 2.0, False, 0)
    assert result["verdict"]["p"] < 0.025
    assert result["best"] is None
