"""What a stored job has to tell: its result, its ranking, its trials, its best by a preference.

What it does not have yet is refused with 409.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from api.http.problems import ProblemError
from api.services.dependencies import Service
from db.schema.job_row import JobRow, JobState
from jobs.queue.lifecycle import is_external
from jobs.specification.resolved_job import resolve_stored
from optimizer.results.ranking import ParameterRanking
from optimizer.trials.trial import Trial

if TYPE_CHECKING:
    from jobs.specification.experiments import PickRequest

_MOST_LIVE = 5000
MOST_TRIALS = 20_000
_MOST_LEARNED = 2_000


def require_done(job: JobRow) -> None:
    """Refuses with 409 a job that has no result yet."""
    if job.state is not JobState.DONE:
        raise ProblemError(409, f"job {job.id} is {job.state.value}; it has no result yet")


def result_of(service: Service, job: JobRow) -> Mapping[str, Any]:
    """The document of result.json; 409 where the job has none yet."""
    require_done(job)
    result = service.store.result(job.id)
    assert result is not None
    return result


def result_if_done(service: Service, job: JobRow) -> Mapping[str, Any] | None:
    """The same; None where there is none yet."""
    return service.store.result(job.id) if job.state is JobState.DONE else None


def job_ranking(service: Service, job: JobRow) -> tuple[ParameterRanking, bool]:
    """What a job knows of its parameters, and whether that is final; 409 for nothing yet."""
    final = job.state is JobState.DONE
    found = result_of(service, job) if final else service.store.recall(job.id, "ranking")
    standing = job.standing or {}
    if found is None and is_external(job) and 0 < standing.get("done", 0) <= _MOST_LIVE:
        from jobs.external import live_ranking

        found = live_ranking(service.engine, job)
    if found is None:
        raise ProblemError(409, f"job {job.id} has no ranking yet; it follows the sampling")
    return ParameterRanking.model_validate(found), final


def measured_trials(
    service: Service, job: JobRow, *, most: int = MOST_TRIALS, otherwise: str = ""
) -> Sequence[Trial]:
    """All trials of a job that are not too many, with its baseline among them.

    ``otherwise`` says what to do where more than ``most`` are too many, and ``MOST_TRIALS`` not.

    Raises:
        ProblemError: 409, they are too many, or the baseline was not measured yet.
    """
    count = sum(service.store.count_trials(job.id).values())
    if count > most:
        mend = otherwise if count <= MOST_TRIALS else ""
        raise ProblemError(409, f"job {job.id} has more than {most:,} trials{mend}")
    trials = service.store.trials(job.id)
    if not any(trial.is_baseline and trial.done for trial in trials):
        raise ProblemError(409, f"job {job.id} has no run of its baseline yet")
    return trials


def picked(service: Service, job: JobRow, asked: PickRequest) -> dict[str, Any]:
    """The fittest of all measured configurations by a preference, as a document.

    Raises:
        ProblemError: 409, the job has too many trials, or no run of its baseline yet.
        InputError: The preference is none, or is for what was not measured.
    """
    from jobs.views.pick import pick_of_job

    most = _MOST_LEARNED if asked.model else MOST_TRIALS
    trials = measured_trials(service, job, most=most, otherwise="; omit the model")
    best = (result_if_done(service, job) or {}).get("best")
    proven = best["trial"] if best else None
    return pick_of_job(job.id, resolve_stored(job), trials, asked, proven=proven)
