"""What can be done with a job: cancelled, gone on with, cloned, deleted; each where it may be."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from db.jobs.job_store import JobStore, restore_job
from db.schema.job_row import JobState
from jobs.specification.named_files import DOCUMENT
from tests.support.api.callers import (
    EXTERNAL,
    OPTIONS,
    QUEUED,
    errors_of,
    require_problem,
    submit,
)

# What an action answers for a job in each state.
ANSWERS = {
    "cancel": {"queued": 200, "running": 200, "done": 409, "failed": 409, "cancelled": 200},
    "resume": {"queued": 409, "running": 409, "done": 409, "failed": 200, "cancelled": 200},
    "delete": {"queued": 409, "running": 409, "done": 204, "failed": 204, "cancelled": 204},
    "clone": dict.fromkeys(JobState, 201),
}


def act(client: TestClient, action: str, job: int):  # type: ignore[no-untyped-def]
    if action == "delete":
        return client.delete(f"/v1/jobs/{job}")
    given = {"json": {}} if action == "clone" else {}
    return client.post(f"/v1/jobs/{job}/{action}", **given)  # type: ignore[arg-type]


@pytest.mark.one_database
@pytest.mark.parametrize("action", ANSWERS)
def test_an_action_is_taken_in_the_right_states_alone(
    client: TestClient, database: Engine, action: str
) -> None:
    for state, status in ANSWERS[action].items():
        job = submit(client)
        JobStore(database).set_state(
            job, JobState(state), error="broke" if state == "failed" else ""
        )
        answer = act(client, action, job)
        assert answer.status_code == status, (state, answer.text)
        if status == 409:
            assert state in require_problem(answer)["detail"] or action == "delete"
            assert client.get(f"/v1/jobs/{job}").json()["state"] == state


@pytest.mark.one_database
@pytest.mark.parametrize("action", ANSWERS)
@pytest.mark.parametrize(("job", "status"), [(999, 404), (2**63 - 1, 404), (2**63, 422), (0, 422)])
def test_a_job_that_is_not_there(client: TestClient, action: str, job: int, status: int) -> None:
    answer = act(client, action, job)
    assert answer.status_code == status
    require_problem(answer)


def test_a_cancelled_job_goes_on_as_another_run(client: TestClient) -> None:
    job = submit(client)
    cancelled = client.post(f"/v1/jobs/{job}/cancel").json()
    assert (cancelled["state"], cancelled["run"]) == ("cancelled", 1)
    resumed = client.post(f"/v1/jobs/{job}/resume").json()
    assert (resumed["state"], resumed["run"], resumed["error"]) == ("queued", 2, None)
    assert resumed["why"] == "waits for the bench host"
    external = submit(client, EXTERNAL)
    client.post(f"/v1/jobs/{external}/cancel")
    assert client.post(f"/v1/jobs/{external}/resume").json()["state"] == "running"


@pytest.mark.one_database
def test_a_failed_job_that_goes_on_has_no_error_any_more(
    client: TestClient, database: Engine
) -> None:
    job = submit(client)
    JobStore(database).set_state(job, JobState.FAILED, error="the disk is full")
    assert client.get(f"/v1/jobs/{job}").json()["error"] == "the disk is full"
    assert client.post(f"/v1/jobs/{job}/resume").json()["error"] is None


@pytest.mark.parametrize("action", ["resume", "delete"])
def test_of_two_at_the_same_moment_one_acts(
    client: TestClient, database: Engine, action: str
) -> None:
    for _ in range(3):
        job = submit(client)
        client.post(f"/v1/jobs/{job}/cancel")
        ready = Barrier(2)

        def at_once(_: int, job: int = job, ready: Barrier = ready) -> int:
            ready.wait()
            return int(act(client, action, job).status_code)

        with ThreadPoolExecutor(2) as pool:
            statuses = sorted(pool.map(at_once, range(2)))
        assert statuses == ([200, 409] if action == "resume" else [204, 404])
        if action == "resume":
            assert JobStore(database).job(job).run == 2


def test_a_deleted_job_is_gone_and_its_number_is_not_given_again(client: TestClient) -> None:
    job = submit(client)
    client.post(f"/v1/jobs/{job}/cancel")
    answer = client.delete(f"/v1/jobs/{job}")
    assert (answer.status_code, answer.content) == (204, b"")
    assert client.get(f"/v1/jobs/{job}").status_code == 404
    assert submit(client) > job


@pytest.mark.one_database
def test_a_clone_takes_settings_back_with_null(client: TestClient) -> None:
    asked = {"samples": 9, "over": ["block_size"], "detect": "5%", "cutoff": 6}
    job = submit(client, {"workload": "load-quick", "trials": 60, **asked})
    kept = client.post(f"/v1/jobs/{job}/clone", json={}).json()["specification"]["search"]
    assert (kept["samples"], kept["over"], kept["detect"]) == (9, ["block_size"], 0.05)
    back = dict.fromkeys(asked)
    found = client.post(f"/v1/jobs/{job}/clone", json=back).json()["specification"]["search"]
    assert (found["samples"], found["over"], found["detect"], found["cutoff"]) == (
        None, [], None, 4.0
    )  # fmt: skip


@pytest.mark.one_database
def test_a_clone_is_like_its_job_but_for_what_is_changed(client: TestClient) -> None:
    job = submit(
        client, {**QUEUED, "strategy": "genetic", "priority": 5, "top": 3, "generations": 9}
    )
    start = client.get(f"/v1/jobs/{job}").json()
    answer = client.post(f"/v1/jobs/{job}/clone", json={})
    clone = answer.json()
    assert answer.headers["location"] == f"/v1/jobs/{clone['id']}"
    assert clone["id"] != job
    assert clone["specification"] == start["specification"]
    assert clone["priority"] == 5
    changed = client.post(
        f"/v1/jobs/{job}/clone",
        json={"minutes": 5, "seed": 4, "top": 2, "objective": "waf", "priority": -1},
    ).json()
    asked = changed["specification"]
    assert (asked["trials"], asked["minutes"], asked["seed"]) == (None, 5, 4)
    assert (asked["search"]["top"], asked["search"]["generations"]) == (2, 9)
    assert (changed["objective"], changed["priority"]) == ("waf", -1)


@pytest.mark.one_database
def test_a_clone_with_another_baseline_forgets_the_one_before(client: TestClient) -> None:
    job = submit(client, {**QUEUED, "baseline_options": OPTIONS})
    named = client.post(f"/v1/jobs/{job}/clone", json={"baseline": "library"}).json()
    asked = named["specification"]
    assert (asked["baseline"], asked["baseline_options"]) == ("library", None)
    back = client.post(f"/v1/jobs/{named['id']}/clone", json={"baseline_options": OPTIONS})
    asked = back.json()["specification"]
    assert (asked["baseline"], asked["baseline_options"]) == (None, OPTIONS)


@pytest.mark.one_database
def test_a_clone_of_an_own_runners_job_begins_without_trials(
    served: Callable[..., TestClient],
) -> None:
    client = served()
    job = submit(client, EXTERNAL)
    client.post(f"/v1/jobs/{job}/suggestions", json={"count": 2})
    clone = client.post(f"/v1/jobs/{job}/clone", json={"trials": 30}).json()
    assert (clone["state"], clone["total"], clone["done"]) == ("running", 30, 0)
    assert client.get(f"/v1/jobs/{clone['id']}/trials").json()["trials"] == []


@pytest.mark.one_database
def test_a_restored_job_runs_no_program_that_nobody_trusted(
    client: TestClient, database: Engine
) -> None:
    row = JobStore(database).job(submit(client))
    waits = {DOCUMENT: {"names": ["/tmp/a program"]}}
    asked = (row.specification, "another digest")
    job = restore_job(database, *asked, None, [], documents=waits)
    for action in ("resume", "clone"):
        answer = act(client, action, job)
        assert answer.status_code == 409
        told = require_problem(answer)["detail"]
        assert "names '/tmp/a program', which nobody on this machine has trusted" in told
        assert "restore FILE --trust-program '/tmp/a program'" in told
    assert len(client.get("/v1/jobs").json()["jobs"]) == 2
    JobStore(database).set_state(job, JobState.DONE)
    answer = client.post("/v1/jobs", json={"kind": "explain", "job": job})
    assert "'/tmp/a program'" in errors_of(answer)["job"]["problem"]
