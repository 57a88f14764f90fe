"""A lease that is renewed while a controller computes, and tells of no progress."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from db.leases.lease import Lease, renew
from optimizer.run.ports import LeaseLost

_RENEW_SECONDS = 10.0


@contextmanager
def renewed_meanwhile(
    engine: Engine, lease: Lease, *, every: float = _RENEW_SECONDS
) -> Iterator[None]:
    """Renews a lease from a thread of its own until the block ends.

    The models of thousands of trials, or a host of a cluster that tries the OPTIONS file, may take
    longer than a lease holds. Who has lost it hears so at the next write, which proves it.

    Args:
        engine: The database.
        lease: Held.
        every: Seconds between two renewals.
    """
    over = threading.Event()

    def run() -> None:
        while not over.wait(every):
            try:
                renew(engine, lease)
            except LeaseLost:
                return
            except SQLAlchemyError:
                continue  # the database is away: nobody else can take the job over either

    thread = threading.Thread(target=run, name=f"lease of job {lease.job_id}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
