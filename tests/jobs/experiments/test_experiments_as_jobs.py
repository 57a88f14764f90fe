"""Experiments that a worker runs: kept run by run, cancelled, gone on with, told as a job is."""

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from api.app import make_app
from api.services.dependencies import KnownBuilds
from db.schema.job_row import JobRow, JobState
from jobs.execution.run_job import Queued, run_queued
from jobs.experiments.experiment import RUNS
from jobs.experiments.kinds import made_ready
from sampler.bench.settings import Settings
from sampler.machine.machine import start_time
from tests.support.api.callers import OPTIONS, admin
from tests.support.api.sent_workload import PROFILE
from tests.support.jobs.service_desk import wait_until
from tests.support.jobs.worker_scene import Scene, at_work, scene

__all__ = ["scene"]
pytestmark = [pytest.mark.slow, pytest.mark.db_bench]
TINY = {"name": "tiny", "benchmarks": ["fillseq"], "num": 4_000, "settle": "flush"}
COMPARE = {
    "kind": "compare", "a": "default", "b": "compression_type=none", "workload": "tiny",
    "rounds": 3, "metrics": ["waf"],
}  # fmt: skip
# The real one; a run waits while `hold` is there.
HOLDING = """\
#!/bin/sh
case "$*" in *fillseq*)
  while test -e {folder}/hold; do echo $$ > {folder}/held; sleep 0.05; done ;;
esac
exec {program} "$@"
"""


@pytest.fixture
def settings(settings: Settings, tmp_path: Path) -> Settings:
    program = tmp_path / "db_bench"
    program.write_text(HOLDING.format(folder=tmp_path, program=shutil.which("db_bench")))
    program.chmod(0o755)
    builds = {"db_bench": str(program), "builds": f"newer={program}"}
    return settings.model_copy(update=builds)


@pytest.fixture
def client(database: Engine) -> Iterator[TestClient]:
    builds = KnownBuilds({"default": None, "newer": None})
    with admin(make_app(database, builds=builds)) as client:
        assert client.post("/v1/workloads", json={"workload": TINY}).status_code == 201
        yield client


def asked(client: TestClient, body: dict[str, Any]) -> int:
    answer = client.post("/v1/jobs", json=body)
    assert answer.status_code == 201, answer.text
    return int(answer.json()["id"])


def run(scene: Scene, job: int, state: JobState = JobState.DONE) -> JobRow:
    with at_work(scene):
        wait_until(
            lambda: scene.row(job).state in (JobState.DONE, JobState.FAILED),
            seconds=120,
            what="it has ended",
        )
    row = scene.row(job)
    assert (row.state, row.lease_owner) == (state, None), row.error
    return row


def runs_of(client: TestClient, job: int) -> list[dict[str, Any]]:
    text = client.get(f"/v1/jobs/{job}/files/{RUNS}").text
    return [json.loads(line) for line in text.splitlines()[1:]]


def test_a_comparison_of_a_batch_leaves_what_its_command_leaves(client: TestClient, scene: Scene):
    body = {"name": "both", "job": [{**COMPARE, "name": "zipped"}]}
    answer = client.post("/v1/batches", json=body)
    assert answer.status_code == 201, answer.text
    batch = f"/v1/batches/{answer.json()['id']}"
    job = client.get(batch).json()["items"][0]["job"]
    (listed,) = client.get("/v1/jobs", params={"kind": "compare"}).json()["jobs"]
    assert (listed["id"], listed["workload"], listed["objective"]) == (job, "tiny", None)
    assert listed["title"] == "default against compression_type=none"
    assert client.get("/v1/jobs", params={"kind": "tune"}).json()["jobs"] == []
    standing = run(scene, job).standing
    assert (standing["done"], standing["failed"], standing["total"]) == (6, 0, 6)

    result = client.get(f"/v1/jobs/{job}/result").json()
    (table,) = result["tables"]
    assert table["metrics"]["waf"]["better"] == "A"
    files = f"/v1/jobs/{job}/files"
    assert client.get(f"{files}/result.json").json() == result
    assert client.get(f"{files}/comparison.csv").text.startswith("workload,metric,unit")
    assert len(client.get(f"{files}/runs.csv").text.splitlines()) == 7
    lines = [json.loads(line) for line in client.get(f"{files}/{RUNS}").text.splitlines()]
    assert (lines[0]["comparison"], len(lines)) == (1, 7)
    for path in (f"/v1/jobs/{job}/report", f"{files}/report.html"):
        assert "plotly.js v" in client.get(path).text
    none = client.get(f"{files}/OPTIONS.ini")
    assert none.status_code == 404
    assert "its files are result.json, comparison.csv" in none.json()["detail"]
    # What is of tuning jobs alone says so.
    for path in ("parameters", "charts", "pareto", "options"):
        refused = client.get(f"/v1/jobs/{job}/{path}")
        assert refused.status_code == 404
        assert "is of kind compare" in refused.json()["detail"]
    tuned = {"workload": "load-quick", "warm_start": job}
    answer = client.post("/v1/jobs", json=tuned)
    assert "is of kind compare" in answer.json()["errors"][0]["problem"]
    with at_work(scene):
        wait_until(
            lambda: client.get(batch).json()["state"] == "done",
            seconds=30, what="the batch has ended",
        )  # fmt: skip
    (told,) = client.get(batch).json()["result"]["items"]
    assert (told["item"], told["kind"], told["state"]) == ("zipped", "compare", "done")
    assert "worse in waf" in told["why"]


