"""A stored job in the hands of one process: its lease, its heartbeat, and how its end is told."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as NoConnection

from db.connection.engine import full_disk, redacted
from db.jobs.job_queue import state_of
from db.jobs.job_store import JobStore
from db.leases import Lease, LeaseHeld, acquire, release, renew, this_process_name
from db.schema.job_row import JobState
from db.trials.trial_log import WAITS_FOR, StoredTrialLog, lose_in_flight
from optimizer.run.ports import ControllerStops, LeaseLost, RunObserver, TrialLog
from optimizer.trials.trial import Trial
from sampler.bench.outcome import TrialState

if TYPE_CHECKING:
    from optimizer.run.planning import RunProgress

P = ParamSpec("P")
T = TypeVar("T")
_FIRST_WAIT, _LONGEST_WAIT = 0.25, 5.0


def is_away(error: BaseException, engine: Engine) -> bool:
    """Whether an error says that the server cannot be used just now, and nothing worse.

    A file has no server that could come back: what SQLite complains about is to be told at once.
    """
    if engine.dialect.name != "postgresql":
        return False
    if isinstance(error, DBAPIError):
        broken = isinstance(error, OperationalError | InterfaceError)
        return broken or error.connection_invalidated
    return isinstance(error, NoConnection)


@contextmanager
def unless_away(engine: Engine, told: Callable[[str], object] = lambda _: None) -> Iterator[None]:
    """Lets what the block does go undone while the database is away, and then tells so."""
    try:
        yield
    except Exception as error:
        if not is_away(error, engine):
            raise
        told(full_disk(error, engine.url) or "the database does not answer")


class Retry:
    """Does things as often as it takes until the database has answered."""

    def __init__(
        self, engine: Engine, *, pause: Callable[[float], None], told: Callable[[str], None]
    ) -> None:
        """Binds it to a database.

        ``pause`` waits for some seconds, and may raise to give up. ``told`` hears that the
        database is away and why, each reason once, and when it is back.
        """
        self._engine, self._pause, self._told = engine, pause, told

    def __call__(self, action: Callable[[], T]) -> T:
        """What the action returns."""
        wait, reasons, url = _FIRST_WAIT, set[str](), self._engine.url
        while True:
            try:
                done = action()
            except Exception as error:
                if not is_away(error, self._engine):
                    raise
                if not reasons:
                    what = full_disk(error, url) or "the database does not answer"
                    self._told(f"{what}; finished trials are kept in memory")
                why = redacted(str(getattr(error, "orig", None) or error), url)
                if why not in reasons:
                    self._told(f"database error: {why}")
                reasons.add(why)
                self._pause(wait)
                wait = min(2 * wait, _LONGEST_WAIT)
            else:
                if reasons:
                    self._told("the database answers again")
                return done

    def each(self, action: Callable[P, T]) -> Callable[P, T]:
        """The action, each call of it done as often as it takes."""

        def retried(*given: P.args, **more: P.kwargs) -> T:
            return self(lambda: action(*given, **more))

        return retried


class RetryingLog:
    """A log of trials that waits for its database; see ``optimizer.run.ports.TrialLog``.

    A commit may have arrived though its answer did not. To write the same twice changes nothing,
    but for outcomes: then the second attempt finds the trial ended, and that is as it should be.
    """

    def __init__(self, log: TrialLog, retry: Retry) -> None:
        self._log, self._retry = log, retry
        self.trials, self.propose = retry.each(log.trials), retry.each(log.propose)
        self.enter = retry.each(log.enter)
        self.remember, self.recall = retry.each(log.remember), retry.each(log.recall)

    def finish(self, *trials: Trial, progress: RunProgress | None = None) -> None:
        """Keeps outcomes, once."""
        self._once(lambda: self._log.finish(*trials, progress=progress), trials)

    def withdraw(self, trials: Sequence[Trial], why: str) -> None:
        """Takes ended trials back, once."""
        lost = [replace(each, state=TrialState.LOST) for each in trials]
        self._once(lambda: self._log.withdraw(trials, why), lost)

    def _once(self, write: Callable[[], None], then: Sequence[Trial]) -> None:
        tries = 0

        def attempt() -> None:
            nonlocal tries
            tries += 1
            try:
                write()
            except ValueError:
                kept = {(each.number, each.attempt, each.state) for each in self._log.trials()}
                if tries == 1 or not {(t.number, t.attempt, t.state) for t in then} <= kept:
                    raise

        self._retry(attempt)


_CANCELLED = "the job was cancelled; resuming it runs the trial again"
_RENEW_SECONDS = 10.0
# Cancelling must end db_bench within two seconds; one small query a second disturbs no clock.
_LOOK_SECONDS = 0.75
# Who waits for the host looks for it more often than that.
_WAITS_SECONDS = 2.0


class JobCancelled(RuntimeError):
    """The job was cancelled by somebody else."""

    def __init__(self, job_id: int) -> None:
        super().__init__(f"job {job_id} was cancelled; its trials are kept")


class Heartbeat:
    """Passes progress on, renews the lease on the way, and looks whether the job may go on."""

    def __init__(
        self,
        engine: Engine,
        lease: Lease,
        progress: RunObserver,
        *,
        check: Callable[[], None] = lambda: None,
        holder: str | None = None,
    ) -> None:
        """Binds a lease to whoever watches; ``check`` is called at every tick.

        ``holder`` is who used the host, where the job was last noted as waiting for it.
        """
        self._engine, self._lease, self._progress, self._check = engine, lease, progress, check
        self._renewed = self._looked = self._waited = time.monotonic()
        self._holder = holder
        self.phase, self.trial_started = progress.phase, progress.trial_started
        self.host_excluded = progress.host_excluded
        self.host_readmitted = progress.host_readmitted

    def trial_ended(self, trial: Trial, standing: RunProgress) -> None:
        """Passes it on. Trials may be too short for a tick."""
        self._progress.trial_ended(trial, standing)
        self._keep()

    def waits(self, holder: str) -> None:
        """Notes who uses the host; to be called again and again while a trial waits for it."""
        self._waited = time.monotonic()
        if holder != self._holder:
            self._note_holder(holder)

    def _note_holder(self, holder: str | None) -> None:
        with unless_away(self._engine):
            StoredTrialLog(self._engine, self._lease).wait_for(holder)
            self._holder = holder

    def tick(self) -> None:
        """Looks after the job; LeaseLost if it is another's by now, or JobCancelled."""
        self._keep()
        self._progress.tick()

    def _keep(self) -> None:
        self._check()
        # While the database is away nobody else can take the job over either: every write proves
        # the lease when it is back.
        if self._holder is not None and time.monotonic() - self._waited > _WAITS_SECONDS:
            self._note_holder(None)
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

    def waiting(self, told: Callable[[str], None]) -> Callable[[str], None]:
        """``told``, who is told who holds the host; the job's page is told as well."""

        def tell(holder: str) -> None:
            self.heartbeat.waits(holder)
            told(holder)

        return tell

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
    holder = (store.recall(job_id, WAITS_FOR) or {}).get("holder")
    heartbeat = Heartbeat(engine, lease, progress, check=check, holder=holder)

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
