"""Jobs in a list: little of each, so that a page of many is quick."""

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, and_, case, func, literal, or_, select

from db.connection.transactions import read_all, reading
from db.schema.job_row import PARTS, BriefJob, JobKind, JobState, ListedJob
from db.schema.tables import job
from db.schema.types import safe_text
from optimizer.trials.problem import FORMER_NAMES
from sampler.common.errors import InputError

_strategy = job.c.specification["strategy"].as_string()
_NAMES: dict[str, ColumnElement[Any]] = {
    **{part: job.c.specification[(part, "name")].as_string() for part in PARTS},
    "strategy": case(FORMER_NAMES, value=_strategy, else_=_strategy),
    "title": job.c.specification["title"].as_string(),
}
_ASKED = {**_NAMES, "trials": job.c.specification["trials"].as_integer()}
_OWN = [job.c[name] for name in BriefJob.__dataclass_fields__]
_SEARCHED = (*_NAMES.values(), job.c.submitter, job.c.why)
_NO_BEST = -1e300  # a job that has found nothing yet stands below all others
_KEYS: dict[str, ColumnElement[Any]] = {
    "id": job.c.id,
    "state": job.c.state,
    "workload": _ASKED["workload"],
    "updated_at": job.c.updated_at,
    "best": func.coalesce(job.c.standing[("best", "fitness")].as_float(), _NO_BEST),
}


class JobOrder(StrEnum):
    """By what a list of jobs is sorted; with a minus the largest first."""

    NEWEST = "-id"
    OLDEST = "id"
    CHANGED = "-updated_at"
    UNCHANGED = "updated_at"
    BEST = "-best"
    WORST = "best"
    WORKLOAD = "workload"
    WORKLOAD_BACKWARDS = "-workload"
    STATE = "state"
    STATE_BACKWARDS = "-state"


Version = tuple[JobState, int, datetime]
"""State, run and last change of a job: equal as long as nothing of it has changed."""


def job_versions(engine: Engine, job_ids: Collection[int]) -> dict[int, Version]:
    """The versions of some jobs by number, in one statement; deleted ones are not there."""
    which = select(job.c.id, job.c.state, job.c.run, job.c.updated_at).where(job.c.id.in_(job_ids))
    return {row.id: (row.state, row.run, row.updated_at) for row in read_all(engine, which)}


def read_jobs(
    engine: Engine,
    *,
    limit: int,
    after: int | None = None,
    state: JobState | None = None,
    kind: JobKind | None = None,
    search: str = "",
    order: JobOrder = JobOrder.NEWEST,
) -> list[ListedJob]:
    """A page of jobs, behind the job ``after``; those equal in the order by number likewise.

    ``search`` leaves those of this number, and those with this text, in capital or small letters,
    in the name of the workload, space, objective, strategy or submitter or in the reason for the
    phase.

    Raises:
        InputError: ``after`` is no job (any more) and the order is not by number, or the text to
            search is none.
    """
    if safe_text(search) != search:
        raise InputError("search", "has characters that cannot be stored as text; remove them")
    page = select(*_OWN, *_ASKED.values()).limit(limit)
    for column, value in ((job.c.state, state), (job.c.kind, kind)):
        if value is not None:
            page = page.where(column == value)
    if search:
        page = page.where(or_(*_matches(search)))
    key, falling = _KEYS[order.removeprefix("-")], order.startswith("-")
    page = page.order_by(*((c.desc() if falling else c) for c in (key, job.c.id)))
    with reading(engine) as connection:
        if after is not None:
            page = page.where(_behind(connection, key, falling, after))
        rows = connection.execute(page).all()
    return [
        ListedJob(
            **dict(zip(BriefJob.__dataclass_fields__, row, strict=False)),
            asked=dict(zip(_ASKED, row[len(_OWN) :], strict=True)),
        )
        for row in rows
    ]


def _matches(search: str) -> Iterator[ColumnElement[bool]]:
    number = search.removeprefix("#")
    if number.isascii() and number.isdecimal() and len(number) < 19:
        yield job.c.id == int(number)
    yield from (column.icontains(search, autoescape=True) for column in _SEARCHED)


def _behind(
    connection: Connection, key: ColumnElement[Any], falling: bool, after: int
) -> ColumnElement[bool]:
    further = job.c.id < after if falling else job.c.id > after
    if key is job.c.id:
        return further
    found = connection.execute(select(key).where(job.c.id == after)).first()
    if found is None:
        raise InputError("after", f"job {after} no longer exists; start again from the first page")
    value = literal(found[0], key.type)
    return or_(key < value if falling else key > value, and_(key == value, further))


def standings(engine: Engine) -> list[tuple[JobState, Mapping[str, Any] | None]]:
    """State and standing of every job: what the metrics are summed from."""
    rows = read_all(engine, select(job.c.state, job.c.standing))
    return [(row.state, row.standing) for row in rows]


def count_by_state(engine: Engine) -> dict[JobState, int]:
    """How many jobs are in each state that occurs."""
    return dict(read_all(engine, select(job.c.state, func.count()).group_by(job.c.state)))
