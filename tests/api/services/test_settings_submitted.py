"""Settings of a job over HTTP: kept as they were meant, cloned, or refused by their name.

What each may be, and the words that refuse it, is tested in ``tests/jobs/specification``.
"""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.support.api.callers import OBJECTIVE, QUEUED, errors_of, send, submit

pytestmark = pytest.mark.one_database

FILE = {"name": "mine.ini", "options": '[DBOptions]\n[CFOptions "default"]\n  num_levels=5\n'}
RATE = {"metric": "rate", "at_least_baseline": 0.95}
LIMITS = ["rate >= 95% baseline", "write_p99 <= 0.2 ms"]
LIMITED = [RATE, {"metric": "write_p99", "at_most": 200.0}]
READING = {"workload": "read-quick", "space": "reading"}


def kept(client: TestClient, path: str = "/v1/jobs", **asked: Any) -> dict[str, Any]:
    """The specification of a job that is like ``QUEUED``, or of a clone of the job at a path."""
    body = {**QUEUED, "trials": 40, **asked} if path == "/v1/jobs" else asked
    answer = client.post(path, json=body)
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()["specification"]
    return found


def test_what_is_asked_for_is_kept_and_a_clone_may_have_it_otherwise(client: TestClient) -> None:
    asked = {"confirm_scale": 8, "detect": "rate=2%", "limits": LIMITS, "objective": "waf",
             "start_from": ["benchmark.sh", FILE], "strategy": "guided"}  # fmt: skip
    own = {
        **QUEUED,
        "trials": 40,
        **asked,
        "objective": {**OBJECTIVE, "limit": [RATE]},
        "limits": LIMITS[1:],
    }
    clone = f"/v1/jobs/{submit(client, own)}/clone"
    for found in (client.get("/v1/jobs/1").json()["specification"], kept(client, clone, seed=5)):
        assert found["objective"]["limit"] == LIMITED, "its own, and what is added"
        assert (found["confirm_scale"], found["warm_start"]) == (8, None)
        assert found["start_from"] == [{"name": "benchmark.sh"}, FILE]
        assert (found["search"]["detect"], found["search"]["detect_metric"]) == (0.02, "rate")
    other = kept(client, clone, confirm_scale=None, detect="3%", limits=["sa <= 2"],
                 start_from=None, warm_start="auto")  # fmt: skip
    assert (other["confirm_scale"], other["start_from"], other["warm_start"]) == (
        None,
        None,
        "auto",
    )
    assert (other["search"]["detect"], other["search"]["detect_metric"]) == (0.03, None)
    assert other["objective"]["limit"] == [{"metric": "sa", "at_most": 2.0}]
    for without in ({"limits": None}, {"limits": []}, {"objective": "rate"}):
        assert "limit" not in kept(client, clone, **without)["objective"]
    assert kept(client, warm_start=1)["warm_start"] == 1
    assert kept(client, detect=5)["search"]["detect"] == pytest.approx(0.05)
    guided, second = kept(client, start_from=["guide", "guide:48"])["start_from"]
    assert guided["name"].startswith("guide:") and second == {"name": "guide:48"}


def test_without_an_objective_it_is_one_that_the_load_serves(client: TestClient) -> None:
    for workload, objective in (("read-quick", "reading"), ("kioxia-t5", "reading"),
                                ("mixed-quick", "paper")):  # fmt: skip
        found = kept(client, workload=workload)
        assert found["objective"]["name"] == objective
        assert ("prepare" in found["workload"]) == (objective == "reading")


def test_what_is_wrong_is_refused_by_its_name(anyone: TestClient) -> None:
    for given, field in (
        ({"confirm_scale": 64}, "confirm_scale"),
        ({"workload": "external", "confirm_scale": 8}, "confirm_scale"),
        ({"detect": 0.05}, "detect"),
        ({"detect": "p99=5%"}, "detect"),
        ({"detect": "5%"}, "detect"),
        ({"limits": ["fast"]}, "limits"),
        ({"limits": ["memory <= 1GiB"]}, "limits"),
        ({"limits": ["rate >= 2 baseline", "rate <= 1 baseline"]}, "limits"),
        ({"limits": ["ra\x00te >= 2"]}, "limits"),
        ({"limits": "rate >= 2"}, "limits"),
        ({"limits": ["rate >= 1"] * 51}, "limits"),
        ({"objective": {**OBJECTIVE, "limit": [{"metric": "sa", "at_most": 2},
                                               {"metric": "memory", "at_most": 2}]}},
         "objective.limit[2].metric"),
        ({**READING, "objective": "paper"}, "objective"),
        ({"start_from": ["fastest"]}, "start_from"),
        ({"start_from": ["guide"], "workload": "external"}, "start_from"),
        ({"start_from": [{**FILE, "options": "x"}]}, "start_from"),
        ({"warm_start": 4711}, "warm_start"),
        ({"warm_start": "best"}, "warm_start"),
        ({"warm_start": 0}, "warm_start"),
        ({"strategy": "genetic", "warm_start": "auto"}, "warm_start"),
        ({"strategy": "greedy", "samples": 3}, "samples"),
    ):  # fmt: skip
        assert errors_of(send(anyone, "/v1/jobs", {**QUEUED, **given})).keys() == {field}, given


def test_a_schedule_takes_limits_too(client: TestClient) -> None:
    job = {"workload": "load-quick", "trials": 12, "limits": LIMITS}
    body = {"name": "nightly", "cron": "30 2 * * *", "batch": {"job": [job]}}
    assert client.post("/v1/schedules", json=body).status_code == 201
    wrong = {**body, "name": "other", "batch": {"job": [{**job, "limits": ["memory <= 1GiB"]}]}}
    errors = errors_of(client.post("/v1/schedules", json=wrong))
    assert errors.keys() == {"load-quick/default: limits"}
