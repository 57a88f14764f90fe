"""The report of a job: one page that needs nothing else, once its plots' library is in it."""

from __future__ import annotations

from sqlalchemy import Engine

from db.schema.job_row import JobRow
from jobs.report.content import content
from jobs.results.cache import JobCache
from jobs.results.outcome import JobOutcome, job_outcome, kept_report
from jobs.results.pages import document_html, whole_page

_made_anew = JobCache[str]()


def report_html(finished: JobOutcome) -> str:
    """The page, with a place for what draws its plots."""
    return document_html("report.html", **content(finished))


def report_of_job(engine: Engine, job: JobRow) -> bytes:
    """The page of a finished job.

    Raises:
        KeyError: The job has no result.
    """
    return whole_page(kept_report(engine, job.id) or _anew(engine, job))


def _anew(engine: Engine, job: JobRow) -> str:
    return _made_anew.of(
        engine, job.id, job.updated_at, lambda: report_html(job_outcome(engine, job.id))
    )
