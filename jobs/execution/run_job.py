"""A tuning job from beginning to end in a terminal or a service, and any job of the queue.

However a job of the queue ends, its row says so.
"""

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import structlog
from sqlalchemy import Engine

from db.jobs.job_queue import state_of
from db.jobs.job_store import JobStore
from db.leases import LeaseHeld, see_host, spoken
from db.schema.job_row import LIVE, JobRow, JobState
from jobs.execution.assembly import (
    ExecutionBackend,
    JobEvents,
    ThisMachine,
    require_same_build,
)
from jobs.execution.held_job import JobCancelled, held_job, is_away, renewed_meanwhile
from jobs.report.artifacts import conclude_job, report_html
from jobs.results.outcome import JobOutcome, keep_outcome
from jobs.specification.named_files import require_trusted
from jobs.specification.resolved_job import ResolvedJob, frozen_prior, hosts_in, said_of
from jobs.specification.specification import Specification, specification_from_document
from optimizer.run.driver import Driver, tune
from optimizer.run.planning import Budget, RunProgress
from optimizer.run.ports import LeaseLost, RunObserver, Unwatched
from optimizer.strategies.registry import find_strategy
from optimizer.trials.trial import Phase, Trial
from sampler.bench.builds import advertised
from sampler.bench.settings import Settings
from sampler.machine.machine import host_name

_RESUMABLE = tuple(JobState)
_PROGRAM = ("rocksdb", "db_bench", "build")


def run_job(
    engine: Engine,
    job_id: int,
    specification: Specification,
    assembly: ResolvedJob,
    settings: Settings,
    *,
    progress: RunObserver,
    waiting: Callable[[str], None] = lambda _: None,
    away: Callable[[str], None] = lambda _: None,
    told: Callable[[str], None] = lambda _: None,
    pause: Callable[[float], None] = time.sleep,
    check: Callable[[], None] = lambda: None,
    expected: tuple[JobState, ...] = _RESUMABLE,
    backend: ExecutionBackend | None = None,
) -> JobOutcome:
    """Runs what is left of a stored job, on this machine unless another backend is given.

    The specification is as it is stored with the job, the assembly made of it by that backend, and
    ``expected`` the states that the job may be in now. ``check`` is called at every tick; what it
    raises ends the trial in flight and is passed on. ``waiting`` is told who holds the host while
    a trial must wait for it, ``away`` that the database does not answer and when it is back,
    ``told`` what is taken along of earlier jobs.

    Raises:
        LeaseHeld: Another process is running the job.
        LeaseLost: Another process has taken it over.
        JobCancelled: It was cancelled; what was measured is kept.
        InputError: The baseline cannot be measured, the machine cannot run a trial, the job has
            runs of another build, or the job to start from has nothing to teach.
        KeyboardInterrupt: Passed on, when the trial in flight is ended; the job can be resumed.
    """
    backend = backend or ThisMachine(settings)
    with held_job(engine, job_id, progress=progress, away=away, pause=pause, check=check) as held:
        store, lease, log, retry = held.store, held.lease, held.log, held.retry
        environment = backend.environment(assembly)
        program = [name for name in _PROGRAM if name in environment]
        retry(lambda: require_same_build(store.job(job_id), environment))
        held.begin(environment, expected)
        asked, where = specification.warm_start, hosts_in(environment)
        prior = retry(lambda: frozen_prior(store, log, job_id, asked, assembly.problem, where))
        problem = replace(assembly.problem, prior=prior)
        if asked is not None:
            told(said_of(prior))
        key = retry(lambda: _key(store, job_id))
        events = JobEvents(waiting=held.waiting(waiting), told=away, pause=held.pause)
        hosts = backend.hosts(assembly, key, log.trials(), events)
        budget = Budget(specification.trials, specification.minutes)
        strategy = find_strategy(specification.strategy)
        driver = Driver(problem, budget, strategy, log, observer=held.heartbeat)
        conclusion = tune(driver, hosts)
        with renewed_meanwhile(engine, lease):
            finished = conclude_job(
                specification,
                problem,
                conclusion,
                # The RocksDB that measured: there may be another by now.
                backend.environment(assembly) | {n: environment[n] for n in program},
                export=partial(backend.export, assembly),
                tried=assembly.installed is not None,
            )
            report = report_html(finished)
        if not retry(lambda: keep_outcome(store, log, lease, finished, report=report)):
            retry(lambda: _require_done(store, job_id))
        return finished


def _key(store: JobStore, job_id: int) -> str:
    """Names a job among all jobs of all databases: a cluster may serve several."""
    made = store.job(job_id).created_at.isoformat()
    return f"rocktune-{job_id}-{hashlib.sha256(made.encode()).hexdigest()[:12]}"


def _require_done(store: JobStore, job_id: int) -> None:
    """A commit whose answer was lost has ended the job all the same."""
    if store.job(job_id).state is not JobState.DONE:
        raise JobCancelled(job_id)


