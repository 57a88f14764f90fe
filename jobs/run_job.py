"""A job from beginning to end, the same for the terminal and the service."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Engine

from db.job_row import JobState
from db.job_store import Store
from db.lease import Lease, acquire, release
from db.process import this_process
from db.trial_log import StoredTrialLog
from jobs.assembly import Assembly
from jobs.finished import Finished, conclude_job, keep_finished
from jobs.lease_keeper import JobCancelled, LeaseKeeper
from jobs.local_host import LocalHost
from jobs.patience import Patience, PatientLog, is_away
from jobs.report import report_html
from jobs.specification import Specification
from optimizer.ports import LeaseLost, Progress, TrialLog
from optimizer.strategies import find_strategy
from optimizer.tuning import Budget, Tuning
from sampler.machine import fingerprint
from sampler.outcome import TrialState
from sampler.settings import Settings

_RESUMABLE = tuple(JobState)
_CANCELLED = "the job was cancelled; it is measured again if the job goes on"


def environment_of(assembly: Assembly, settings: Settings) -> dict[str, Any]:
    """The machine, the RocksDB, and what must be known of either."""
    installed = assembly.installed
    return fingerprint(settings.bench_dir) | {
        "rocksdb": installed.version if installed else None,
        "db_bench": str(installed.program) if installed else None,
        "warnings": [*(installed.warnings if installed else ()), *assembly.warnings],
    }


def run_job(
    engine: Engine,
    job_id: int,
    specification: Specification,
    assembly: Assembly,
    settings: Settings,
    *,
    progress: Progress,
    waiting: Callable[[str], None] = lambda _: None,
    away: Callable[[str], None] = lambda _: None,
    pause: Callable[[float], None] = time.sleep,
    check: Callable[[], None] = lambda: None,
    expected: tuple[JobState, ...] = _RESUMABLE,
) -> Finished:
    """Runs what is left of a stored job.

    Args:
        engine: The store.
        job_id: The job.
        specification: As it is stored with the job.
        assembly: Made of the specification on this machine.
        settings: Where things are on this machine.
        progress: Who watches.
        waiting: Told who holds the host while a trial must wait for it.
        away: Told that the database does not answer, and when it is back.
        pause: How to wait.
        check: Called at every tick; what it raises ends the trial in flight and is passed on.
        expected: The states that the job may be in now.

    Raises:
        LeaseHeld: Another process is running the job.
        LeaseLost: Another process has taken it over.
        JobCancelled: It was cancelled; what was measured is kept.
        InputError: The baseline cannot be measured, or the machine cannot run a trial.
        KeyboardInterrupt: Passed on, when the trial in flight is ended; the job can be resumed.
    """
    store = Store(engine)
    lease = acquire(engine, job_id, this_process())
    patience = Patience(engine, pause=_checked(pause, check), told=away)
    log = PatientLog(StoredTrialLog(engine, lease), patience)
    keeper = LeaseKeeper(engine, lease, progress, check=check)

    def pause_and_renew(seconds: float) -> None:
        pause(seconds)
        keeper.tick()

    try:
        environment = environment_of(assembly, settings)
        if not patience(lambda: _begin(store, lease, environment, expected)):
            raise JobCancelled(job_id)
        host = LocalHost(assembly.benchmark, settings, waiting=waiting, pause=pause_and_renew)
        tuning = Tuning(
            assembly.problem,
            Budget(specification.trials, specification.minutes),
            find_strategy(specification.strategy),
            log=log,
            bench=host,
            progress=keeper,
        )
        finished = conclude_job(
            specification,
            assembly.problem,
            assembly.plan,
            assembly.installed,
            tuning.run(),
            environment,
        )
        if not patience(
            lambda: keep_finished(store, log, lease, finished, report=report_html(finished))
        ):
            patience(lambda: _require_done(store, job_id))
        return finished
    except JobCancelled:
        lose_in_flight(log, _CANCELLED)
        raise
    except (LeaseLost, KeyboardInterrupt):
        raise  # the job is another's now, or goes on later
    except Exception as error:
        failure = str(error)
        with suppress(LeaseLost):
            patience(
                lambda: store.set_state(
                    job_id,
                    JobState.FAILED,
                    error=failure,
                    expected=[JobState.RUNNING],
                    lease=lease,
                )
            )
        raise
    finally:
        _give_back(engine, lease)


def _begin(
    store: Store, lease: Lease, environment: dict[str, Any], expected: tuple[JobState, ...]
) -> bool:
    if not store.set_state(lease.job_id, JobState.RUNNING, expected=expected, lease=lease):
        return False
    store.save_environment(lease.job_id, environment, lease=lease)
    return True


def _give_back(engine: Engine, lease: Lease) -> None:
    """Lets the next controller begin at once; without a database the lease runs out by itself."""
    try:
        release(engine, lease)
    except Exception as error:
        # To raise this here would hide why the job ends, and make a failure of it.
        if not is_away(error, engine):
            raise


def _checked(pause: Callable[[float], None], check: Callable[[], None]) -> Callable[[float], None]:
    def pause_and_check(seconds: float) -> None:
        check()
        pause(seconds)

    return pause_and_check


def _require_done(store: Store, job_id: int) -> None:
    """A commit whose answer was lost has ended the job all the same."""
    if store.job(job_id).state is not JobState.DONE:
        raise JobCancelled(job_id)


def lose_in_flight(log: TrialLog, failure: str) -> None:
    """Marks what was begun and has no outcome as lost, so that it is run again one day."""
    for trial in log.trials():
        if trial.state is TrialState.RUNNING:
            lost = replace(
                trial, state=TrialState.LOST, failure=failure, finished_at=datetime.now(UTC)
            )
            log.finish(lost)
