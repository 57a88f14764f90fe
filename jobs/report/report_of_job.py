"""The report of a stored job, ready to leave: kept, or made anew where an earlier version made it.

What is made anew stays in memory, not in the database: to read a report changes nothing.
"""

from __future__ import annotations

from sqlalchemy import Engine

from db.schema.job_row import JobRow
from jobs.report.report import report_html
from jobs.results.finished import finished_job, kept_report
from jobs.results.remembered import Remembered
from jobs.results.report_engine import whole_page

_made_anew = Remembered[str]()


def report_of_job(engine: Engine, job: JobRow) -> bytes:
    """The page of a finished job.

    Raises:
        KeyError: The job has no result.
    """
    return whole_page(kept_report(engine, job.id) or _anew(engine, job))


def _anew(engine: Engine, job: JobRow) -> str:
    return _made_anew.of(
        engine, job.id, job.updated_at, lambda: report_html(finished_job(engine, job.id))
    )
