"""Keeping a schedule, whoever asks for it: its times and its jobs are checked before."""

from __future__ import annotations

from sqlalchemy import Engine

from db.nightly.schedules import add_schedule
from jobs.batch.batch_file import findings_of
from jobs.batch.batch_plan import BatchPlan
from jobs.schedule import schedule_clock
from jobs.schedule.schedule_times import read_times
from jobs.specification.resolved_job import resolve
from sampler.common.errors import InputError, refuse_noted

MISSED = ("late", "skip")


class ScheduleTaken(ValueError):
    """There is a schedule of this name."""


def keep_schedule(
    engine: Engine,
    plan: BatchPlan,
    *,
    name: str,
    cron: str,
    time_zone: str,
    missed: str,
    submitter: str | None = None,
) -> None:
    """Keeps a schedule; it is due the first time after now.

    Args:
        engine: The database.
        plan: The batch that it starts.
        name: A new one.
        cron: Five fields.
        time_zone: In which they are meant.
        missed: ``late`` or ``skip``.
        submitter: The name of the token that asks.

    Raises:
        InputError: There is no such time zone, or the times are none.
        InputErrors: Both.
        ScheduleTaken: The name is taken.
    """
    times = read_times(cron, time_zone)
    if missed not in MISSED:
        raise InputError("missed", f"{missed!r} is neither late nor skip")
    kept = add_schedule(
        engine,
        name=name,
        cron=times.cron,
        time_zone=time_zone,
        missed=missed,
        document=plan.document(),
        next_at=times.after(schedule_clock.present(engine)),
        submitter=submitter,
    )
    if not kept:
        raise ScheduleTaken(f"there is a schedule {name!r} already; delete it first")


def require_sound(plan: BatchPlan) -> None:
    """Checks each job of a batch as a whole, as far as that can be done away from the bench host.

    Raises:
        InputError: One cannot be run; the message names the job.
        InputErrors: Several of that.
    """
    found: list[InputError] = []
    for item in plan.items:
        try:
            resolve(item.specification, None)
        except InputError as error:
            found += findings_of(item.name, error)
    refuse_noted(found)
