"""Some of a job's trials, evenly over the job: they teach what all of them would."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Engine, Select, func, or_, select

from db.connection.transactions import reading
from db.schema.tables import trial
from db.trials.trial_rows import read_rows
from optimizer.trials.trial import Purpose, Trial


def sampled_trials(engine: Engine, job_id: int, *, most: int) -> tuple[list[Trial], int]:
    """About so many trials by number, without points and counters, and how many there are in all.

    Runs of the baseline are never left out.

    Args:
        engine: The database.
        job_id: The job.
        most: Of trials that are no runs of the baseline.
    """
    mine = trial.c.job_id == job_id
    with reading(engine) as connection:
        count = connection.execute(select(func.count()).where(mine)).scalar_one()
        step = max(1, -(-count // most))

        def some(columns: Select[Any]) -> Select[Any]:
            kept = or_(trial.c.number % step == 0, trial.c.purpose == Purpose.BASELINE.value)
            return columns.where(mine, kept).order_by(trial.c.number)

        return read_rows(connection, some), count
