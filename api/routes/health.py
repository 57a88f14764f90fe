"""Whether the service lives, and whether it can work."""

from __future__ import annotations

from fastapi import APIRouter
from sqlalchemy.exc import SQLAlchemyError

from api.dependencies import StoreDep
from api.problems import ProblemError
from db.migrate import is_current

router = APIRouter(tags=["health"])


@router.get("/healthz", operation_id="healthz")
def healthz() -> dict[str, str]:
    """The process answers."""
    return {"status": "ok"}


@router.get("/readyz", operation_id="readyz")
def readyz(store: StoreDep) -> dict[str, str]:
    """The database answers and has the tables of this version."""
    try:
        ready = is_current(store.engine)
    except SQLAlchemyError:
        raise ProblemError(503, "the database does not answer") from None
    if not ready:
        raise ProblemError(503, "the database's tables are not of this version; upgrade them")
    return {"status": "ready"}
