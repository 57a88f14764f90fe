"""What the nights of a batch have measured and found, one after another."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Engine, func, or_, select

from db.connection.engine import read_all, reading
from db.nightly.batches import BATCH_ENDED
from db.schema.job_row import JobKind
from db.schema.tables import batch, job

_KEPT = ("schema", "environment", "baseline", "best", "verdict", "power", "trials", "time")
_AT_ONCE = 50  # nights, so that a year of them never stands in memory as it is stored
NightState = tuple[tuple[int, datetime, bool], ...]
"""Of each job of a night: its number, when it changed, and whether the batch had ended by then."""


@dataclass(frozen=True)
class NightItem:
    """One job of a night."""

    job_id: int  # the job; it may have been deleted since
    # Its result.json as ``night_result`` leaves it; None where it has none.
    result: Mapping[str, Any] | None


@dataclass(frozen=True)
class Night:
    """One run of a batch."""

    batch_id: int  # of the batch's row
    at: datetime  # when it began; a night that was run late has the time at which it was run
    items: Mapping[str, NightItem]  # what each item measured, by the item's name
    # Of its jobs as they were read.
    state: NightState = field(default=(), compare=False, repr=False)


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


def batch_names(engine: Engine, *, limit: int) -> list[str]:
    """The names of batches that have ended, the one with the newest night first."""
    which = select(batch.c.name).where(batch.c.state.in_(BATCH_ENDED)).group_by(batch.c.name)
    newest = which.order_by(func.max(batch.c.id).desc()).limit(limit)
    return [row.name for row in read_all(engine, newest)]


def night_states(engine: Engine, name: str, *, ending: int | None = None) -> dict[int, NightState]:
    """How the batches of a name stand that have ended, the oldest first; no result is read.

    ``ending``: a batch whose jobs have all ended counts as one of them.
    """
    which = (
        select(batch.c.id, job.c.id, job.c.updated_at, job.c.updated_at > batch.c.ended_at)
        .outerjoin(job, job.c.batch_id == batch.c.id)
        .where(batch.c.name == name, or_(batch.c.state.in_(BATCH_ENDED), batch.c.id == ending))
        .order_by(batch.c.id, job.c.id)
    )
    found: dict[int, list[tuple[int, datetime, bool]]] = {}
    for batch_id, job_id, changed_at, changed in read_all(engine, which):
        jobs = found.setdefault(batch_id, [])
        if job_id is not None:
            jobs.append((job_id, changed_at, bool(changed)))
    return {batch_id: tuple(jobs) for batch_id, jobs in found.items()}


def nights_of_batch(
    engine: Engine,
    name: str,
    *,
    states: Mapping[int, NightState] | None = None,
    known: Sequence[Night] = (),
) -> list[Night]:
    """The batches of a name that have ended, the oldest first.

    Each job is told as the batch's own result has kept it, also where it was deleted since. What
    a job has come to after the end of its batch goes before that. ``states`` are those that
    ``night_states`` has found, where it was asked before; of the nights that are ``known`` those
    that stand as they did are not read again.
    """
    states = night_states(engine, name) if states is None else states
    read = {night.batch_id: night for night in known if states.get(night.batch_id) == night.state}
    missing = [batch_id for batch_id in states if batch_id not in read]
    with reading(engine) as connection:
        for start in range(0, len(missing), _AT_ONCE):
            part = {number: states[number] for number in missing[start : start + _AT_ONCE]}
            read |= {night.batch_id: night for night in _read(connection, part)}
    return [read[batch_id] for batch_id in states if batch_id in read]


def _read(connection: Connection, states: Mapping[int, NightState]) -> list[Night]:
    which = select(batch.c.id, batch.c.created_at, batch.c.result)
    rows = connection.execute(which.where(batch.c.id.in_(states))).all()
    kept = {
        row.id: {
            each["item"]: NightItem(each["job"], each["result"])
            for each in (row.result or {}).get("items", ())
            if each["job"] is not None
        }
        for row in rows
    }
    changed = []
    for batch_id, jobs in states.items():
        told = {each.job_id for each in kept.get(batch_id, {}).values() if each.result is not None}
        changed += [job_id for job_id, _, since in jobs if since or job_id not in told]
    stored = select(job.c.id, job.c.batch_id, job.c.batch_item, job.c.result)
    tuned = stored.where(job.c.id.in_(changed), job.c.kind == JobKind.TUNE)
    for each in connection.execute(tuned) if changed else ():
        result = None if each.result is None else night_result(each.result)
        kept[each.batch_id][each.batch_item] = NightItem(each.id, result)
    return [Night(row.id, row.created_at, kept[row.id], states[row.id]) for row in rows]


@dataclass(frozen=True)
class ParameterNight:
    """One parameter in one night."""

    at: datetime  # when the night began
    job_id: int  # the job
    rank: int | None  # of how many parameters it was which; None: nothing was ranked
    of: int  # how many
    share: float | None  # its share of what all parameters make
    value: Any  # in the night's best configuration; None: nothing was proven, or it is inactive
    baseline: Any  # in the baseline
    proven: bool  # whether the night proved something better


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
        .where(job.c.batch_item == item, job.c.result.is_not(None), job.c.kind == JobKind.TUNE)
        .order_by(batch.c.id)
    )
    nights = []
    for at, job_id, ranked, best, start in read_all(engine, which):
        found = (each for each in ranked or () if each["name"] == parameter)
        row: Mapping[str, Any] = next(found, {})
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
