"""A job from beginning to end, the same for the terminal and the service."""

import hashlib
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from sqlalchemy import Engine

from db.jobs.job_store import JobStore
from db.schema.job_row import JobState
from jobs.execution.assembly import (
    Assembly,
    ExecutionBackend,
    JobEvents,
    ThisMachine,
    require_same_build,
)
from jobs.execution.held_job import JobCancelled, held_job, renewed_meanwhile
from jobs.report.artifacts import conclude_job, report_html
from jobs.results.outcome import JobOutcome, keep_outcome
from jobs.specification.specification import Specification
from jobs.specification.warm_start import frozen_prior, hosts_in, said_of
from optimizer.run.driver import Driver
from optimizer.run.planning import Budget
from optimizer.run.ports import RunObserver
from optimizer.run.tuning import tune
from optimizer.strategies.registry import find_strategy
from sampler.runner.settings import Settings

_RESUMABLE = tuple(JobState)
_PROGRAM = ("rocksdb", "db_bench", "build")


def run_job(
    engine: Engine,
    job_id: int,
    specification: Specification,
    assembly: Assembly,
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
