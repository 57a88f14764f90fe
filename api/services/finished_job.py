"""What a finished job has; one that is not finished has none yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from api.http.problems import ProblemError
from api.services.dependencies import Service
from db.schema.job_row import JobRow, JobState
from jobs.external.external import live_ranking
from jobs.queue.lifecycle import is_external

_MOST_LIVE = 5000


def require_done(job: JobRow) -> None:
    """Refuses a job that has not ended well.

    Raises:
        ProblemError: It has no result yet.
    """
    if job.state is not JobState.DONE:
        raise ProblemError(409, f"job {job.id} is {job.state.value}; it has no result yet")


def result_of(service: Service, job: JobRow) -> Mapping[str, Any]:
    """The document of result.json.

    Raises:
        ProblemError: The job has no result yet.
    """
    require_done(job)
    result = service.store.result(job.id)
    assert result is not None
    return result


def ranking_of(service: Service, job: JobRow) -> tuple[Mapping[str, Any], bool]:
    """What a job has learned about its parameters, and whether it is the last word.

    Raises:
        ProblemError: It has learned nothing yet.
    """
    if job.state is JobState.DONE:
        return result_of(service, job), True
    kept = service.store.recall(job.id, "ranking")
    if kept is not None:
        return kept, False
    standing = job.standing or {}
    if is_external(job) and 0 < standing.get("done", 0) <= _MOST_LIVE:
        return live_ranking(service.engine, job), False
    raise ProblemError(409, f"job {job.id} has no ranking yet; it comes when its draws are in")
