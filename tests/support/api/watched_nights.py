"""A batch that was run night after night, as the database keeps it."""

import math
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import Engine, insert, update

from db.connection.engine import writing
from db.jobs.job_store import JobStore
from db.nightly.batches import BatchState
from db.schema.tables import batch, job, trial
from db.trials.trial_rows import proposal
from jobs.regression.detection import detect_regressions
from optimizer.trials.trial import Trial
from tests.support.jobs.batch_nights import FIRST, nights_of, result


def nights_that_turn_worse() -> list[dict[str, Any]]:
    """The results of 24 nights: WAF of the default rises from 2 to 3 in the 17th."""
    return [_night(number) for number in range(24)]


def nights_up_to_the_finding() -> list[dict[str, Any]]:
    """The same up to the night on which the rise is found."""
    nights = nights_that_turn_worse()
    (found, *_) = detect_regressions(nights_of(nights)).findings
    return nights[: found.alarm.reported + 1]


def _night(number: int) -> dict[str, Any]:
    level = 2.0 if number < 16 else 3.0
    waf, sa = level * (1 + 0.01 * math.sin(7 * number)), 1.0 + 0.01 * math.cos(5 * number)
    found = result({"waf": waf, "sa": sa, "time": 3.0, "rate": 100.0})
    found["parameters"] = [{"name": "block_size", "rank": 1 + number % 2, "share": 0.25}]
    if number == 20:
        found["best"] = {"configuration": {"block_size": 16384}}
        found["baseline"]["configuration"] = {"block_size": 4096}
    return found


ITEM = "load/default"


def kept_nights(
    engine: Engine,
    results: list[dict[str, Any]],
    runs: Sequence[Sequence[Trial]] = (),
    name: str = "nightly",
) -> None:
    """Keeps the ended nights of a batch, a job each, with these runs of its default."""
    for number, each in enumerate(results):
        keep_night(engine, each, number, runs[number] if runs else (), name=name)


def keep_night(
    engine: Engine,
    found: Mapping[str, Any],
    number: int,
    runs: Sequence[Trial] = (),
    *,
    name: str = "nightly",
    state: BatchState = BatchState.DONE,
) -> tuple[int, int]:
    """Keeps a night whose job has ended; the numbers of its batch and of that job."""
    at = FIRST + timedelta(days=number)
    values = {
        "name": name, "state": state.value, "why": "all are in", "digest": "d",
        "document": {"items": [{"item": ITEM}]}, "created_at": at,
        "ended_at": at if state is BatchState.DONE else None,
    }  # fmt: skip
    job_id = JobStore(engine).create_job(found["job"], "d")
    with writing(engine) as connection:
        new = insert(batch).values(values).returning(batch.c.id)
        batch_id: int = connection.execute(new).scalar_one()
        change = {"batch_id": batch_id, "batch_item": ITEM, "state": "done", "result": found}
        connection.execute(update(job).where(job.c.id == job_id).values(change))
        for run in runs:
            row = {**proposal(run), "job_id": job_id, "lease_epoch": 1}
            connection.execute(insert(trial).values(row))
    return batch_id, job_id


def keep_watch(engine: Engine, batch_id: int, watch: Mapping[str, Any]) -> None:
    """Keeps what the comparison of a night with those before has found, as its end does."""
    with writing(engine) as connection:
        mine = update(batch).where(batch.c.id == batch_id)
        connection.execute(mine.values(result={"watch": dict(watch)}))
