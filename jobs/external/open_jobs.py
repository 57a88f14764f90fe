"""The jobs that users' own runners measure, in the hands of this process."""

import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from sqlalchemy import Engine

from db.jobs.job_queue import state_of
from db.jobs.job_store import JobStore
from db.leases.lease import Lease, LeaseHeld, acquire, release
from db.leases.process import this_process_name
from db.schema.job_row import JobRow, JobState, NoSuchJob
from db.trials.trial_log import StoredTrialLog
from jobs.execution.held_job import renewed_meanwhile
from jobs.external.reported_trials import NotAsked
from jobs.queue.lifecycle import is_external
from jobs.specification.resolved_job import ResolvedJob, resolve_stored
from jobs.specification.warm_start import frozen_prior
from optimizer.budget.budget import Plan
from optimizer.evaluation.evaluation import Evaluation
from optimizer.run.planning import Budget, plan_of
from optimizer.run.progress import ProgressTracker
from optimizer.run.tuning import load_libraries
from optimizer.trials.history import History
from sampler.common.errors import InputError

_LEASE_SECONDS = 30.0
_RENEW_SECONDS = 10.0
_BUSY_SECONDS = 10.0
_MOST_OPEN = 32


@dataclass
class OpenJob:
    """A job in the hands of this process, as it stood under an epoch of its lease."""

    epoch: int
    framed: ResolvedJob
    evaluation: Evaluation
    scores: ProgressTracker

    @property
    def history(self) -> History:
        """Its trials so far."""
        return self.evaluation.history

    @property
    def plan(self) -> Plan:
        """How its budget is divided, by the baseline as it is known now."""
        budget = Budget(trials=self.framed.specification.trials)
        return plan_of(self.framed.problem, budget, self.history)


class OpenJobs:
    """Opens jobs under their lease, one caller at a time.

    What was read of a job is kept in memory as long as nobody else has held the lease in between,
    which its epoch tells.
    """

    def __init__(self, engine: Engine, *, renew_seconds: float = _RENEW_SECONDS) -> None:
        """Opens nothing yet; a lease is renewed so often while its job is held."""
        self._engine, self._store = engine, JobStore(engine)
        self._renew_seconds = renew_seconds
        self._open: OrderedDict[int, OpenJob] = OrderedDict()
        self._lock = threading.Lock()

    @contextmanager
    def hold(self, job_id: int) -> Iterator[tuple[Lease, OpenJob]]:
        """The job, in nobody else's hands meanwhile.

        Raises:
            KeyError: There is no such job.
            NotAsked: It has ended, or another program measures it.
            LeaseHeld: Another process is busy with it.
        """
        row = self._store.job(job_id)
        if not is_external(row):
            raise NotAsked(f"job {job_id} is measured by the service, not by a runner of your own")
        load_libraries()  # before, not while others wait for the lease
        lease = self._acquire(job_id)
        try:
            self.require_live(job_id)
            with self._lock:
                job = self._open.pop(job_id, None)
            refused: InputError | None = None
            with renewed_meanwhile(self._engine, lease, every=self._renew_seconds):
                if job is None or job.epoch != lease.epoch - 1:
                    job = self._read(row, lease)
                try:
                    yield lease, job
                except InputError as error:  # before anything changed
                    refused = error
            job.epoch = lease.epoch
            with self._lock:
                self._open[job_id] = job
                while len(self._open) > _MOST_OPEN:
                    self._open.popitem(last=False)
            if refused is not None:
                raise refused
        finally:
            release(self._engine, lease)

    def require_live(self, job_id: int) -> None:
        """Refuses a job that has ended (NotAsked), or is not there (KeyError)."""
        found = state_of(self._engine, job_id)
        if found is None:
            raise NoSuchJob(f"there is no job {job_id}")
        if found[0] is not JobState.RUNNING:
            raise NotAsked(f"job {job_id} is {found[0].value}; it takes no more trials")

    def _acquire(self, job_id: int) -> Lease:
        deadline = time.monotonic() + _BUSY_SECONDS
        owner = this_process_name()
        while True:
            try:
                return acquire(self._engine, job_id, owner, seconds=_LEASE_SECONDS)
            except LeaseHeld:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)

    def _read(self, row: JobRow, lease: Lease) -> OpenJob:
        framed = resolve_stored(row)
        log, asked = StoredTrialLog(self._engine, lease), framed.specification.warm_start
        prior = frozen_prior(self._store, log, row.id, asked, framed.problem, None)
        framed = replace(framed, problem=replace(framed.problem, prior=prior))
        history = History(self._store.trials(row.id))
        evaluation = Evaluation(framed.problem, history)
        return OpenJob(0, framed, evaluation, ProgressTracker(framed.problem, history))
