"""A stored job in the hands of one process: its lease, its heartbeat, and how its end is told."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import Engine

from db.jobs.job_store import JobStore
from db.leases.lease import Lease, LeaseHeld, acquire, release
from db.leases.process import this_process_name
from db.schema.job_row import JobState
from db.trials.trial_log import StoredTrialLog, lose_in_flight
from jobs.execution.heartbeat import Heartbeat, JobCancelled
from jobs.execution.retry import Retry, RetryingLog, is_away, unless_away
from optimizer.run.ports import ControllerStops, LeaseLost, RunObserver

_CANCELLED = "the job was cancelled; it is measured again if the job goes on"


@dataclass(frozen=True)
class HeldJob:
    """A job that nobody else runs."""

    store: JobStore
    lease: Lease
    heartbeat: Heartbeat
    retry: Retry  # waits while the database is away
    stored: StoredTrialLog
    log: RetryingLog  # the same, which waits too
    pause: Callable[[float], None]  # waits so many s, and looks after the job

    def begin(self, environment: Mapping[str, Any], expected: tuple[JobState, ...]) -> None:
        """Says that it runs, and on what; JobCancelled if it was in none of the states."""

        def begun() -> bool:
            job_id, running = self.lease.job_id, JobState.RUNNING
            if not self.store.set_state(job_id, running, expected=expected, lease=self.lease):
                return False
            self.store.save_environment(job_id, environment, lease=self.lease)
            return True

        if not self.retry(begun):
            raise JobCancelled(self.lease.job_id)


@contextmanager
def held_job(
    engine: Engine,
    job_id: int,
    *,
    progress: RunObserver,
    away: Callable[[str], None] = lambda _: None,
    pause: Callable[[float], None] = time.sleep,
    check: Callable[[], None] = lambda: None,
) -> Iterator[HeldJob]:
    """Holds a job while the block runs it. What the block raises is passed on.

    If that is no interruption, nor a database that is away, the job has failed for it.

    Raises:
        LeaseHeld: Another process is running the job.
    """
    store = JobStore(engine)
    lease = acquire(engine, job_id, this_process_name())
    heartbeat = Heartbeat(engine, lease, progress, check=check)

    def check_and_pause(seconds: float) -> None:
        check()
        pause(seconds)

    def pause_and_renew(seconds: float) -> None:
        pause(seconds)
        heartbeat.tick()

    retry = Retry(engine, pause=check_and_pause, told=away)
    stored = StoredTrialLog(engine, lease)
    log = RetryingLog(stored, retry)
    try:
        yield HeldJob(store, lease, heartbeat, retry, stored, log, pause_and_renew)
    except JobCancelled:
        lose_in_flight(log, _CANCELLED)
        raise
    except (LeaseLost, LeaseHeld, KeyboardInterrupt, ControllerStops):
        raise  # the job is another's now, or goes on later
    except Exception as error:
        if is_away(error, engine):
            raise  # the job goes on later
        failed = partial(store.set_state, job_id, JobState.FAILED, error=str(error), lease=lease)
        with suppress(LeaseLost):
            retry(lambda: failed(expected=[JobState.RUNNING]))
        raise
    finally:
        # Without a database the lease runs out by itself; to raise this here would hide why the
        # job ends, and make a failure of it.
        with unless_away(engine):
            release(engine, lease)
