"""A job submitted over HTTP and run to its end, with an operator's own command."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient
from sqlalchemy import Engine

from db.jobs.job_store import JobStore
from jobs.execution.assembly import assemble
from jobs.execution.run_job import run_job
from jobs.queue.service_settings import ServiceSettings
from jobs.specification.specification import specification_from_document
from sampler.bench.settings import Settings
from sampler.common.documents import parse_toml
from sampler.common.errors import InputError
from tests.support.jobs.instant import SPACE, Watcher, write_workload

# It stands in the operator's command line, and nobody else may ever see it.
SECRET = "hunter2-in-the-command-line"
OBJECTIVE = {"name": "leaner", "metric": [{"name": "waf", "direction": "min"}]}


def register(
    folder: Path, *, wins: str = "fast", script: str | None = None, repeatable: bool = False
) -> Path:
    """A folder of the operator's workloads: ``instant``, with a secret in its command line."""
    folder.mkdir()
    record = folder / "measured" if repeatable else None
    if record is not None:
        record.touch()
    path = write_workload(folder, wins=wins, script=script, record=record, repeatable=repeatable)
    text = path.read_text().replace('"{configuration}"', f'"{{configuration}}", "{SECRET}"')
    assert SECRET in text
    path.write_text(text)
    return folder


def serve(served: Callable[..., TestClient], folder: Path, **how: Any) -> TestClient:
    """A client of a service that has the workload; ``how`` is as of ``register``."""
    return served(ServiceSettings(workloads_dir=register(folder / "workloads", **how)))


def body(*, trials: int = 24) -> dict[str, object]:
    space = parse_toml(SPACE, field="space")
    named = {"workload": "instant", "objective": OBJECTIVE, "strategy": "random"}
    return {**named, "space": space, "trials": trials}


def run(engine: Engine, job_id: int, settings: Settings) -> None:
    """What the worker would do; a job that fails is a failed job."""
    specification = specification_from_document(JobStore(engine).job(job_id).specification)
    assembly = assemble(specification, settings)
    with suppress(InputError):
        run_job(engine, job_id, specification, assembly, settings, progress=Watcher())


def finished(client: TestClient, engine: Engine, settings: Settings, *, trials: int = 24) -> int:
    """The number of a job that is done."""
    answer = client.post("/v1/jobs", json=body(trials=trials))
    assert answer.status_code == 201, answer.text
    job_id = int(answer.json()["id"])
    run(engine, job_id, settings)
    return job_id
