"""A job put back with its trials, as an archive holds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Engine, insert

from db.connection.transactions import writing
from db.schema.job_row import JobState
from db.schema.tables import document, job, trial
from db.schema.types import plain
from db.trials.trial_rows import proposal
from optimizer.run.progress import RunProgress
from optimizer.trials.trial import Trial


def restore_job(
    engine: Engine,
    specification: Mapping[str, Any],
    digest: str,
    environment: Mapping[str, Any] | None,
    trials: Sequence[Trial],
    standing: RunProgress | None = None,
    documents: Mapping[str, Mapping[str, Any]] | None = None,
) -> int:
    """Keeps a job with the trials that it has made so far, all or nothing; returns its number.

    It stands as one that was cancelled: nobody takes it up until it is resumed.

    Args:
        engine: The database.
        specification: What was asked for.
        digest: Of the specification.
        environment: What it was measured on, once known.
        trials: By number.
        standing: How it stands after them.
        documents: What it has remembered, by name.

    Raises:
        ValueError: A number in it is not finite, or two trials share a number.
    """
    numbers = [each.number for each in trials]
    if len(set(numbers)) < len(numbers):
        raise ValueError("two trials share a number")
    now = datetime.now(UTC)
    new = insert(job).values(
        created_at=now,
        updated_at=now,
        state=JobState.CANCELLED,
        why=f"restored with {len(trials)} trials; resume it to go on",
        specification=plain(specification, "specification"),
        specification_digest=digest,
        environment=None if environment is None else plain(environment, "environment"),
        lease_epoch=0,
        standing=None if standing is None else plain(standing.document(), "standing"),
    )
    rows = [proposal(each) for each in trials]
    kept = [
        {"name": name, "body": plain(body, name), "updated_at": now}
        for name, body in (documents or {}).items()
    ]
    with writing(engine) as connection:
        job_id = int(connection.execute(new.returning(job.c.id)).scalar_one())
        if rows:
            about = {"job_id": job_id, "lease_epoch": 0}
            connection.execute(insert(trial), [row | about for row in rows])
        if kept:
            connection.execute(insert(document), [row | {"job_id": job_id} for row in kept])
    return job_id
