"""The report of a stored job, ready to leave: kept, or made anew where an earlier version made it.

What is made anew stays in memory, not in the database: to read a report changes nothing.
"""

from __future__ import annotations

from datetime import datetime
from weakref import WeakKeyDictionary

from sqlalchemy import Engine

from db.job_row import JobRow
from jobs.finished import finished_job, kept_report
from jobs.report import report_html
from jobs.report_engine import whole_page

_MOST_REMEMBERED = 16
_Made = dict[tuple[int, datetime], str]
_made_anew: WeakKeyDictionary[Engine, _Made] = WeakKeyDictionary()


def report_of_job(engine: Engine, job: JobRow) -> bytes:
    """The page of a finished job.

    Raises:
        KeyError: The job has no result.
    """
    return whole_page(kept_report(engine, job.id) or _anew(engine, job))


def _anew(engine: Engine, job: JobRow) -> str:
    made = _made_anew.setdefault(engine, {})
    key = (job.id, job.updated_at)
    page = made.get(key)
    if page is None:
        page = report_html(finished_job(engine, job.id))
        if len(made) >= _MOST_REMEMBERED:
            made.clear()
        made[key] = page
    return page
