"""Jobs in a list: little of each, so that a page of many is quick."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Engine, Label, func, select

from db.job_row import JobState
from db.tables import job
from db.transactions import reading
from optimizer.trial import Phase


@dataclass(frozen=True)
class ListedJob:
    """A job as a list shows it; ``standing`` as in ``db.job_row.JobRow``."""

    id: int
    created_at: datetime
    updated_at: datetime
    state: JobState
    phase: Phase | None
    why: str
    error: str | None
    priority: int
    submitter: str | None
    standing: Mapping[str, Any] | None
    workload: str
    space: str
    objective: str
    strategy: str
    trials: int | None


def _named(part: str) -> Label[str]:
    name: Label[str] = job.c.specification[(part, "name")].as_string().label(part)
    return name


_COLUMNS = (
    job.c.id, job.c.created_at, job.c.updated_at, job.c.state, job.c.phase, job.c.why,
    job.c.error, job.c.priority, job.c.submitter, job.c.standing,
    _named("workload"), _named("space"), _named("objective"),
    job.c.specification["strategy"].as_string().label("strategy"),
    job.c.specification["trials"].as_integer().label("trials"),
)  # fmt: skip


def list_jobs(
    engine: Engine, *, limit: int, after: int | None = None, state: JobState | None = None
) -> list[ListedJob]:
    """A page of jobs, the newest first.

    Args:
        engine: The database.
        limit: How many at most.
        after: The last job of the page before; the page goes on with older ones.
        state: Only those in this state.
    """
    page = select(*_COLUMNS).order_by(job.c.id.desc()).limit(limit)
    if after is not None:
        page = page.where(job.c.id < after)
    if state is not None:
        page = page.where(job.c.state == state)
    with reading(engine) as connection:
        return [_listed(row._mapping) for row in connection.execute(page)]


def _listed(row: Mapping[Any, Any]) -> ListedJob:
    values = dict(row)
    values["state"] = JobState(values["state"])
    values["phase"] = Phase(values["phase"]) if values["phase"] else None
    return ListedJob(**values)


def standings(engine: Engine) -> list[tuple[JobState, Mapping[str, Any] | None]]:
    """State and standing of every job: what the metrics are summed from."""
    with reading(engine) as connection:
        rows = connection.execute(select(job.c.state, job.c.standing))
        return [(JobState(state), standing) for state, standing in rows]


def count_by_state(engine: Engine) -> dict[JobState, int]:
    """How many jobs are in each state that occurs."""
    with reading(engine) as connection:
        rows = connection.execute(select(job.c.state, func.count()).group_by(job.c.state))
        return {JobState(state): count for state, count in rows}