_HELD_SECONDS = 1.0
_log = structlog.get_logger("job")


def is_to_run(engine: Engine, job_id: int, run: int) -> bool:
    """Whether a job was not cancelled, deleted or queued again meanwhile."""
    found = state_of(engine, job_id)
    return found is not None and found[0] in LIVE and found[1] == run


@dataclass(frozen=True)
class Queued:
    """How a job of the queue is run: what runs it is told of, asks and waits by."""

    engine: Engine
    settings: Settings
    pause: Callable[[float], None]
    # called often; what it raises ends the trial in flight and is passed on
    check: Callable[[], None]
    backend: ExecutionBackend | None = None  # None: this machine

    def events(self) -> dict[str, Any]:
        """What whoever runs a job is told, and how it waits."""
        return {
            "waiting": told_once("the bench host is busy; waiting"),
            "away": lambda what: _log.warning(what),
            "pause": self.pause,
            "check": self.check,
            "expected": LIVE,
        }


Run = Callable[[], object]
Ready = Callable[[Queued, JobRow, Callable[[], None]], Run]
"""Makes ready to run what is left of a job; the last argument is called while that waits."""


def run_queued(queued: Queued, job_id: int, run: int, ready: Ready) -> None:
    """Runs what is left of a job, as long as this is its run.

    Raises:
        OperationalError: Or another that says that the database is away: no fault of the job.
    """
    engine = queued.engine

    def check_wanted() -> None:
        queued.check()
        if not is_to_run(engine, job_id, run):
            raise JobCancelled(job_id)

    try:
        row = JobStore(engine).job(job_id)
        go_on = ready(queued, row, check_wanted)
    except JobCancelled as reason:  # while it waited for a host
        _log.info("job stopped", why=str(reason))
        return
    except Exception as error:
        _fail(engine, job_id, error, expected=LIVE)
        return
    _log.info("job started", kind=row.kind.value, workload=row.specification["workload"]["name"])
    told_held = told_once("another process has the job; waiting")
    try:
        while is_to_run(engine, job_id, run):
            try:
                go_on()
                _log.info("job is done")
                return
            except LeaseHeld as held:  # by a worker that is paused: it runs out
                told_held(spoken(held.owner))
                queued.pause(_HELD_SECONDS)
                queued.check()
    except (JobCancelled, LeaseLost) as reason:
        _log.info("job stopped", why=str(reason))
    except Exception as error:
        # What fails on the way was said by whoever ran it, if the job was still its own.
        _fail(engine, job_id, error, expected=(JobState.QUEUED,))


def ready_to_tune(queued: Queued, row: JobRow, check: Callable[[], None]) -> Run:
    """A tuning job, checked against where it is measured; a cluster waits for its first host."""
    require_trusted(queued.engine, row.id)
    specification = specification_from_document(row.specification)
    where = queued.backend or ThisMachine(queued.settings)
    assembly = where.assemble(specification, told=told_once("waiting"), check=check)
    if queued.backend is None:
        shown = where.environment(assembly) | advertised(queued.settings)
        see_host(queued.engine, host_name(), shown, row.id)
    return lambda: run_job(
        queued.engine,
        row.id,
        specification,
        assembly,
        queued.settings,
        progress=LoggedProgress(),
        told=lambda what: _log.info(what),
        backend=where,
        **queued.events(),
    )


def _fail(
    engine: Engine, job_id: int, error: Exception, *, expected: tuple[JobState, ...]
) -> None:
    if is_away(error, engine):
        raise error
    _log.error("job failed", error=str(error), kind=type(error).__name__)
    JobStore(engine).set_state(job_id, JobState.FAILED, error=str(error), expected=expected)


def told_once(event: str) -> Callable[[str], None]:
    """Logs an event with each holder that is told, once in a row."""
    last: list[str] = []

    def tell(holder: str) -> None:
        if holder not in last[-1:]:
            last.append(holder)
            _log.info(event, holder=holder)

    return tell


class LoggedProgress(Unwatched):
    """One line for each phase and each trial; the job's number is bound by whoever runs it."""

    def phase(self, phase: Phase, why: str) -> None:
        """The job entered a phase."""
        _log.info("phase", phase=phase.value, why=why)

    def trial_started(self, trial: Trial) -> None:
        """A trial begins."""
        _log.debug("trial started", trial=trial.number, attempt=trial.attempt)

    def trial_ended(self, trial: Trial, progress: RunProgress) -> None:
        """A trial ended."""
        _log.info(
            "trial ended",
            trial=trial.number,
            state=trial.state.value,
            seconds=round(trial.bench_seconds, 3),
            failure=trial.failure,
            done=progress.done,
            failed=progress.failed,
            total=progress.total,
        )

    def host_excluded(self, host: str, why: str) -> None:
        """A host measures no more for this job."""
        _log.warning("host excluded", host=host, why=why)

    def host_readmitted(self, host: str, why: str) -> None:
        """An excluded host measures again."""
        _log.warning("host readmitted", host=host, why=why)
