"""The pages of long jobs are timed in a real browser, over jobs that are long in every respect."""

import re
from pathlib import Path

import pytest
from sqlalchemy import Engine

from benchmarks.page_views import long_job
from benchmarks.page_views.__main__ import main
from db.jobs.job_store import JobStore
from jobs.views.live import job_series_of
from optimizer.trials.trial import Phase, Purpose


@pytest.mark.slow
def test_a_job_is_made_longer_between_its_search_and_its_proof(
    database: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(long_job, "_RUN", 24)
    job_id = long_job.job_of(database, 100)
    store = JobStore(database)
    trials = store.trials(job_id)
    # The third run of the three pairs is left over where the winner is the best starting point.
    count = len(trials)
    assert count in (97, 100)
    assert [trial.number for trial in trials] == list(range(1, count + 1))
    phases = [trial.phase for trial in trials]
    assert phases == sorted(phases, key=list(Phase).index)
    new = [trial.digest for trial in trials if trial.purpose is Purpose.CANDIDATE]
    assert len(set(new)) == len(new) > 76
    row = store.job(job_id)
    assert row.standing is not None
    assert row.standing["done"] + row.standing["failed"] == count
    assert row.standing["total"] == 100
    course = job_series_of(database, row)
    assert course is not None and course.best is not None


@pytest.mark.slow
@pytest.mark.chromium
def test_a_page_is_timed_from_the_first_byte_to_the_last_plot(tmp_path: Path) -> None:
    out = tmp_path / "page_views.md"
    main(["--trials", "12", "--visits", "1", "--pages", "a job, live", "--out", str(out)])
    (row,) = re.findall(r"^\| a job, live \| 12 \|(.*)\|$", out.read_text(), re.MULTILINE)
    html, first, requests, again, server, seen, drawn, cold = (
        float(cell.replace(",", "")) for cell in row.split("|")
    )
    assert 0 < html <= again < first and requests >= 5
    assert 0 < server < seen < drawn == cold
