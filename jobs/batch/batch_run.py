"""A batch: run in a terminal by one process at a time, and what came of it, wherever it ran.

The document of batch.json is the same for the terminal and the service.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import structlog
from sqlalchemy import Engine

from db.connection.engine import present, writing
from db.jobs.job_store import JobStore
from db.leases import (
    LeaseHeld,
    give_back_lead,
    keep_lead,
    spoken,
    take_lead,
    this_process_name,
)
from db.nightly.batches import (
    BatchRow,
    BatchState,
    batch_jobs,
    end_batch,
    find_batch,
    give_up_jobs,
    note_batch,
    unfinished,
)
from db.nightly.nights import night_result
from db.schema.job_row import ENDED, LIVE, JobKind, JobRow, JobState, verdict_of
from db.webhooks import Event
from jobs.batch.batch_plan import BatchPlan
from jobs.execution.held_job import JobCancelled, unless_away
from optimizer.run.ports import ControllerStops, LeaseLost

SCHEMA = 1
_DELETED = "deleted"
_log = structlog.get_logger("nights")
_JOB_WAITS = "waits for earlier jobs of its batch"
_HELD_SECONDS = 1.0
_RUNS = "runs in a terminal"
_SECONDS = 60.0  # as long as a job's lease: a process that is dead on this machine is seen at once
_KEEP_SECONDS = 10.0
_GIVEN_UP = "its batch was interrupted and replaced by a new one"


class BatchHeld(RuntimeError):
    """Another process runs the batch of this name."""


class TurnLost(ControllerStops):
    """Another process has taken the batch over; this one was paused for long.

    No ``Exception``: nobody may take it for the end of the job in flight.
    """


class BatchTurn:
    """The right to run the batch of a name, as long as it is kept."""

    def __init__(self, engine: Engine, name: str) -> None:
        """Takes it; BatchHeld where it is another's, who lives."""
        taken = take_lead(engine, f"batch {name}", this_process_name(), seconds=_SECONDS)
        if isinstance(taken, str):
            raise BatchHeld(f"the batch {name} is being run by {spoken(taken)}")
        self._engine, self._turn, self._name = engine, taken, name
        self._kept = time.monotonic()

    def check(self) -> None:
        """Makes it last; to be called often. TurnLost where another process has taken it."""
        if time.monotonic() - self._kept < _KEEP_SECONDS:
            return
        self._kept = time.monotonic()
        # While the database is away nobody else can take it either.
        with unless_away(self._engine):
            if not keep_lead(self._engine, self._turn, seconds=_SECONDS):
                raise TurnLost(f"the batch {self._name} was taken over by another process")

    def give_back(self) -> None:
        """Lets the next begin at once; without a database the turn runs out by itself."""
        with unless_away(self._engine):
            give_back_lead(self._engine, self._turn)


@dataclass(frozen=True)
class BatchOpening:
    """A batch that is to be run."""

    row: BatchRow
    resumed: bool  # whether it was begun before
    given_up: tuple[int, ...]  # older ones of this name, which nobody will go on with now


def open_batch(engine: Engine, plan: BatchPlan, *, resume: bool) -> BatchOpening:
    """Finds the batch to go on with, or begins one with all of its jobs.

    Whoever calls has the batch's turn (``BatchTurn``). With ``resume`` the newest of this name and
    digest that has not ended is gone on with, if there is one.

    Raises:
        BatchHeld: The service runs a batch of this name.
    """
    left = unfinished(engine, plan.name)
    for each in left:
        rows = batch_jobs(engine, each.id).values()
        if each.schedule_id is not None or (rows and all(row.by_service for row in rows)):
            raise BatchHeld(f"batch {each.id} ({each.name}) is still running on the service")
    digest = plan.digest()
    same = next((each for each in left if resume and each.digest == digest), None)
    others = tuple(each.id for each in left if each is not same)
    for batch_id in others:
        give_up_jobs(engine, batch_id, _GIVEN_UP)
        end_batch_now(engine, batch_id)
    if same is not None:
        note_batch(engine, same.id, _RUNS)
        return BatchOpening(same, True, others)
    with writing(engine) as connection:
        begun = plan.begin(connection, why=_RUNS, job_why=_JOB_WAITS)
    assert begun is not None  # it is of no schedule, so there is no time to be taken
    return BatchOpening(find_batch(engine, begun), False, others)


def run_batch(
    engine: Engine,
    batch_id: int,
    run_one: Callable[[str, JobRow], None],
    *,
    failed: Callable[[str, str], None],
    waiting: Callable[[str], None] = lambda _: None,
) -> Mapping[str, Any]:
    """Runs what is left of a batch, one job after another, and ends it; returns its document.

    ``run_one`` runs a job, or what is left of it, to its end, given the item's name; one that is
    done already too, for what is to be written about it. ``failed`` is told which item failed and
    why, also where only its files could not be written; the others still run.

    Raises:
        TurnLost: Another process has taken the batch over.
        KeyboardInterrupt: Passed on; the batch can be gone on with.
    """
    store = JobStore(engine)
    for item, job_id in [(item, row.id) for item, row in batch_jobs(engine, batch_id).items()]:
        try:
            row = store.job(job_id)  # it may have been cancelled since the batch began
            if row.state in ENDED and row.state is not JobState.DONE:
                failed(item, row.error or row.why or row.state.value)
            else:
                _run(lambda: run_one(item, row), waiting)  # noqa: B023, it is called now
        except (JobCancelled, LeaseLost, KeyError) as gone:
            failed(item, str(gone))
        except Exception as error:
            # What fails before a job begins is its end; `run_job` has said the rest itself.
            store.set_state(job_id, JobState.FAILED, error=str(error), expected=LIVE)
            failed(item, _why(store, job_id, error))
    return end_batch_now(engine, batch_id)


def _run(run: Callable[[], None], waiting: Callable[[str], None]) -> None:
    """Waits for a process that died on another machine: its lease soon runs out."""
    while True:
        try:
            run()
        except LeaseHeld as held:
            waiting(str(held))
            time.sleep(_HELD_SECONDS)
        else:
            return


def interrupt_batch(engine: Engine, batch_id: int) -> None:
    """Says that a batch stands still until it is gone on with."""
    note_batch(engine, batch_id, "interrupted; continue with the same command and --resume")


def _why(store: JobStore, job_id: int, error: Exception) -> str:
    try:
        done = store.job(job_id).state is JobState.DONE
    except KeyError:  # deleted meanwhile
        done = False
    if not done:
        return str(error)
    return (
        f"job {job_id} is done, but its files could not be written: {error}; "
        f"`rocktune report {job_id}` and `rocktune options {job_id}` give them"
    )


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
        _log.error("regression detection failed", batch=row.name, exc_info=error)
        return None
    if found is None:
        return None
    for line in report_lines(found)[:-1]:
        _log.warning("regression finding", batch=row.name, finding=line)
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
