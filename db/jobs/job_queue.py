"""Jobs on their way: submitted once, queued, cancelled, queued again."""

from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Any

from sqlalchemy import Engine, func, or_, select, true, update

from db.connection.transactions import (
    Counted,
    change,
    insert_into,
    moment_of,
    present,
    read_all,
    read_first,
    take_turn,
    writing,
)
from db.schema.job_row import ENDED, LIVE, JobState, new_job
from db.schema.tables import job


class KeyReusedError(ValueError):
    """An idempotency key came again with another request."""


class QueueFullError(RuntimeError):
    """So many jobs are queued that no more are taken."""


def enqueue_job(
    engine: Engine,
    specification: Mapping[str, Any],
    digest: str,
    *,
    why: str,
    key: str | None = None,
    request_digest: str | None = None,
    most_queued: int | None = None,
    **more: Any,
) -> tuple[int, bool]:
    """Keeps a new job, or finds the one that the same idempotency key has made before.

    ``request_digest`` is of the request that came with the key. ``more`` are columns, see
    ``JobRow``: the state is ``running`` where the user's own runner measures it, and the service's
    worker runs it unless told otherwise.

    Returns:
        The job's number, and whether it is new.

    Raises:
        KeyReusedError: The key came before with another request.
        QueueFullError: The queue is full.
    """
    keyed = {"idempotency_key": key, "request_digest": request_digest}
    about = {"why": why, "by_service": True, **more}
    values = new_job(specification, digest, moment_of(engine), **keyed, **about)
    same = select(job.c.id, job.c.request_digest).where(job.c.idempotency_key == key)
    queued = select(func.count()).where(job.c.state == JobState.QUEUED)
    with writing(engine) as connection:
        if most_queued is not None:
            take_turn(connection, Counted.QUEUE)
        found = None if key is None else connection.execute(same).first()
        if found is None:
            if most_queued is not None and connection.execute(queued).scalar_one() >= most_queued:
                told = f"the queue is full ({most_queued} jobs); try again"
                raise QueueFullError(told)
            new = insert_into(engine, job).values(values).on_conflict_do_nothing()
            made = connection.execute(new.returning(job.c.id)).scalar_one_or_none()
            if made is not None:
                return int(made), True
            found = connection.execute(same).one()  # another request of the same key was faster
        if found.request_digest != request_digest:
            raise KeyReusedError(f"the key was already used for another request (job {found.id})")
        return found.id, False


def next_job(engine: Engine) -> tuple[int, int] | None:
    """The service's job that goes first, and its run: the rows are the queue.

    A job that is ``running`` is one that a worker has left. Who has the leader lease alone may
    begin it, and does so under the job's own lease.
    """
    which = (
        select(job.c.id, job.c.run)
        .where(job.c.state.in_(LIVE), job.c.by_service == true())
        .order_by(job.c.priority.desc(), job.c.id)
        .limit(1)
    )
    found = read_first(engine, which)
    return None if found is None else (found.id, found.run)


def state_of(engine: Engine, job_id: int) -> tuple[JobState, int] | None:
    """A job's state and run; None when there is no such job. One cheap query."""
    found = read_first(engine, select(job.c.state, job.c.run).where(job.c.id == job_id))
    return None if found is None else (found.state, found.run)


def queue_again(
    engine: Engine,
    job_id: int,
    *,
    expected: Collection[JobState],
    state: JobState = JobState.QUEUED,
    why: str,
    by_service: bool = True,
) -> bool:
    """Queues a job once more, under a new run; True when it was in one of ``expected``.

    Its state is ``running`` where the user's own runner measures it. ``by_service``: whether the
    service's worker runs it from now on.
    """
    which = update(job).where(job.c.id == job_id, job.c.state.in_(expected))
    again = {"run": job.c.run + 1, "error": None, "updated_at": moment_of(engine)}
    return change(engine, which.values(state=state, why=why, by_service=by_service, **again)) > 0


def ended_for(engine: Engine, kept: timedelta, *, limit: int) -> list[int]:
    """Jobs that ended longer ago and have not changed since, for retention.

    One that somebody holds is not among them: what it found is just being measured again.
    """
    moment = present(engine)
    free = or_(job.c.lease_owner.is_(None), job.c.lease_expires_at <= moment)
    old = (job.c.state.in_(ENDED), job.c.updated_at < moment - kept, free)
    which = select(job.c.id).where(*old).order_by(job.c.id).limit(limit)
    return [row.id for row in read_all(engine, which)]
