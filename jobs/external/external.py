"""Jobs that a runner of the user's own measures: ask for suggestions, tell trials."""

import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial

from sqlalchemy import Engine

from db.jobs.job_queue import state_of
from db.jobs.job_store import JobStore
from db.leases import Lease, LeaseHeld, acquire, release, this_process_name
from db.schema.job_row import JobRow, JobState, NoSuchJob
from db.trials.trial_log import StoredTrialLog
from jobs.execution.held_job import renewed_meanwhile
from jobs.external.reported_trials import NotAsked, ReportedTrial, ReportedTrials
from jobs.queue.lifecycle import WrongState, is_external
from jobs.report.artifacts import conclude_job, report_html
from jobs.results.export import export_options
from jobs.results.fits import JobCache, fitted
from jobs.results.outcome import keep_outcome
from jobs.specification.resolved_job import ResolvedJob, resolve_stored
from jobs.specification.warm_start import frozen_prior
from optimizer.evaluation.evaluation import Evaluation
from optimizer.results.ranking import ParameterRanking
from optimizer.results.search import parameter_ranking
from optimizer.run.driver import AskedTrials, Driver
from optimizer.run.planning import Budget
from optimizer.run.tuning import load_libraries
from optimizer.strategies.registry import STRATEGIES, find_strategy
from optimizer.trials.history import History
from optimizer.trials.problem import strategy_name
from optimizer.trials.trial import Purpose, Trial
from sampler.common.errors import InputError, noting, refuse_noted

_LEASE_SECONDS = 30.0
_BUSY_SECONDS = 10.0
_MOST_OPEN = 32
_LIVE = (JobState.RUNNING,)
_rankings = JobCache[ParameterRanking](alone=True)


@dataclass
class OpenJob:
    """A job in the hands of this process, as it stood under an epoch of its lease."""

    epoch: int
    resolved: ResolvedJob
    driver: Driver


class ExternalJobs:
    """All jobs that users' own runners measure, each opened under its lease, one caller at a time.

    Several processes may serve one job. What was read of it is kept in memory as long as nobody
    else has held the lease in between, which its epoch tells.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine, self._store = engine, JobStore(engine)
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
            raise NotAsked(f"job {job_id} is measured by the service, not by an external runner")
        load_libraries()  # before, not while others wait for the lease
        lease = self._acquire(job_id)
        try:
            self.require_live(job_id)
            with self._lock:
                job = self._open.pop(job_id, None)
            refused: InputError | None = None
            with renewed_meanwhile(self._engine, lease):
                if job is None or job.epoch != lease.epoch - 1:
                    job = self._read(row, lease)
                job.driver.log = StoredTrialLog(self._engine, lease)
                try:
                    yield lease, job
                except InputError as error:  # before a trial began or was kept
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
            raise NotAsked(f"job {job_id} is {found[0].value}; it accepts no more trials")

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
        resolved = resolve_stored(row)
        asked, log = resolved.specification, StoredTrialLog(self._engine, lease)
        prior = frozen_prior(self._store, log, row.id, asked.warm_start, resolved.problem, None)
        problem = replace(resolved.problem, prior=prior)
        # What has been measured is kept where the packages that propose are missing.
        strategy = STRATEGIES[strategy_name(asked.strategy)]
        driver = Driver(problem, Budget(trials=asked.trials), strategy, log)
        return OpenJob(0, replace(resolved, problem=problem), driver)

    def ask(self, job_id: int, count: int, *, reclaim_seconds: float | None = None) -> AskedTrials:
        """The next trials to measure, ``count`` at most; when all are in, the job is concluded.

        What is out for longer than ``reclaim_seconds`` is handed out again. Errors are those of
        ``hold``, and an InputError where the baseline cannot be measured, or where the strategy
        needs a package that is not installed (the job goes on once it is).
        """
        with self.hold(job_id) as (lease, job):
            find_strategy(job.driver.problem.strategy)  # refused here, where it is needed
            overdue = None
            if reclaim_seconds is not None:
                overdue = datetime.now(UTC) - timedelta(seconds=reclaim_seconds)
            try:
                asked = job.driver.ask_many(count, overdue=overdue)
            except InputError as error:
                self._store.set_state(
                    job_id, JobState.FAILED, error=str(error), expected=_LIVE, lease=lease
                )
                raise
            if asked.complete:
                self._conclude(lease, job)
            return asked

    def tell(self, job_id: int, told: Sequence[ReportedTrial]) -> list[Trial]:
        """Keeps what was measured: of suggestions, or of configurations that are given.

        To tell the same twice changes nothing. Errors are those of ``hold``, and an
        InputError where a trial is wrong: then none of them is kept.
        """
        with self.hold(job_id) as (_, job):
            found: list[InputError] = []
            reported = ReportedTrials(job.driver.problem, job.driver.history)
            for index, each in enumerate(told):
                with noting(found, f"trials[{index}]"):
                    reported.add(each)
            refuse_noted(found)
            if reported.new:
                job.driver.tell(*reported.new)
            return reported.trials

    def _conclude(self, lease: Lease, job: OpenJob) -> None:
        resolved = job.resolved
        finished = conclude_job(
            resolved.specification,
            resolved.problem,
            job.driver.conclude(),
            {"host": "elsewhere", "rocksdb": None, "warnings": list(resolved.warnings)},
            export=partial(export_options, resolved.plan, None),
            tried=False,
        )
        report = report_html(finished)
        if not keep_outcome(self._store, job.driver.log, lease, finished, report=report):
            self.require_live(lease.job_id)


def live_ranking(engine: Engine, row: JobRow) -> ParameterRanking:
    """What a live job's trials teach so far, kept in memory; WrongState without a baseline yet."""
    standing = row.standing or {}
    state = (row.run, standing.get("done"), standing.get("failed"), row.state)
    return _rankings.of(engine, row.id, state, lambda: _ranked(engine, row))


def _ranked(engine: Engine, row: JobRow) -> ParameterRanking:
    problem = resolve_stored(row).problem
    history = History(JobStore(engine).trials(row.id))
    if not any(trial.done for trial in history.of(Purpose.BASELINE)):
        raise WrongState(f"job {row.id} has no ranking yet; its baseline is not measured")
    return fitted(parameter_ranking, Evaluation(problem, history))
