"""How a job stands, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from api.schemas.job_schemas import JobProgress, JobPublic


def best(job: JobProgress) -> str:
    """The best so far."""
    if job.best is None:
        return "no best yet"
    return f"best {job.best.fitness:+z.0f} (trial {job.best.trial})"


def time_left(job: JobProgress) -> str:
    """The time left, as a clock shows it; empty where it is not known, or nothing goes on."""
    if job.state.value != "running" or job.seconds_left is None:
        return ""
    minutes, seconds = divmod(round(job.seconds_left), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def ended(job: JobProgress) -> str:
    """How many trials have ended, of how many."""
    count = job.done + job.failed
    return str(count) if job.total is None else f"{count}/{job.total}"


def not_whole(failed: int, cut_off: int) -> str:
    """How many trials ended without a whole measurement: those that failed, those cut off.

    Args:
        failed: All of them.
        cut_off: Those that were cut off, as slow ones are.
    """
    said = f"{failed - cut_off} failed"
    return f"{said}, {cut_off} cut off" if cut_off else said


def standing(job: JobProgress) -> str:
    """One line: trials, failures, the best, the time left."""
    left = time_left(job)
    parts = [f"{ended(job)} trials", not_whole(job.failed, job.cut_off), best(job)]
    return ", ".join([*parts, *([f"{left} left"] if left else [])])


def situation(job: JobProgress) -> str:
    """One line: what it does, and why."""
    if job.state.value != "running":
        why = job.error or job.why
        return why if why == job.state.value else f"{job.state.value}: {why}"
    return f"{job.phase or job.state.value}: {job.why}"


def limits_words(job: JobPublic) -> str:
    """One line: the limits that its winner must keep; empty where it has none.

    Raises:
        ServiceError: The service says something that is no limit.
    """
    from cli.client.answers import not_understood
    from jobs.report.limit_rows import limits_asked
    from optimizer.objective.limits import limit_words

    asked = job.specification.get("objective", {})  # of an older service it may not be told
    try:
        texts = [limit_words(limit) for limit in limits_asked(asked)]
    except (LookupError, TypeError, ValueError, AttributeError):
        raise not_understood() from None
    return f"must keep {'; '.join(texts)}" if texts else ""
