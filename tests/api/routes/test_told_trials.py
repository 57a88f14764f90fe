"""What may be told: the same twice, and trials that were measured before; and what may not."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.support.api.callers import EXTERNAL, TWO_PARAMETERS, errors_of, send, submit
from tests.support.api.fake_runner import ask, measure, tell

pytestmark = pytest.mark.one_database

Row = dict[str, Any]


@pytest.fixture
def job(client: TestClient) -> int:
    """A job with the trials 1 and 2 out."""
    number = submit(client, EXTERNAL)
    assert len(ask(client, number, count=2)["suggestions"]) == 2
    return number


def trials(client: TestClient, job: int) -> list[Row]:
    found: list[Row] = client.get(f"/v1/jobs/{job}/trials").json()["trials"]
    return found


def test_to_tell_the_same_twice_changes_nothing(client: TestClient, job: int) -> None:
    told = {"number": 1, "metrics": {"rate": 5.0}, "host": "a", "bench_seconds": 2.5}
    first = tell(client, job, told)
    before = trials(client, job)
    assert tell(client, job, told) == first
    assert tell(client, job, told, told) == first * 2
    assert trials(client, job) == before
    assert client.get(f"/v1/jobs/{job}").json()["done"] == 1
    assert (before[0]["host"], before[0]["bench_seconds"]) == ("a", 2.5)


def test_what_is_told_is_not_told_otherwise_later(client: TestClient, job: int) -> None:
    kept = tell(client, job, {"number": 1, "metrics": {"rate": 5.0}})
    for other in ({"metrics": {"rate": 6.0}}, {"state": "failed"}, {"state": "lost"}):
        answer = client.post(f"/v1/jobs/{job}/trials", json={"trials": [{"number": 1, **other}]})
        assert errors_of(answer).keys() == {"trials[0].number"}
    both = [{"number": 2, "metrics": {"rate": rate}} for rate in (1.0, 2.0)]
    answer = client.post(f"/v1/jobs/{job}/trials", json={"trials": both})
    assert errors_of(answer).keys() == {"trials[1].number"}
    found = trials(client, job)
    assert found[0] == kept[0]
    assert found[1]["state"] == "running", "all or nothing"


WRONG: list[tuple[Row, str]] = [
    ({"number": 3, "metrics": {"rate": 1}}, "number"),
    ({"number": 0, "metrics": {"rate": 1}}, "number"),
    ({"number": 2**31, "metrics": {"rate": 1}}, "number"),
    ({"number": True, "metrics": {"rate": 1}}, "number"),
    ({"number": 2}, "metrics.rate"),
    ({"number": 2, "metrics": {"rat": 1}}, "metrics.rate"),
    ({"number": 2, "metrics": {"rate": float("nan")}}, "metrics.rate"),
    ({"number": 2, "metrics": {"rate": float("-inf")}}, "metrics.rate"),
    ({"number": 2, "metrics": {"rate": 1, "other": float("inf")}}, "metrics.other"),
    ({"number": 2, "metrics": {"rate": "1"}}, "metrics.rate"),
    ({"number": 2, "metrics": {"rate": None}}, "metrics.rate"),
    ({"number": 2, "metrics": {"rate": True}}, "metrics.rate"),
    ({"number": 2, "metrics": {"rate": 10**400}}, "metrics.rate"),
    ({"number": 2, "metrics": [1]}, "metrics"),
    ({"number": 2, "state": "running"}, "state"),
    ({"number": 2, "state": "asleep"}, "state"),
    ({"number": 2, "state": "failed", "metrics": {"rate": 1}}, "metrics"),
    ({"number": 2, "attempt": 2, "metrics": {"rate": 1}}, "attempt"),
    ({"number": 2, "configuration": {}, "metrics": {"rate": 1}}, "configuration"),
    ({"number": 2, "metrics": {"rate": 1}, "bench_seconds": -1}, "bench_seconds"),
    ({"number": 2, "metrics": {"rate": 1}, "bench_seconds": float("nan")}, "bench_seconds"),
    ({"number": 2, "metrics": {"rate": 1}, "host": "h" * 201}, "host"),
    ({"number": 2, "metrics": {"rate": 1}, "more": 1}, "more"),
    ({"metrics": {"rate": 1}}, "configuration"),
    ({"configuration": {"batch": 65.5}, "metrics": {"rate": 1}}, "configuration.batch"),
    ({"configuration": {"batch": 10**400}, "metrics": {"rate": 1}}, "configuration.batch"),
    ({"configuration": {"batch": float("nan")}, "metrics": {"rate": 1}}, "configuration.batch"),
    ({"configuration": {"patch": 1}, "metrics": {"rate": 1}}, "configuration.patch"),
    ({"configuration": {"batch": 4}, "state": "lost"}, "state"),
]


def test_a_wrong_trial_is_named_and_none_is_kept(client: TestClient, job: int) -> None:
    right = {"number": 1, "metrics": {"rate": 1.0}}
    for wrong, field in WRONG:
        answer = send(client, f"/v1/jobs/{job}/trials", {"trials": [right, wrong]})
        assert errors_of(answer).keys() == {f"trials[1].{field}"}, wrong
    assert {trial["state"] for trial in trials(client, job)} == {"running"}


def test_trials_are_a_list_of_at_least_one(client: TestClient, job: int) -> None:
    for body in ({}, {"trials": []}, {"trials": {}}, {"trials": [1]}, []):
        errors_of(send(client, f"/v1/jobs/{job}/trials", body))


def test_a_wrong_wish_is_refused(client: TestClient, job: int) -> None:
    for body, field in (
        ({"count": 0}, "count"),
        ({"count": 1001}, "count"),
        ({"count": True}, "count"),
        ({"reclaim_seconds": 0}, "reclaim_seconds"),
        ({"reclaim_seconds": float("nan")}, "reclaim_seconds"),
        ({"more": 1}, "more"),
    ):
        assert errors_of(send(client, f"/v1/jobs/{job}/suggestions", body)).keys() == {field}


@pytest.mark.slow
def test_trials_that_were_measured_before_teach_the_job(client: TestClient) -> None:
    job = submit(client, {**EXTERNAL, "space": TWO_PARAMETERS})
    draw = {"configuration": {"batch": 2}, "metrics": {"rate": 20.0}}
    answer = client.post(f"/v1/jobs/{job}/trials", json={"trials": [draw]})
    assert errors_of(answer).keys() == {"trials[0].baseline"}, "the baseline comes first"
    assert client.get(f"/v1/jobs/{job}/parameters").status_code == 409, "nothing is known yet"

    baselines = [{"baseline": True, "metrics": {"rate": 80.0 + n}} for n in range(3)]
    draws = [
        {
            "configuration": {"batch": 1 + n * 7 % 64, "idle": 1 + n * 29 % 64},
            "metrics": {"rate": 10.0 * (1 + n * 7 % 64)},
        }
        for n in range(40)
    ]
    kept = tell(client, job, *baselines, *draws)
    assert [trial["number"] for trial in kept] == list(range(1, 44))
    assert all(trial["given"] for trial in kept)
    assert {trial["phase"] for trial in kept[:3]} == {"baseline"}
    assert kept[3]["configuration"] == {"batch": 1, "idle": 1}
    assert tell(client, job, *baselines, *draws) == kept, "to tell them again changes nothing"

    ranking = client.get(f"/v1/jobs/{job}/parameters").json()
    assert not ranking["final"]
    assert [row["name"] for row in ranking["parameters"]] == ["batch", "idle"]
    assert ranking["forest"]["rate"]["trials"] >= 40
    assert client.get(f"/v1/jobs/{job}/anova").json()["rows"][0]["parameter"] == "batch"
    first = ask(client, job)["suggestions"][0]
    assert first["number"] == 44
    told = client.get(f"/v1/jobs/{job}").json()
    assert (told["done"], told["total"]) == (43, 12 + 43), "its own budget comes on top"
    assert tell(client, job, measure(first))[0]["given"] is False
