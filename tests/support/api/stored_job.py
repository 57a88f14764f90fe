"""Finished jobs as a database keeps them: measured by a function, no benchmark is run."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import Any

from sqlalchemy import Engine, insert, update

from db.connection.engine import writing
from db.jobs.job_store import JobStore
from db.schema.job_row import JobState
from db.schema.tables import document, job, trial
from db.trials.trial_rows import proposal
from jobs.results.export import export_options
from jobs.results.outcome import JobOutcome
from jobs.specification.resolved_job import resolve
from jobs.specification.specification import specification_from_document
from sampler.common.documents import parse_toml
from sampler.workload.workload_file import workload_text
from tests.support.jobs.pretended_job import finished_job
from tests.support.made_once import made_once
from tests.support.models.quick_ranking import small_forests


@lru_cache(maxsize=4)
def proved(strategy: str = "genetic", trials: int = 60) -> JobOutcome:
    """A job whose proof passed, with the OPTIONS file of its best; made once."""
    return made_once(f"proved-{strategy}-{trials}", partial(_proved, strategy, trials))


def _proved(strategy: str, trials: int) -> JobOutcome:
    with small_forests():
        found = finished_job(trials, strategy=strategy)
    workload = parse_toml(workload_text("load-quick"), field="workload")
    known = {**found.result["job"], "workload": workload, "shipped_space": True}
    asked = specification_from_document(known)
    result = {**found.result, "job": asked.document()}
    assert result["best"] is not None
    plan = resolve(asked, None).plan
    text = export_options(plan, None, result["best"]["configuration"], ["Tuned by Rocktune"])
    return replace(found, result=result, options=text)


def unproven(finished: JobOutcome, **verdict: Any) -> JobOutcome:
    """The same job, but its proof did not pass; with ``trial=None`` there was none."""
    result = {**finished.result, "best": None, "explanation": None}
    if verdict.get("trial", 1) is None:
        result["verdict"] = None
    else:
        result["verdict"] = {**result["verdict"], "confirmed": False, **verdict}
    return replace(finished, result=result, options=None)


def keep(engine: Engine, finished: JobOutcome, *, state: JobState = JobState.DONE) -> int:
    """The number of the job; of one that is not done the result is not kept."""
    result = dict(finished.result)
    job_id = JobStore(engine).create_job(result["job"], "digest")
    rows = [{**proposal(t), "job_id": job_id, "lease_epoch": 1} for t in finished.trials]
    done = state is JobState.DONE
    values: dict[str, Any] = {
        "state": state,
        "why": "all trials are done",
        "environment": result["environment"],
        "standing": {"done": len(rows), "failed": 0, "total": len(rows),
                     "best": {"trial": _best(finished), "fitness": 100.0}},
    }  # fmt: skip
    fitness = {str(number): value for number, value in finished.fitness.items()}
    output = {"options": finished.options, "minimal": finished.minimal, "fitness": fitness}
    with writing(engine) as connection:
        connection.execute(insert(trial), rows)
        change = {**values, "result": result} if done else values
        connection.execute(update(job).where(job.c.id == job_id).values(change))
        if done:
            remember(connection, job_id, "output", output)
    return job_id


def remember(connection: Any, job_id: int, name: str, body: dict[str, Any]) -> None:
    values = {"job_id": job_id, "name": name, "body": body, "updated_at": datetime.now(UTC)}
    connection.execute(insert(document).values(values))


def _best(finished: JobOutcome) -> int:
    return max(finished.fitness, key=lambda number: finished.fitness[number])


def names(rows: Sequence[dict[str, Any]]) -> list[str]:
    return [row["name"] for row in rows]
