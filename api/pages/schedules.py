"""Schedules: when each is due, and what became of it."""

from fastapi import APIRouter, Response

from api.pages.page import Reader
from api.routes.schedules import list_schedules
from api.schemas.schedule_schemas import BatchBrief
from api.services.dependencies import ServiceDep
from db.nightly.batches import read_batches

router = APIRouter(include_in_schema=False)
_LAST = 20


@router.get("/schedules")
def schedules_page(visit: Reader, service: ServiceDep) -> Response:
    """All schedules, and the newest batches, those of terminals too."""
    return visit.page(
        "schedules.html",
        schedules=list_schedules(service),
        batches=[BatchBrief.of(row) for row in read_batches(service.engine, limit=_LAST)],
    )
