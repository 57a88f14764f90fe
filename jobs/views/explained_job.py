"""A finished job's explanation: as it was kept, or made anew where an earlier version ended it.

What is made anew stays in memory, not in the database: to read it changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import Engine

from db.jobs.job_store import JobStore
from db.schema.job_row import JobRow
from jobs.results.remembered import Remembered
from jobs.specification.frame import resolve_stored
from optimizer.explanation.document import NOTHING_EXPLAINED, explanation_document
from optimizer.trials.history import History

_made_anew = Remembered[dict[str, Any]]()


def explanation_of_job(
    engine: Engine, job: JobRow, result: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Why the job's winner is better; None where nothing was proven, or too little is known.

    Args:
        engine: The database.
        job: A job that is done.
        result: The document of its result.json.
    """
    kept: dict[str, Any] | None = explained_job(engine, job, result)["explanation"]
    return kept


def explained_job(engine: Engine, job: JobRow, result: Mapping[str, Any]) -> Mapping[str, Any]:
    """``explanation`` and ``explanation_withheld`` of a job; made anew for an earlier version's.

    Args:
        engine: The database.
        job: A job that is done.
        result: The document of its result.json.
    """
    if result["best"] is None:
        return NOTHING_EXPLAINED
    if "explanation" in result:  # one that an earlier version made is shown as it is
        return {name: result.get(name) for name in NOTHING_EXPLAINED}
    return _made_anew.of(engine, job.id, job.updated_at, lambda: _anew(engine, job, result))


def _anew(engine: Engine, job: JobRow, result: Mapping[str, Any]) -> dict[str, Any]:
    problem = resolve_stored(job).problem
    # The library's defaults are those of the RocksDB that measured, not the catalogue's.
    space = problem.space.at_baseline(result["baseline"].get("configuration") or {})
    return explanation_document(
        replace(problem, space=space),
        History(JobStore(engine).trials(job.id)),
        result["best"]["configuration"],
        low=result["verdict"]["low"],
        high=result["verdict"]["high"],
    )
