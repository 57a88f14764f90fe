"""Jobs on their way: submitted once, queued, cancelled, queued again."""

from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, Engine, func, or_, select, true, update

from db.connection.engine import (
    Counted,
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
    with writing(engine) as connection:
        if most_queued is not None:
            take_turn(connection, Counted.QUEUE)
        found = None if key is None else connection.execute(same).first()
        if found is None:
            require_room(connection, 1, most_queued)
            new = insert_into(engine, job).values(values).on_conflict_do_nothing()
            made = connection.execute(new.returning(job.c.id)).scalar_one_or_none()
            if made is not None:
                return int(made), True
            found = connection.execute(same).one()  # another request of the same key was faster
        if found.request_digest != request_digest:
            raise KeyReusedError(f"the key was already used for another request (job {found.id})")
        return found.id, False


def require_room(connection: Connection, new: int, most_queued: int | None) -> None:
    """Proves that the service's queue takes so many more jobs, until the transaction ends.

    Every way into the queue begins with it: a request, a batch, a schedule, a job that is resumed.
    Jobs that a terminal measures are not counted. ``most_queued``: None is no limit.

    Raises:
        QueueFullError: It does not.
    """
    if most_queued is None:
        return
    take_turn(connection, Counted.QUEUE)
    queued = select(func.count()).where(job.c.state == JobState.QUEUED, job.c.by_service == true())
    room = max(0, most_queued - connection.execute(queued).scalar_one())
    if room < new:
        full = f"the queue is full ({most_queued} jobs)"
        some = f"the queue ({most_queued} jobs) has room for {room} more, not for {new}"
        raise QueueFullError(f"{some if room else full}; try again")


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
    most_queued: int | None = None,
) -> bool:
    """Queues a job once more, under a new run; True when it was in one of ``expected``.

    Its state is ``running`` where the user's own runner measures it. ``by_service``: whether the
    service's worker runs it from now on.

    Raises:
        QueueFullError: The queue is full.
    """
    which = update(job).where(job.c.id == job_id, job.c.state.in_(expected))
    again = {"run": job.c.run + 1, "error": None, "updated_at": moment_of(engine)}
    with writing(engine) as connection:
        require_room(connection, 1, most_queued if state is JobState.QUEUED else None)
        values = {"state": state, "why": why, "by_service": by_service, **again}
        return connection.execute(which.values(values)).rowcount > 0


def ended_for(engine: Engine, kept: timedelta, *, limit: int) -> list[int]:
    """Jobs that ended longer ago and have not changed since, for retention.

    One that somebody holds is not among them: what it found is just being measured again.
    """
    moment = present(engine)
    free = or_(job.c.lease_owner.is_(None), job.c.lease_expires_at <= moment)
    old = (job.c.state.in_(ENDED), job.c.updated_at < moment - kept, free)
    which = select(job.c.id).where(*old).order_by(job.c.id).limit(limit)
    return [row.id for row in read_all(engine, which)]
