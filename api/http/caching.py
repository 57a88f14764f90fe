"""ETags: what a job that has ended says does not change, and need not be sent twice."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any

from fastapi import Depends, Header, Request, Response

from api.services.dependencies import JobDep
from db.schema.job_row import ENDED, JobRow
from jobs.results.pages import VERSION

UNCHANGED: dict[int | str, dict[str, Any]] = {
    304: {"description": "As the ETag says, nothing has changed"}
}
"""What a route that takes ``CachedJobDep`` may answer, for the description."""


class NotModifiedError(Exception):
    """The client has it already."""

    def __init__(self, headers: dict[str, str]) -> None:
        super().__init__("not modified")
        self.headers = headers


async def _unless_known(
    request: Request,
    response: Response,
    job: JobDep,
    if_none_match: Annotated[str | None, Header(max_length=4000)] = None,
) -> JobRow:
    if job.state not in ENDED:
        response.headers["Cache-Control"] = "no-store"
        return job
    what = f"{request.url.path}?{request.url.query} {request.headers.get('accept', '')}"
    # With another version of Rocktune the same job may have another report.
    when = f"{job.run} {job.updated_at.timestamp()} {job.state.value} {VERSION}"
    tag = f'W/"{hashlib.sha256(f"{what} {when}".encode()).hexdigest()[:24]}"'
    headers = {"ETag": tag, "Cache-Control": "private, no-cache", "Vary": "Accept, Authorization"}
    known = [each.strip() for each in (if_none_match or "").split(",")]
    if tag in known or "*" in known:
        raise NotModifiedError(headers)
    response.headers.update(headers)
    return job


CachedJobDep = Annotated[JobRow, Depends(_unless_known)]
"""A job; where the client knows the answer already, 304 instead."""
