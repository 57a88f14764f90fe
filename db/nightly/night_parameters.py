"""What each night of a batch found of its parameters: ranks, and the values of the best."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Engine, select

from db.connection.transactions import reading
from db.schema.batch_state import BATCH_ENDED
from db.schema.tables import batch, job


@dataclass(frozen=True)
class ParameterNight:
    """One parameter in one night.

    Attributes:
        at: When the night began.
        job_id: The job.
        rank: Of how many parameters it was which; None: nothing was ranked.
        of: How many.
        share: Its share of what all parameters make.
        value: In the night's best configuration; None: nothing was proven, or it is inactive.
        baseline: In the baseline.
        proven: Whether the night proved something better.
    """

    at: datetime
    job_id: int
    rank: int | None
    of: int
    share: float | None
    value: Any
    baseline: Any
    proven: bool


def parameter_nights(engine: Engine, name: str, item: str, parameter: str) -> list[ParameterNight]:
    """The history of a parameter, the oldest night first; jobs that were deleted are left out.

    Args:
        engine: The database.
        name: Of the batch.
        item: Which of its jobs.
        parameter: Its name.
    """
    parts = (job.c.result["parameters"], job.c.result["best"],
             job.c.result[("baseline", "configuration")])  # fmt: skip
    which = (
        select(batch.c.created_at, job.c.id, *parts)
        .join(job, job.c.batch_id == batch.c.id)
        .where(batch.c.name == name, batch.c.state.in_(BATCH_ENDED))
        .where(job.c.batch_item == item, job.c.result.is_not(None))
        .order_by(batch.c.id)
    )
    with reading(engine) as connection:
        rows = connection.execute(which).all()
    return [_night(parameter, *row) for row in rows]


def _night(
    parameter: str,
    at: datetime,
    job_id: int,
    ranked: list[Mapping[str, Any]] | None,
    best: Mapping[str, Any] | None,
    start: Mapping[str, Any] | None,
) -> ParameterNight:
    row = next((each for each in ranked or () if each["name"] == parameter), None)
    return ParameterNight(
        at=at,
        job_id=job_id,
        rank=row["rank"] if row else None,
        of=len(ranked or ()),
        share=row["share"] if row else None,
        value=best["configuration"].get(parameter) if best else None,
        baseline=(start or {}).get(parameter),
        proven=best is not None,
    )