@pytest.mark.one_database
def test_one_that_is_cancelled_goes_on_from_what_it_measured(client: TestClient, scene: Scene):
    job = asked(client, COMPARE)

    def done() -> int:
        return int((scene.row(job).standing or {}).get("done", 0))

    with at_work(scene):
        wait_until(lambda: done() >= 2, seconds=60, what="a round is measured")
        scene.hold.touch()
        pid = scene.await_held()
        why = scene.row(job).why
        assert "measuring" in why and "tiny" in why
        assert client.post(f"/v1/jobs/{job}/cancel").status_code == 200
        wait_until(lambda: start_time(pid) is None, seconds=2, what="the benchmark is gone")
        scene.go_on()
        wait_until(lambda: scene.row(job).lease_owner is None, seconds=30, what="given back")
        assert scene.row(job).state is JobState.CANCELLED
        kept = [scene.store.recall(job, f"round-{number}") for number in (1, 2, 3)]
        whole = [each for each in kept if each is not None and len(each["runs"]) == 2]
        assert whole
        assert client.post(f"/v1/jobs/{job}/resume").status_code == 200
        scene.await_state(job, JobState.DONE, seconds=60)
    for number, each in enumerate(whole, start=1):
        assert scene.store.recall(job, f"round-{number}") == each
    assert [each["round"] for each in runs_of(client, job)[:2]] == [1, 1]
    result = client.get(f"/v1/jobs/{job}/result").json()
    assert result["tables"][0]["rounds"] == 3


@pytest.mark.one_database
def test_an_upgrade_check_with_a_file(client: TestClient, scene: Scene):
    enough = {"workload": {**TINY, "name": "enough", "num": 16_500, "scale": 128}}
    assert client.post("/v1/workloads", json=enough).status_code == 201
    body = {
        "kind": "upgrade-check", "old": "default", "new": "newer", "workload": "enough",
        "pairs": 3, "options": OPTIONS,
    }  # fmt: skip
    job = asked(client, body)
    standing = run(scene, job).standing
    assert standing["done"] == standing["total"] == 12
    result = client.get(f"/v1/jobs/{job}/result").json()
    assert [case["case"] for case in result["cases"]] == ["defaults", "own-file"]
    assert client.get(f"/v1/jobs/{job}/files/upgrade.json").json() == result
    assert client.get(f"/v1/jobs/{job}/report").status_code == 404


@pytest.mark.one_database
def test_a_check_of_a_profile(client: TestClient, scene: Scene):
    sent = {"workload": {**TINY, "name": "my-db"}, "profile": PROFILE}
    assert client.post("/v1/workloads", json=sent).status_code == 201
    job = asked(client, {"kind": "profile-check", "workload": "my-db"})
    assert run(scene, job).standing is not None
    result = client.get(f"/v1/jobs/{job}/result").json()
    rows = {row["what"]: row for row in result["rows"]}
    assert rows["puts of all operations"]["database"] == 0.75
    assert rows["puts of all operations"]["load"] == 1.0
    assert rows["deepest level used"]["verdict"] != "unknown"


@pytest.mark.one_database
def test_one_that_cannot_be_measured_here_says_why(client: TestClient, scene: Scene):
    unknown = OPTIONS.replace("[DBOptions]", "[DBOptions]\n  no_such_option=1")
    job = asked(client, {**COMPARE, "b": {"name": "mine", "options": unknown}})
    assert "no_such_option" in (run(scene, job, JobState.FAILED).error or "")


@pytest.mark.one_database
def test_a_cluster_refuses_it_in_one_line(client: TestClient, scene: Scene):
    job = asked(client, COMPARE)
    queued = Queued(
        scene.engine, scene.settings, time.sleep, lambda: None, backend=object(),  # type: ignore[arg-type]
    )  # fmt: skip
    run_queued(queued, job, 1, made_ready)
    row = scene.row(job)
    assert row.state is JobState.FAILED
    refused = "a job of kind compare runs on the worker's own machine, not on a cluster"
    assert refused in (row.error or "")
