"""What came of a job: made once, kept, and read back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine

from db.jobs.job_store import JobStore
from db.leases import Lease
from db.schema.job_row import JobState
from db.trials.trial_export import KEPT_NAMES, TrialNames
from jobs.results.output_folder import Which
from jobs.results.pages import VERSION
from optimizer.run.ports import TrialLog
from optimizer.trials.trial import Trial

_OUTPUT, _REPORT = "output", "report"
OPTIONS_FILES = ("options", "minimal", "fullest")  # fields of `JobOutcome`


@dataclass(frozen=True)
class JobOutcome:
    """A job's outcome."""

    result: Mapping[str, Any]  # the document of result.json
    options: str | None  # the text of the OPTIONS file; None when nothing was proven better
    fitness: Mapping[int, float]  # of each finished trial by number, as the search saw it
    trials: Sequence[Trial]  # by number
    # The text of the one with the fewest changes; None where that would be the same, or nothing
    # was proven better.
    minimal: str | None = None
    # That of the best candidate with more changes than the one that was proven; None likewise.
    fullest: str | None = None


def keep_outcome(
    store: JobStore, log: TrialLog, lease: Lease, finished: JobOutcome, *, report: str
) -> bool:
    """Keeps the outcome and ends the job; False when it was cancelled at the last moment.

    The report is kept as it was made, without the library that draws its plots.

    Raises:
        LeaseLost: Another controller has taken the job over.
    """
    fitness = {str(number): value for number, value in finished.fitness.items()}
    files = {name: getattr(finished, name) for name in OPTIONS_FILES}
    log.remember(_OUTPUT, {**files, "fitness": fitness})
    log.remember(KEPT_NAMES, TrialNames.of(finished.trials).document())
    keep_report(log, report)
    store.save_result(lease.job_id, finished.result, lease=lease)
    why, expected = "all trials are done", [JobState.RUNNING]
    return store.set_state(lease.job_id, JobState.DONE, why=why, expected=expected, lease=lease)


def keep_report(log: TrialLog, report: str) -> None:
    """Keeps a job's report in place of an earlier one; LeaseLost if another controller has it."""
    log.remember(_REPORT, {"html": report, "version": VERSION})


def job_outcome(engine: Engine, job_id: int) -> JobOutcome:
    """A finished job's outcome as it was stored; a KeyError where there is none."""
    store = JobStore(engine)
    result = store.result(job_id)
    if result is None:
        raise KeyError(f"job {job_id} has no result yet")
    return JobOutcome(result=result, trials=store.trials(job_id), **kept_of(engine, job_id))


def kept_report(engine: Engine, job_id: int) -> str | None:
    """The report as it was made when the job ended; None if an earlier version made it."""
    kept = JobStore(engine).recall(job_id, _REPORT) or {}
    html: str | None = kept.get("html")
    return html if kept.get("version") == VERSION else None


def kept_of(engine: Engine, job_id: int) -> dict[str, Any]:
    """The ``OPTIONS_FILES`` and the ``fitness`` of a finished job, without result and trials."""
    kept = JobStore(engine).recall(job_id, _OUTPUT) or {}
    fitness = {int(number): value for number, value in kept.get("fitness", {}).items()}
    return {**{name: kept.get(name) for name in OPTIONS_FILES}, "fitness": fitness}


def options_of(engine: Engine, job_id: int, which: Which = "best") -> str | None:
    """An OPTIONS file of a finished job: what was proven, fewer or more changes; None without."""
    text: str | None = kept_of(engine, job_id)["options" if which == "best" else which]
    return text
