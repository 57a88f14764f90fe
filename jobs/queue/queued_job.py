"""One job of the queue, from where it stands to its end; its row says how it ended."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import structlog
from sqlalchemy import Engine

from db.hosts import see_host
from db.jobs.job_queue import state_of
from db.jobs.job_store import JobStore
from db.leases import LeaseHeld, spoken
from db.schema.job_row import LIVE, JobRow, JobState
from jobs.execution.assembly import ExecutionBackend, ThisMachine
from jobs.execution.held_job import JobCancelled, is_away
from jobs.execution.run_job import run_job
from jobs.specification.named_files import require_trusted
from jobs.specification.specification import specification_from_document
from optimizer.run.planning import RunProgress
from optimizer.run.ports import LeaseLost
from optimizer.trials.trial import Phase, Trial
from sampler.bench.builds import advertised
from sampler.machine.machine import host_name
from sampler.runner.settings import Settings

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


class LoggedProgress:
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
        """A host that was set aside measures again."""
        _log.warning("host readmitted", host=host, why=why)

    def tick(self) -> None:
        """A moment passed."""
