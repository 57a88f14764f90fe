"""What a finished job has; one that is not finished has none yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from api.dependencies import Service
from api.problems import ProblemError
from db.job_row import JobRow, JobState


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
