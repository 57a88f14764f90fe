"""What can be done with a job from outside: cancel it, let it go on, delete it."""

from sqlalchemy import Engine

from db.jobs.job_queue import queue_again, state_of
from db.jobs.job_store import JobStore
from db.leases import LeaseHeld, acquire, release, this_process_name
from db.schema.job_row import LIVE, JobRow, JobState
from db.trials.trial_log import StoredTrialLog, lose_in_flight
from jobs.specification.named_files import require_trusted
from sampler.common.errors import InputError

WAITS = "waits for the bench host"
INTERRUPTED = "interrupted; it can be resumed"
TOLD = "waits for an external runner: request suggestions and report trials"


class WrongState(RuntimeError):
    """The job is in a state in which this cannot be done."""


class NotAsked(RuntimeError):
    """The job is not one that takes suggestions and trials now."""


def is_external(row: JobRow) -> bool:
    """Whether a runner of the user's own measures the job."""
    return bool(row.specification["workload"].get("external"))


def cancel_stored(engine: Engine, job_id: int) -> None:
    """Ends a job that is queued or running; who runs it notices within a second.

    What was measured is kept. To cancel a cancelled job changes nothing; WrongState of one that
    has ended by itself.
    """
    ended = (job_id, JobState.CANCELLED)
    if JobStore(engine).set_state(*ended, why="cancelled", expected=LIVE):
        return
    found = state_of(engine, job_id)
    if found is not None and found[0] is not JobState.CANCELLED:
        raise WrongState(f"job {job_id} is {found[0].value}; only live jobs can be cancelled")


def leave_job(engine: Engine, job_id: int) -> None:
    """Says of a job that a terminal ran that nobody runs it: it is cancelled, and can go on.

    NoSuchJob if there is none, LeaseHeld if somebody runs it.
    """
    lease = acquire(engine, job_id, this_process_name())
    try:
        lose_in_flight(StoredTrialLog(engine, lease), INTERRUPTED)
        JobStore(engine).set_state(
            job_id, JobState.CANCELLED, why=INTERRUPTED, expected=[JobState.RUNNING], lease=lease
        )
    finally:
        release(engine, lease)


def resume_stored(engine: Engine, job_id: int, *, most_queued: int | None = None) -> None:
    """Lets a job that failed, was cancelled or has lost its terminal go on from what it measured.

    NoSuchJob if there is none, WrongState if it is live or done, or was restored and names a
    program that nobody here trusts, QueueFullError if ``most_queued`` jobs are queued.
    """
    row = JobStore(engine).job(job_id)
    require_runnable(engine, job_id)
    external = is_external(row)
    if row.state is JobState.RUNNING and not (external or row.by_service):
        try:
            leave_job(engine, job_id)
        except LeaseHeld as held:
            raise WrongState(str(held)) from None
    changed = queue_again(
        engine,
        job_id,
        expected=[JobState.FAILED, JobState.CANCELLED],
        state=JobState.RUNNING if external else JobState.QUEUED,
        why=TOLD if external else WAITS,
        by_service=not external,
        most_queued=most_queued,
    )
    if not changed:
        state = JobStore(engine).job(job_id).state.value
        raise WrongState(f"job {job_id} is {state}; only a failed or cancelled job can be resumed")


def require_runnable(engine: Engine, job_id: int) -> None:
    """Refuses, with WrongState, a job that names a program which nobody here trusts."""
    try:
        require_trusted(engine, job_id)
    except InputError as error:
        raise WrongState(error.problem) from None


def delete_stored(engine: Engine, job_id: int) -> None:
    """Deletes an ended job with all that it measured; NoSuchJob, or WrongState of a live one."""
    if not JobStore(engine).delete_job(job_id):
        raise WrongState(f"job {job_id} is still live; cancel it first")
