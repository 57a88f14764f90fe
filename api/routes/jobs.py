"""Jobs: where they stand, what they measured, what they found."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse, PlainTextResponse

from api.dependencies import StoreDep
from api.problems import RESPONSES, ProblemError
from api.schemas import JobPage, JobPublic, JobSummary, TrialPage, TrialPublic
from db.job_store import JobRow, JobState, Store
from jobs.artifacts import OPTIONS
from jobs.report import report_html
from jobs.run_job import Finished, finished_job
from sampler.outcome import TrialState

router = APIRouter(prefix="/v1/jobs", tags=["jobs"], responses=RESPONSES)

Limit = Annotated[int, Query(ge=1, le=1000)]
After = Annotated[int | None, Query(ge=0, le=2**63 - 1)]


@router.get("", operation_id="list_jobs")
def list_jobs(
    store: StoreDep, state: JobState | None = None, limit: Limit = 50, after: After = None
) -> JobPage:
    """Jobs, newest first, a page at a time."""
    rows = store.jobs(limit=limit, after=after, state=state)
    following = rows[-1].id if len(rows) == limit else None
    return JobPage(jobs=[JobSummary.of(row) for row in rows], next=following)


@router.get("/{job_id}", operation_id="show_job")
def show_job(store: StoreDep, job_id: int) -> JobPublic:
    """A job, with its phase, why it is in it, and how far it is."""
    row = _job(store, job_id)
    counts = store.count_trials(job_id)
    done = counts.get(TrialState.DONE, 0)
    waiting = counts.get(TrialState.RUNNING, 0) + counts.get(TrialState.LOST, 0)
    return JobPublic.of(row, done=done, failed=sum(counts.values()) - done - waiting)


@router.get("/{job_id}/trials", operation_id="list_trials")
def list_trials(
    store: StoreDep, job_id: int, limit: Limit = 100, after: After = None
) -> TrialPage:
    """Trials by number, a page at a time."""
    _job(store, job_id)
    trials = store.trials(job_id, after=after or 0, limit=limit)
    following = trials[-1].number if len(trials) == limit else None
    return TrialPage(trials=[TrialPublic.of(trial) for trial in trials], next=following)


@router.get("/{job_id}/parameters", operation_id="rank_parameters")
def rank_parameters(store: StoreDep, job_id: int) -> list[dict[str, Any]]:
    """The parameters of a finished job, the most important first."""
    ranked: list[dict[str, Any]] = _finished(store, job_id).result["parameters"]
    return ranked


@router.get("/{job_id}/result", operation_id="show_result")
def show_result(store: StoreDep, job_id: int) -> dict[str, Any]:
    """The whole result of a finished job: result.json."""
    return dict(_finished(store, job_id).result)


@router.get("/{job_id}/report", operation_id="show_report", response_class=HTMLResponse)
def show_report(store: StoreDep, job_id: int) -> HTMLResponse:
    """The report of a finished job, one page that needs nothing else."""
    return HTMLResponse(report_html(_finished(store, job_id)))


@router.get("/{job_id}/options", operation_id="download_options", response_class=PlainTextResponse)
def download_options(store: StoreDep, job_id: int) -> PlainTextResponse:
    """The best OPTIONS file of a finished job."""
    text = _finished(store, job_id).options
    if text is None:
        raise ProblemError(404, f"job {job_id} found nothing better than its baseline")
    disposition = {"Content-Disposition": f'attachment; filename="{OPTIONS}"'}
    return PlainTextResponse(text, headers=disposition)


def _job(store: Store, job_id: int) -> JobRow:
    try:
        return store.job(job_id)
    except KeyError:
        raise ProblemError(404, f"there is no job {job_id}") from None


def _finished(store: Store, job_id: int) -> Finished:
    row = _job(store, job_id)
    if row.state is not JobState.DONE:
        raise ProblemError(404, f"job {job_id} is {row.state.value}; it has no result yet")
    return finished_job(store.engine, job_id)
