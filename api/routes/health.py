"""Whether the service lives, whether it can work, and what it has done."""

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import BaseModel
from sqlalchemy.exc import SQLAlchemyError

from api.auth.security import READS
from api.http.problems import EVERYWHERE, ProblemError, described
from api.http.prometheus import registry_of
from api.services.dependencies import ServiceDep
from db.connection.migrate import is_current

router = APIRouter(tags=["operations"])


class Health(BaseModel):
    """State of the service."""

    status: str


@router.get("/healthz")
async def healthz() -> Health:
    """Returns 200 if the process answers."""
    return Health(status="ok")


@router.get("/readyz", responses=described(503))
def readyz(service: ServiceDep) -> Health:
    """Returns 200 if the database answers and has the tables of this version."""
    try:
        ready = is_current(service.engine)
    except SQLAlchemyError:
        raise ProblemError(503, "the database does not answer") from None
    if not ready:
        raise ProblemError(503, "the database's tables do not fit this version; upgrade them")
    return Health(status="ready")


@router.get(
    "/metrics", response_class=PlainTextResponse, dependencies=[READS], responses=EVERYWHERE
)
def metrics(service: ServiceDep) -> PlainTextResponse:
    """Returns the metrics of the service for Prometheus."""
    text = generate_latest(registry_of(service.engine))
    return PlainTextResponse(text, media_type=CONTENT_TYPE_LATEST)
