"""All batches, those of schedules and those of terminals, with how each of their jobs stands."""

from fastapi import APIRouter, Response

from api.pages.page import Reader
from api.pages.tables import table_address
from api.routes.jobs import After
from api.routes.schedules import BatchName
from api.services.dependencies import ServiceDep
from db.nightly.batches import BatchRow, job_states, read_batches

router = APIRouter(include_in_schema=False)
_ROWS = 20
_DELETED = (None, None)


@router.get("/batches")
def batches_page(
    visit: Reader, service: ServiceDep, name: BatchName = None, after: After = None
) -> Response:
    """A page of them, the newest first; with ``name`` those of that name."""
    rows = read_batches(service.engine, limit=_ROWS, after=after, name=name)
    states = job_states(service.engine, [row.id for row in rows])

    def at(**more: object) -> str:
        return table_address("/batches", {"name": name, **more}, "")

    return visit.page(
        "batches.html",
        batches=[
            (row, [(item, *states[row.id].get(item, _DELETED)) for item in _items(row)])
            for row in rows
        ],
        name=name,
        first=at() if after is not None else None,
        following=at(after=rows[-1].id) if len(rows) == _ROWS else None,
    )


def _items(row: BatchRow) -> list[str]:
    return [each["item"] for each in row.document["items"]]
