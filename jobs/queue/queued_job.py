"""One job of the queue, from where it stands to its end; its row says how it ended."""

from collections.abc import Callable

import structlog
from sqlalchemy import Engine

from db.hosts import see_host
from db.jobs.job_queue import state_of
from db.jobs.job_store import JobStore
from db.leases.lease import LeaseHeld
from db.leases.process import spoken
from db.schema.job_row import LIVE, JobState
from jobs.execution.execution_backend import ExecutionBackend, ThisMachine
from jobs.execution.heartbeat import JobCancelled
from jobs.execution.retry import is_away
from jobs.execution.run_job import run_job
from jobs.specification.specification import specification_from_document
from optimizer.run.ports import LeaseLost
from optimizer.run.progress import RunProgress
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


def run_queued(
    engine: Engine,
    settings: Settings,
    job_id: int,
    run: int,
    *,
    pause: Callable[[float], None],
    check: Callable[[], None],
    backend: ExecutionBackend | None = None,
) -> None:
    """Runs what is left of a job, as long as this is its run; on this machine without a backend.

    ``check`` is called often; what it raises ends the trial in flight and is passed on.

    Raises:
        OperationalError: Or another that says that the database is away: no fault of the job.
    """

    def check_wanted() -> None:
        check()
        if not is_to_run(engine, job_id, run):
            raise JobCancelled(job_id)

    try:
        specification = specification_from_document(JobStore(engine).job(job_id).specification)
        where = backend or ThisMachine(settings)
        assembly = where.assemble(specification, told=_told_once("waiting"), check=check_wanted)
    except JobCancelled as reason:  # while it waited for a host
        _log.info("job stopped", why=str(reason))
        return
    except Exception as error:
        _fail(engine, job_id, error, expected=LIVE)
        return
    if backend is None:
        shown = where.environment(assembly) | advertised(settings)
        see_host(engine, host_name(), shown, job_id)
    _log.info("job begins", workload=specification.workload["name"])
    told_held = _told_once("another controller has the job; waiting")
    try:
        while is_to_run(engine, job_id, run):
            try:
                run_job(
                    engine,
                    job_id,
                    specification,
                    assembly,
                    settings,
                    progress=LoggedProgress(),
                    waiting=_told_once("the bench host is busy; waiting"),
                    away=lambda what: _log.warning(what),
                    told=lambda what: _log.info(what),
                    pause=pause,
                    check=check,
                    expected=LIVE,
                    backend=where,
                )
                _log.info("job is done")
                return
            except LeaseHeld as held:  # by a worker that is paused: it runs out
                told_held(spoken(held.owner))
                pause(_HELD_SECONDS)
                check()
    except (JobCancelled, LeaseLost) as reason:
        _log.info("job stopped", why=str(reason))
    except Exception as error:
        # What fails on the way was said by `run_job`, if the job was still its own.
        _fail(engine, job_id, error, expected=(JobState.QUEUED,))


def _fail(
    engine: Engine, job_id: int, error: Exception, *, expected: tuple[JobState, ...]
) -> None:
    if is_away(error, engine):
        raise error
    _log.error("job failed", error=str(error), kind=type(error).__name__)
    JobStore(engine).set_state(job_id, JobState.FAILED, error=str(error), expected=expected)


def _told_once(event: str) -> Callable[[str], None]:
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
        _log.debug("trial begins", trial=trial.number, attempt=trial.attempt)

    def trial_ended(self, trial: Trial, standing: RunProgress) -> None:
        """A trial ended."""
        _log.info(
            "trial ended",
            trial=trial.number,
            state=trial.state.value,
            seconds=round(trial.bench_seconds, 3),
            failure=trial.failure,
            done=standing.done,
            failed=standing.failed,
            total=standing.total,
        )

    def host_set_aside(self, host: str, why: str) -> None:
        """A host measures no more for this job."""
        _log.warning("host set aside", host=host, why=why)

    def host_taken_back(self, host: str, why: str) -> None:
        """A host that was set aside measures again."""
        _log.warning("host taken back", host=host, why=why)

    def tick(self) -> None:
        """A moment passed."""
