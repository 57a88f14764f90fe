"""Batches: many jobs that were begun together, and what came of them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query

from api.auth.security import requires
from api.http.problems import EVERYWHERE, ProblemError, described
from api.routes.jobs import After, Limit
from api.schemas.batch_schemas import BatchBrief, BatchJobState, BatchPage, BatchPublic, brief
from api.schemas.schedule_schemas import NAME_PATTERN
from api.services.dependencies import ServiceDep
from db.access.tokens import Role
from db.nightly.batches import batch_jobs, batch_result, find_batch
from db.nightly.batches import list_batches as stored_batches

router = APIRouter(
    prefix="/v1/batches",
    tags=["schedules"],
    responses=EVERYWHERE,
    dependencies=[requires(Role.READ)],
)
BatchId = Annotated[int, Path(ge=1, le=2**63 - 1, description="Its number.", examples=[1])]
BatchName = Annotated[
    str | None, Query(max_length=200, pattern=NAME_PATTERN, description="Only of this name.")
]


@router.get("", operation_id="list_batches")
def list_batches(
    service: ServiceDep, name: BatchName = None, limit: Limit = 50, after: After = None
) -> BatchPage:
    """Batches, newest first, a page at a time; those of terminals too."""
    rows = stored_batches(service.engine, limit=limit, after=after, name=name)
    following = rows[-1].id if len(rows) == limit else None
    return BatchPage(batches=[BatchBrief.of(row) for row in rows], next=following)


@router.get("/{batch_id}", operation_id="show_batch", responses=described(404))
def show_batch(service: ServiceDep, batch_id: BatchId) -> BatchPublic:
    """A batch: how its jobs stand, and what came of it once it has ended."""
    try:
        row = find_batch(service.engine, batch_id)
    except KeyError:
        raise ProblemError(404, f"there is no batch {batch_id}") from None
    jobs = batch_jobs(service.engine, batch_id)
    items = [
        BatchJobState(
            item=each["item"],
            job=jobs[each["item"]].id if each["item"] in jobs else None,
            state=jobs[each["item"]].state if each["item"] in jobs else "deleted",
        )
        for each in row.document["items"]
    ]
    result = batch_result(service.engine, batch_id)
    return BatchPublic(**brief(row), items=items, result=dict(result) if result else None)
