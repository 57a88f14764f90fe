"""The best by a preference, of a stored job: for the interface and for the dashboard alike."""

from __future__ import annotations

from typing import Any

from api.http.problems import ProblemError
from api.services.dependencies import Service
from db.schema.job_row import JobRow, JobState
from jobs.specification.frame import resolve_stored
from jobs.views.pick_of_job import Preference, pick_of_job

_MOST_TRIALS, _MOST_LEARNED = 20_000, 2_000


def picked(service: Service, job: JobRow, asked: Preference) -> dict[str, Any]:
    """The fittest of all measured configurations by a preference, as a document.

    Raises:
        ProblemError: 409, the job has too many trials, or no run of its baseline yet.
        InputError: The preference is none, or is for what was not measured.
    """
    most = _MOST_LEARNED if asked.model else _MOST_TRIALS
    count = sum(service.store.count_trials(job.id).values())
    if count > most:
        mend = "; ask without the model" if asked.model and count <= _MOST_TRIALS else ""
        raise ProblemError(409, f"job {job.id} has more than {most:,} trials{mend}")
    trials = service.store.trials(job.id)
    if not any(trial.is_baseline and trial.done for trial in trials):
        raise ProblemError(409, f"job {job.id} has no run of its baseline yet")
    done = job.state is JobState.DONE
    best = (service.store.result(job.id) or {}).get("best") if done else None
    return pick_of_job(
        job.id,
        resolve_stored(job),
        trials,
        asked,
        proven=best["trial"] if best else None,
    )
