"""Workloads that are sent to the service: checked, kept, shown, named by jobs, deleted."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from db.jobs.job_store import JobStore
from db.nightly.batches import find_schedule
from db.workloads import keep_workload
from jobs.batch.batch_plan import plan_from_document
from jobs.queue.service_settings import ServiceSettings
from jobs.specification.resolved_job import resolve_stored
from sampler.workload.workload_file import SHIPPED, workload_document, workload_from_document
from tests.support.api.callers import (
    DEEP,
    EXTERNAL,
    QUEUED,
    errors_of,
    require_problem,
    send,
    submit,
)
from tests.support.api.finished_job import SECRET, register
from tests.support.api.sent_workload import BASELINE, PROFILE, SENT, WORKLOAD

pytestmark = pytest.mark.one_database

PATH = "/v1/workloads"
OWN = {**QUEUED, "workload": "my-db"}


def upload(client: TestClient, status: int = 201, **changed: Any) -> Any:
    answer = send(client, PATH, {"workload": WORKLOAD, **changed})
    assert answer.status_code == status, answer.text
    return answer


def names(client: TestClient) -> list[str]:
    return [each["name"] for each in client.get(PATH).json()]


def test_one_is_kept_and_shown_with_all_that_came_with_it(client: TestClient) -> None:
    answer = upload(client, **SENT)
    assert answer.headers["location"] == f"{PATH}/my-db"
    shown = client.get(f"{PATH}/my-db").json()
    assert answer.json() == shown
    assert shown["document"] == workload_document(workload_from_document(WORKLOAD))
    assert (shown["origin"], shown["load_class"]) == ("uploaded", "writing")
    assert shown["data_bytes"] == 100_000 * 420
    assert shown["submitter"].startswith("admin-") and shown["uploaded_at"]
    assert shown["baseline_options"] == BASELINE
    first, second = shown["profile"]["families"]
    for name, value in PROFILE["families"][0].items():
        assert {**value, **first[name]} == first[name] if isinstance(value, dict) else True
    assert first["levels"][0]["bytes"] == 2**26 and second["levels"] == []
    assert "workload" not in shown["profile"], "a path of somebody's machine"


@pytest.mark.slow
def test_all_are_listed_those_that_were_sent_last(
    served: Callable[..., TestClient], tmp_path: Path
) -> None:
    client = served(ServiceSettings(workloads_dir=register(tmp_path / "workloads")))
    upload(client, **SENT)
    found = {each["name"]: each for each in client.get(PATH).json()}
    assert list(found) == [*SHIPPED, "instant", "my-db"]
    origins = [found[name]["origin"] for name in ("load", "instant", "my-db")]
    assert origins == ["shipped", "operator", "uploaded"]
    assert found["instant"]["load_class"] is found["instant"]["data_bytes"] is None
    assert found["load"]["data_bytes"] == 1_000_000 * (16 + 1024)
    assert "profile" not in found["my-db"] and "baseline_options" not in found["my-db"]
    for name in found:
        one = client.get(f"{PATH}/{name}").json()
        assert one.items() >= found[name].items()
    shown = client.get(f"{PATH}/instant").json()
    assert shown["document"]["command"]["argv"] == ["(the operator's own)"]
    assert SECRET not in client.get(PATH).text
    for name in found:
        submit(client, {**EXTERNAL, "workload": name, "space": "default", "objective": "sa"})


def test_the_same_again_is_the_same_and_another_is_refused(client: TestClient) -> None:
    first = upload(client, **SENT).json()
    assert upload(client, 200, **SENT).json() == first
    assert upload(client, 200).json() == first
    other = {**WORKLOAD, "num": 30_000}
    refused = upload(client, 409, workload=other)
    assert "'my-db' is taken by another workload" in require_problem(refused)["detail"]
    assert client.get(f"{PATH}/my-db").json() == first
    answer = send(client, f"{PATH}?replace=true", {"workload": other})
    assert (answer.status_code, answer.json()["document"]["num"]) == (200, 30_000)
    assert answer.json()["profile"] is None


@pytest.mark.parametrize("name", ["load-quick", "instant"])
def test_the_name_of_one_that_comes_with_the_service_is_taken(
    served: Callable[..., TestClient], tmp_path: Path, name: str
) -> None:
    client = served(ServiceSettings(workloads_dir=register(tmp_path / "workloads")))
    for path in (PATH, f"{PATH}?replace=true"):
        answer = send(client, path, {"workload": {**WORKLOAD, "name": name}})
        assert answer.status_code == 409
        assert "comes with the service; rename yours" in require_problem(answer)["detail"]
    answer = client.delete(f"{PATH}/{name}")
    assert answer.status_code == 409
    assert "comes with the service and cannot be deleted" in require_problem(answer)["detail"]


def test_one_that_the_service_has_by_now_itself_stands_before_it(
    client: TestClient, database: Engine
) -> None:
    keep_workload(database, {**WORKLOAD, "name": "load"}, baseline_options=BASELINE)
    job = submit(client, {**QUEUED, "workload": "load"})
    asked = client.get(f"/v1/jobs/{job}").json()["specification"]
    assert asked["workload"]["num"] == 1_000_000 and asked["baseline_options"] is None
    assert names(client) == list(SHIPPED)


def changed(**fields: Any) -> dict[str, Any]:
    return {"workload": {**WORKLOAD, **fields}}


LARGE = {f"x{number:04}": "y" * 1000 for number in range(70)}


def test_what_is_wrong_is_refused_by_its_name(client: TestClient) -> None:
    for body, field, said in (
        (changed(name=""), "workload.name", "is not a name"),
        (changed(name="../x"), "workload.name", "is not a name"),
        (changed(name="a" * 201), "workload.name", "is not a name"),
        (changed(threads=0), "workload.threads", "is below the minimum of 1"),
        (changed(treads=2), "workload.treads", "is unknown"),
        (changed(benchmarks=["nope"]), "workload.benchmarks", "nope"),
        (changed(command={"argv": ["/bin/sh"]}), "workload.command", "not accepted over HTTP"),
        (changed(flags={"report_file": "x"}), "workload.flags.report_file", "may name a file"),
        (changed(flags={"db": "x"}), "workload.flags.db", "may name a file"),
        (changed(prepare={"flags": {"env_uri": "x"}}), "workload.prepare.flags.env_uri", "may"),
        (changed(flags=LARGE), "workload", "is larger than 65,536 bytes"),
        (changed(help="half \ud83d"), "workload", "cannot be stored as text"),
        ({**SENT, "profile": {}}, "profile.families", "write the families of the object"),
        ({**SENT, "profile": {"families": [{"name": "a"}], "x": LARGE, "y": LARGE, "z": LARGE,
                              "v": LARGE}}, "profile", "is larger than 262,144 bytes"),
        ({**SENT, "baseline_options": "no file"}, "baseline_options", ""),
        ({**SENT, "baseline_options": "x" * 500_001}, "baseline_options", "more than"),
        ({**SENT, "baseline_options": DEEP}, "baseline_options", "nested more than 16"),
        ({**SENT, "command": "x"}, "command", "is not a known field"),
        ({}, "workload", ""),
        ({"workload": "load"}, "workload", ""),
    ):  # fmt: skip
        found = errors_of(send(client, PATH, body))
        assert said in found[field]["problem"], found
        assert names(client) == list(SHIPPED)


def test_all_that_is_wrong_is_told_at_once(client: TestClient) -> None:
    body = {"workload": {**WORKLOAD, "external": True}, "profile": {}, "baseline_options": "x"}
    assert errors_of(send(client, PATH, body)).keys() == {
        "workload.external", "profile.families", "baseline_options",
    }  # fmt: skip


def test_a_job_names_it_and_keeps_its_own_copy(client: TestClient, database: Engine) -> None:
    assert errors_of(send(client, "/v1/jobs", OWN)).keys() == {"workload"}
    upload(client)
    job = submit(client, OWN)
    whole = workload_document(workload_from_document(WORKLOAD))
    assert client.get(f"/v1/jobs/{job}").json()["specification"]["workload"] == whole
    other = {**WORKLOAD, "num": 30_000}
    assert send(client, f"{PATH}?replace=true", {"workload": other}).status_code == 200
    assert client.delete(f"{PATH}/my-db").status_code == 204
    assert names(client) == list(SHIPPED)
    # What the worker makes of it; and so do a clone of it, and whatever names it anew.
    assert resolve_stored(JobStore(database).job(job)).problem.workload.num == 100_000
    clone = client.post(f"/v1/jobs/{job}/clone", json={"seed": 2}).json()
    assert clone["specification"]["workload"] == whole
    assert errors_of(send(client, "/v1/jobs", OWN)).keys() == {"workload"}


def test_its_options_are_the_baseline_of_jobs_that_ask_for_none(client: TestClient) -> None:
    upload(client, **SENT)

    def baseline(**asked: Any) -> tuple[Any, Any]:
        job = client.get(f"/v1/jobs/{submit(client, {**OWN, **asked})}").json()
        return job["specification"]["baseline"], job["specification"]["baseline_options"]

    assert baseline() == (None, BASELINE)
    assert baseline(baseline="library") == ("library", None)
    assert baseline(baseline=None) == (None, None)
    other = BASELINE.replace("86400", "0")
    assert baseline(baseline_options=other) == (None, other)
    assert baseline(workload="load-quick") == (None, None)


def test_schedules_and_their_batches_name_it_too(client: TestClient, database: Engine) -> None:
    schedule = {"name": "nightly", "cron": "30 2 * * *",
                "batch": {"workloads": ["load-quick", "my-db"], "trials": 20}}  # fmt: skip
    assert "my-db" in str(errors_of(send(client, "/v1/schedules", schedule)))
    upload(client, **SENT)
    assert send(client, "/v1/schedules", schedule).status_code == 201
    assert client.delete(f"{PATH}/my-db").status_code == 204
    row = find_schedule(database, "nightly")
    quick, own = (each.specification for each in plan_from_document(row.document).items)
    assert (quick.baseline_options, own.baseline_options) == (None, BASELINE)
    assert own.workload["num"] == 100_000
    assert client.post("/v1/schedules/nightly/run").status_code == 201


def test_there_is_none(client: TestClient) -> None:
    for method in ("GET", "DELETE"):
        answer = client.request(method, f"{PATH}/nope")
        assert answer.status_code == 404
        assert require_problem(answer)["detail"] == "there is no workload 'nope'"


def test_one_that_this_version_cannot_read_is_listed_and_refused(
    client: TestClient, database: Engine
) -> None:
    keep_workload(database, {"name": "my-db", "help": "of a later version", "shape": "round"})
    (found,) = (each for each in client.get(PATH).json() if each["name"] == "my-db")
    assert (found["load_class"], found["data_bytes"]) == (None, None)
    assert "workload.shape" in errors_of(send(client, "/v1/jobs", OWN))
