"""While a job runs: its lease is renewed, and whoever cancels it is heard."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from db.jobs.job_queue import state_of
from db.leases.lease import Lease, renew
from db.schema.job_row import JobState
from jobs.execution.retry import unless_away
from optimizer.run.ports import LeaseLost, RunObserver
from optimizer.run.progress import RunProgress
from optimizer.trials.trial import Trial

_RENEW_SECONDS = 10.0
# Cancelling must end db_bench within two seconds; one small query a second disturbs no clock.
_LOOK_SECONDS = 0.75


class JobCancelled(RuntimeError):
    """The job was cancelled by somebody else."""

    def __init__(self, job_id: int) -> None:
        super().__init__(f"job {job_id} was cancelled; what it has measured is kept")
        self.job_id = job_id


class Heartbeat:
    """Passes progress on, renews the lease on the way, and looks whether the job may go on."""

    def __init__(
        self,
        engine: Engine,
        lease: Lease,
        progress: RunObserver,
        *,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        """Binds a lease to whoever watches; ``check`` is called at every tick."""
        self._engine, self._lease, self._progress, self._check = engine, lease, progress, check
        self._renewed = self._looked = time.monotonic()
        self.phase, self.trial_started = progress.phase, progress.trial_started
        self.host_set_aside = progress.host_set_aside
        self.host_taken_back = progress.host_taken_back

    def trial_ended(self, trial: Trial, standing: RunProgress) -> None:
        """Passes it on. Trials may be too short for a tick."""
        self._progress.trial_ended(trial, standing)
        self._keep()

    def tick(self) -> None:
        """Looks after the job; LeaseLost if it is another's by now, or JobCancelled."""
        self._keep()
        self._progress.tick()

    def _keep(self) -> None:
        self._check()
        # While the database is away nobody else can take the job over either: every write proves
        # the lease when it is back.
        with unless_away(self._engine):
            if time.monotonic() - self._looked >= _LOOK_SECONDS:
                self._looked = time.monotonic()
                found = state_of(self._engine, self._lease.job_id)
                # Not only cancelled: it may have been queued again since the last look.
                if found is not None and found[0] is not JobState.RUNNING:
                    raise JobCancelled(self._lease.job_id)
            if time.monotonic() - self._renewed >= _RENEW_SECONDS:
                renew(self._engine, self._lease)
                self._renewed = time.monotonic()


@contextmanager
def renewed_meanwhile(
    engine: Engine, lease: Lease, *, every: float = _RENEW_SECONDS
) -> Iterator[None]:
    """Renews a lease from a thread of its own until the block ends, in which nothing ticks.

    The models of thousands of trials, or a host of a cluster that tries the OPTIONS file, may take
    longer than a lease holds. Who has lost it hears so at the next write, which proves it.
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
