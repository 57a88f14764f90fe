"""What the nights of a batch have measured and found, one after another."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Engine, select

from db.connection.transactions import reading
from db.nightly.batches import BATCH_ENDED
from db.schema.tables import batch, job

_KEPT = ("schema", "environment", "baseline", "best", "verdict", "power", "trials", "time")


@dataclass(frozen=True)
class NightItem:
    """One job of a night.

    Attributes:
        job_id: The job; it may have been deleted since.
        result: Its result.json as ``night_result`` leaves it; None where it has none.
    """

    job_id: int
    result: Mapping[str, Any] | None


@dataclass(frozen=True)
class Night:
    """One run of a batch.

    Attributes:
        batch_id: Of the batch's row.
        at: When it began; a night that was run late has the time at which it was run.
        items: What each item measured, by the item's name.
    """

    batch_id: int
    at: datetime
    items: Mapping[str, NightItem]


def night_result(result: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a result.json that nights are compared by.

    The rankings are left out, and of the workload and the space all but name and digest: a year
    of nights then fits into memory.
    """
    kept = {name: result[name] for name in _KEPT if name in result}
    asked = dict(result.get("job") or {})
    for name in ("workload", "space"):
        if name in asked:
            # By the digest a workload that was changed under its name is told from the one before.
            text = json.dumps(asked[name], sort_keys=True)
            digest = hashlib.sha256(text.encode()).hexdigest()
            asked[name] = {"name": asked[name].get("name"), "digest": digest}
    return {"job": asked, **kept}


def nights_of_batch(engine: Engine, name: str) -> list[Night]:
    """The batches of a name that have ended, the oldest first.

    A job that was deleted since is told as the batch's own result has kept it.
    """
    which = (
        select(batch.c.id, batch.c.created_at, batch.c.result)
        .where(batch.c.name == name, batch.c.state.in_(BATCH_ENDED))
        .order_by(batch.c.id)
    )
    with reading(engine) as connection:
        rows = connection.execute(which).all()
        found = []
        for row in rows:
            items = {
                each["item"]: NightItem(each["job"], each["result"])
                for each in (row.result or {}).get("items", ())
                if each["job"] is not None
            }
            stored = select(job.c.id, job.c.batch_item, job.c.result)
            for each in connection.execute(stored.where(job.c.batch_id == row.id)):
                result = None if each.result is None else night_result(each.result)
                items[each.batch_item] = NightItem(each.id, result)
            found.append(Night(row.id, row.created_at, items))
    return found


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
    """The history of a parameter in an item of a batch, the oldest night first.

    Jobs that were deleted are left out.
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
    nights = []
    for at, job_id, ranked, best, start in rows:
        row: Mapping[str, Any] = next(
            (each for each in ranked or () if each["name"] == parameter), {}
        )
        night = ParameterNight(
            at=at,
            job_id=job_id,
            rank=row.get("rank"),
            of=len(ranked or ()),
            share=row.get("share"),
            value=best["configuration"].get(parameter) if best else None,
            baseline=(start or {}).get(parameter),
            proven=best is not None,
        )
        nights.append(night)
    return nights
