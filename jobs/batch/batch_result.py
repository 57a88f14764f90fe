"""What came of a batch: the document of batch.json, the same for the terminal and the service."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import structlog
from sqlalchemy import Engine

from db.connection.transactions import present
from db.jobs.job_store import JobStore
from db.nightly.batches import BatchRow, BatchState, batch_jobs, end_batch, find_batch
from db.nightly.nights import night_result
from db.schema.job_row import JobKind, JobRow, JobState, verdict_of
from db.webhooks import Event

SCHEMA = 1
_DELETED = "deleted"
_log = structlog.get_logger("nights")


def end_batch_now(engine: Engine, batch_id: int) -> Mapping[str, Any]:
    """Ends a batch whose jobs have all ended; keeps and returns what came of it (or KeyError)."""
    row = find_batch(engine, batch_id)
    document = batch_document(engine, row, present(engine))
    watch = document["watch"] = _watched(engine, row)
    told = _news(watch, row) if watch else {}
    end_batch(engine, batch_id, BatchState(document["state"]), document["why"], document, told)
    return document


def _watched(engine: Engine, row: BatchRow) -> dict[str, Any] | None:
    """This night against those before; None where that could not be judged."""
    from jobs.regression.detection import regressions_of_batch
    from jobs.regression.report import report_lines

    try:
        found = regressions_of_batch(engine, row.name, ending=row.id)
    except Exception as error:
        # The night itself is measured and kept; `rocktune nights` judges it again at any time.
        _log.error("the regression watch failed", batch=row.name, exc_info=error)
        return None
    if found is None:
        return None
    for line in report_lines(found)[:-1]:
        _log.warning("night differs", batch=row.name, finding=line)
    return found.document() | {"lines": report_lines(found)}


def _news(watch: Mapping[str, Any], row: BatchRow) -> dict[Event, Mapping[str, Any]]:
    """The regressions of this night, and those that are gone: better after worse."""
    worse, news = set[tuple[str, str, str]](), dict[Event, list[Mapping[str, Any]]]()
    for each, line in zip(watch["findings"], watch["lines"], strict=False):
        series = (each["item"], each["of"], each["metric"])
        if each["batch"] == row.id and (each["worse"] or series in worse):
            event: Event = "regression_found" if each["worse"] else "regression_gone"
            news.setdefault(event, []).append(each | {"text": line})
        (worse.add if each["worse"] else worse.discard)(series)
    about = {"id": row.id, "name": row.name, "began_at": row.created_at.isoformat()}
    return {event: {"batch": about, "findings": found} for event, found in news.items()}


def batch_document(engine: Engine, row: BatchRow, ended_at: datetime | None) -> dict[str, Any]:
    """The document of batch.json; nothing is rounded, and what is unknown is null."""
    rows = batch_jobs(engine, row.id)
    store = JobStore(engine)
    items = []
    for name in (each["item"] for each in row.document["items"]):
        job = rows.get(name)
        result = store.result(job.id) if job and job.state is JobState.DONE else None
        items.append(_item(name, job, result))
    state, why = _standing(items)
    return {
        "schema": SCHEMA,
        "batch": row.id,
        "name": row.name,
        "state": state.value,
        "why": why,
        "began_at": row.created_at.isoformat(),
        "due_at": row.due_at.isoformat() if row.due_at else None,
        "ended_at": ended_at.isoformat() if ended_at else None,
        "items": items,
    }


def _item(name: str, job: JobRow | None, result: Mapping[str, Any] | None) -> dict[str, Any]:
    verdict = verdict_of((result or {}).get("verdict"))
    if job is not None and job.kind is not JobKind.TUNE:  # no series is made of it
        result = None
    return {
        "item": name,
        "kind": job.kind.value if job else None,
        "job": job.id if job else None,
        "state": job.state.value if job else _DELETED,
        "error": job.error if job else None,
        "folder": name,
        "trials": result["trials"]["total"] if result else None,
        "fitness": {key: verdict.get(key) for key in ("fitness", "low", "high", "p")},
        "confirmed": verdict.get("confirmed"),
        "trade": verdict.get("trade"),
        "why": verdict.get("why"),
        "change": verdict.get("change", {}),
        "result": night_result(result) if result else None,
    }


def _standing(items: list[dict[str, Any]]) -> tuple[BatchState, str]:
    states = [item["state"] for item in items]
    done = states.count("done")
    if any(state in ("queued", "running") for state in states):
        return BatchState.RUNNING, f"{done} of {len(items)} jobs are done"
    if done == len(items):
        return BatchState.DONE, "all jobs are done"
    others = [
        f"{states.count(state)} {state}"
        for state in ("failed", "cancelled", _DELETED)
        if state in states
    ]
    return BatchState.FAILED, f"{done} of {len(items)} jobs are done, {', '.join(others)}"
