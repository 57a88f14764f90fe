"""The HTTP interface over a job that the terminal ran."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from api.app import make_app
from db.engine import make_engine
from db.job_store import Store
from db.migrate import upgrade

WORKLOAD = """
name = "instant"
[command]
argv = ["/bin/sh", "instant.sh", "{configuration}"]
timeout_seconds = 20
"""
# The configuration is one line: {"batch": 7}
INSTANT = """
read -r line < "$1" || :
number="${line##*: }"
echo "{\\"rate\\": ${number}"
"""
SPACE = """
name = "mine"
[[parameter]]
name = "batch"
type = "int"
low = 1
high = 1000
default = 10
"""


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("api")
    (folder / "instant.sh").write_text(INSTANT)
    (folder / "workload.toml").write_text(WORKLOAD)
    (folder / "space.toml").write_text(SPACE)
    command = [sys.executable, "-m", "cli.main", "tune", "--workload", "workload.toml"]
    command += ["--space", "space.toml", "--objective", "rate", "--strategy", "random"]
    command += ["--trials", "14", "--db", "jobs.db", "--out", "out"]
    root = Path(__file__).parents[2]
    ran = subprocess.run(
        command,
        cwd=folder,
        env={
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": str(root),
            "ROCKTUNE_BENCH_DIR": str(folder / "bench"),
            "ROCKTUNE_LOCK": str(folder / "lock"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    engine = make_engine(folder / "jobs.db")
    yield engine
    engine.dispose()


@pytest.fixture(scope="module")
def client(database: Engine) -> Iterator[TestClient]:
    with TestClient(make_app(database)) as client:
        yield client


def test_jobs_are_listed_newest_first_with_what_they_tune(client: TestClient) -> None:
    page = client.get("/v1/jobs").json()
    assert [(job["id"], job["workload"], job["state"]) for job in page["jobs"]] == [
        (1, "instant", "done")
    ]
    assert page["next"] is None


def test_a_job_says_how_far_it_is(client: TestClient) -> None:
    job = client.get("/v1/jobs/1").json()
    assert (job["state"], job["done"], job["failed"], job["total"]) == ("done", 14, 0, 14)
    assert job["phase"] == "confirm"


def test_trials_come_in_pages_by_number(client: TestClient) -> None:
    first = client.get("/v1/jobs/1/trials", params={"limit": 10}).json()
    second = client.get("/v1/jobs/1/trials", params={"limit": 10, "after": first["next"]}).json()
    numbers = [trial["number"] for page in (first, second) for trial in page["trials"]]
    assert numbers == list(range(1, 15))
    assert second["next"] is None
    assert first["trials"][0]["metrics"]["rate"] == 10.0


def test_result_parameters_report_and_options_are_those_of_the_folder(
    client: TestClient, database: Engine
) -> None:
    folder = Path(str(database.url.database)).parent / "out"
    assert client.get("/v1/jobs/1/result").json() == json.loads(
        (folder / "result.json").read_text()
    )
    assert [p["name"] for p in client.get("/v1/jobs/1/parameters").json()] == ["batch"]
    assert client.get("/v1/jobs/1/report").text == (folder / "report.html").read_text()
    options = client.get("/v1/jobs/1/options")
    assert options.text == (folder / "OPTIONS.ini").read_text()
    assert options.headers["content-disposition"] == 'attachment; filename="OPTIONS.ini"'


def test_what_is_not_there_is_a_problem_document(client: TestClient) -> None:
    answer = client.get("/v1/jobs/999/trials")
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["detail"] == "there is no job 999"
    assert client.get("/nowhere").headers["content-type"] == "application/problem+json"


def test_a_bad_field_is_named_with_its_value(client: TestClient) -> None:
    answer = client.get("/v1/jobs", params={"limit": 0, "state": "asleep"})
    assert answer.status_code == 422
    errors = {error["field"]: error["problem"] for error in answer.json()["errors"]}
    assert errors.keys() == {"limit", "state"}
    assert "'asleep'" in errors["state"]


def test_a_job_without_a_result_says_so(client: TestClient, database: Engine) -> None:
    document = Store(database).job(1).specification
    queued = Store(database).create_job(document, "another")
    try:
        answer = client.get(f"/v1/jobs/{queued}/options")
        assert answer.status_code == 404
        assert "queued" in answer.json()["detail"]
    finally:
        Store(database).delete_job(queued)


def test_the_catalogue_is_served_as_it_would_be_written(client: TestClient) -> None:
    spaces = {entry["name"]: entry for entry in client.get("/v1/spaces").json()}
    assert len(spaces["default"]["document"]["parameter"]) == 30
    workloads = {entry["name"]: entry for entry in client.get("/v1/workloads").json()}
    assert workloads["load"]["document"]["num"] == 1_000_000


def test_health_and_readiness(client: TestClient, tmp_path: Path) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"status": "ready"}
    empty = make_engine(tmp_path / "empty.db")
    with TestClient(make_app(empty)) as unready:
        assert unready.get("/readyz").status_code == 503
        upgrade(empty)
        assert unready.get("/readyz").status_code == 200
    empty.dispose()
