"""A job of very many trials, made by repeating those of a shorter one with other figures."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Engine, insert, select, update

from benchmarks.stocked import one_job
from db.connection.engine import writing
from db.schema.tables import MAIN_METRICS, job, trial
from optimizer.trials.trial import Phase, Purpose

_RUN = 1000  # trials that are really proposed; the others repeat them
_SPREAD = 0.05
_AT_ONCE = 2000


def job_of(engine: Engine, trials: int) -> int:
    """Makes a finished job of at least 12 trials; returns its number."""
    job_id = one_job(engine, min(trials, _RUN))
    if trials > _RUN:
        with writing(engine) as connection:
            _lengthen(connection, job_id, trials - _RUN)
    return job_id


def _lengthen(connection: Connection, job_id: int, more: int) -> None:
    """Puts copies of drawn and searched trials between the search and the proof."""
    mine = trial.c.job_id == job_id
    proof = mine & (trial.c.phase == Phase.CONFIRM)
    connection.execute(update(trial).where(proof).values(number=trial.c.number + more))
    rows = connection.execute(select(trial).where(mine & (trial.c.phase != Phase.CONFIRM)))
    models = [dict(row) for row in rows.mappings() if row["phase"] == Phase.SEARCH]
    last = max(model["number"] for model in models)
    ended = max(model["finished_at"] for model in models)
    batch: list[Mapping[str, Any]] = []
    for row in _copies(models, more, first=last + 1, after=ended):
        batch.append(row)
        if len(batch) == _AT_ONCE:
            connection.execute(insert(trial), batch)
            batch = []
    if batch:
        connection.execute(insert(trial), batch)
    standing = dict(
        connection.execute(select(job.c.standing).where(job.c.id == job_id)).scalar_one()
    )
    standing |= {"done": standing["done"] + more, "total": standing["total"] + more}
    connection.execute(update(job).where(job.c.id == job_id).values(standing=standing))


def _copies(
    models: list[dict[str, Any]], more: int, *, first: int, after: datetime
) -> Iterator[Mapping[str, Any]]:
    rng = random.Random(1)
    for place in range(more):
        model = dict(models[place % len(models)])
        del model["id"]
        model["number"] = first + place
        if model["purpose"] != Purpose.BASELINE:
            model["digest"] = f"{model['digest']}-{place}"
        for name in MAIN_METRICS:
            if model[name] is not None:
                model[name] *= 1 + _SPREAD * rng.gauss(0, 1)
        model["started_at"] = after + timedelta(seconds=place)
        model["finished_at"] = after + timedelta(seconds=place + 1)
        yield model
