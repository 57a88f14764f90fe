"""What is wrong with a job: all of it in one answer, each field with its value and its mend."""

from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from db.jobs.job_store import read_jobs
from tests.support.api.callers import (
    DEEP,
    EXTERNAL,
    OPTIONS,
    QUEUED,
    SPACE,
    errors_of,
    send,
    submit,
)

pytestmark = pytest.mark.one_database


def test_every_wrong_field_is_named_at_once(client: TestClient, database: Engine) -> None:
    body = {
        "workload": "nope",
        "space": "nowhere",
        "objective": {"name": "mine", "metric": [{"name": "rate", "direction": "up"}]},
        "strategy": "luck",
        "trials": 3,
        "scale": 0,
        "seed": -1,
        "memory": "much",
    }
    answer = client.post("/v1/jobs", json=body)
    errors = errors_of(answer)
    assert errors.keys() == {*body.keys() - {"objective"}, "objective.metric[1].direction"}
    values = {field: errors[field]["value"] for field in body if field in errors}
    assert values == {field: repr(body[field]) for field in values}
    assert "load-quick" in errors["workload"]["problem"]
    assert "genetic" in errors["strategy"]["problem"]
    assert "at least 12" in errors["trials"]["problem"]
    assert all(field in answer.json()["detail"] for field in errors)
    assert read_jobs(database, limit=1) == []


def test_wrong_types_and_wrong_meanings_are_named_together(client: TestClient) -> None:
    body = {"workload": "nope", "trials": "12", "seed": 1.5, "space": 7, "memory": [], "more": 1}
    errors = errors_of(client.post("/v1/jobs", json={**body, "scale": 0}))
    assert errors.keys() == {"workload", "trials", "seed", "space", "memory", "more", "scale"}
    assert errors["trials"]["value"] == "'12'"
    assert "shipped name" in errors["space"]["problem"]
    assert "512MiB" in errors["memory"]["problem"]


@pytest.mark.parametrize("body", [{"minutes": 5}, {"workload": "nope", "minutes": 5}])
def test_what_is_right_is_not_called_wrong_beside_a_wrong_workload(
    anyone: TestClient, body: dict[str, Any]
) -> None:
    assert errors_of(anyone.post("/v1/jobs", json=body)).keys() == {"workload"}


def test_a_wrong_field_is_named(anyone: TestClient) -> None:
    for change, field in (
        ({"trials": 20, "minutes": 5}, "minutes"),
        ({"workload": "external", "trials": None, "minutes": 5}, "minutes"),
        ({"minutes": 0, "trials": None}, "minutes"),
        ({"trials": 1_000_001}, "trials"),
        ({"baseline": "mine"}, "baseline"),
        ({"baseline": "library", "baseline_options": OPTIONS}, "baseline_options"),
        ({"baseline_options": "[Version]\n"}, "baseline_options"),
        ({"baseline_options": DEEP}, "baseline_options"),
        ({"start_from": [{"name": "mine", "options": DEEP}]}, "start_from"),
        ({"top": 0}, "top"),
        ({"priority": 1001}, "priority"),
        ({"memory": "1"}, "memory"),
        ({"memory": True}, "memory"),
        ({"memory": "9" * 5000}, "memory"),
        ({"memory": 10**400}, "memory"),
        ({"stop_early": "yes"}, "stop_early"),
        ({"space": {"name": "mine"}}, "space.parameter"),
        ({"space": {**SPACE, "more": 1}}, "space.more"),
        ({"space": {"name": "mine", "parameter": [{"name": "x y"}]}}, "space.parameter[1].name"),
        ({"objective": {"name": "mine"}}, "objective.metric"),
    ):
        body = {name: value for name, value in {**QUEUED, **change}.items() if value is not None}
        assert errors_of(send(anyone, "/v1/jobs", body)).keys() == {field}


def test_a_workload_is_a_name_and_never_a_file(
    client: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('name = "mine"\n[command]\nargv = ["/bin/true"]\n')
    (tmp_path / "space.toml").write_text('name = "stolen"\n')
    monkeypatch.chdir(tmp_path)
    for field in ("workload", "space", "objective"):
        for name in (
            "../../etc/passwd", "/etc/passwd", str(file), file.name, f"./{file.name}",
            f"file://{file}", "space.toml", "load.toml", "spaces/default", "mine\0.toml",
        ):  # fmt: skip
            errors = errors_of(send(client, "/v1/jobs", {**EXTERNAL, field: name}))
            assert errors.keys() == {field}
            assert "not" in errors[field]["problem"], "neither read nor found to be no TOML"
            assert "root:" not in errors[field]["problem"]


def test_an_options_file_is_text_and_never_a_path(client: TestClient, tmp_path: Path) -> None:
    file = tmp_path / "OPTIONS"
    file.write_text("[Version]\nrocksdb_version=7.8.3\n")
    errors = errors_of(client.post("/v1/jobs", json={**QUEUED, "baseline_options": str(file)}))
    assert errors.keys() == {"baseline_options"}


def test_a_clone_is_checked_like_a_job(client: TestClient) -> None:
    job = submit(client)
    answer = client.post(f"/v1/jobs/{job}/clone", json={"seed": -1, "trials": 3, "scale": 0})
    assert errors_of(answer).keys() == {"seed", "trials", "scale"}
    assert errors_of(client.post(f"/v1/jobs/{job}/clone", json={"id": 4})).keys() == {"id"}
