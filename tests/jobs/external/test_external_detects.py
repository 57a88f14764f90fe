"""A user's own runner, and a proof that is planned to show a change."""

import pytest
from sqlalchemy import Engine

from db.jobs.job_store import JobStore
from jobs.external import ExternalJobs
from optimizer.trials.trial import Purpose
from tests.support.jobs.elsewhere import run_to_the_end, submit_external


@pytest.mark.slow
def test_is_planned_by_the_noise_that_was_told(database: Engine):
    job_id = submit_external(database, trials=40, detect="0.1%")
    handed = run_to_the_end(ExternalJobs(database), job_id)
    store = JobStore(database)
    declared, result = store.recall(job_id, "declared_test"), store.result(job_id)
    assert declared is not None and result is not None
    assert [t.purpose for t in handed[:6]] == [Purpose.BASELINE] * 5 + [Purpose.CANDIDATE]
    # 0.1% of noise, of which 0.1% is to be shown: some 17 pairs, where half of 40 trials is 5
    # blocks of baseline, winner and best starting point.
    assert declared["planned"]["needed"] > declared["planned"]["pairs"] == declared["pairs"] == 5
    assert result["power"]["planned"] == declared["planned"]
    proof = [t for t in handed if t.purpose is Purpose.PROVE]
    assert len(proof) == 3 * declared["pairs"]
    # The declaration is that of a job of one's own: it names the starting point beside the winner.
    assert {t.subject for t in proof} == {1, declared["winner"], declared["starting_point"]}
    assert len(handed) == 40
