"""A pick by preference: of any job with a baseline, explored and said to be no more."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from sampler.bench.settings import Settings
from tests.support.api.callers import require_problem, submit
from tests.support.api.finished_job import SECRET, body, finished, serve

pytestmark = pytest.mark.one_database

Serve = Callable[..., TestClient]
OWN = {"name": "own", "metric": [{"name": "rate", "direction": "min"}]}
REFUSED = [
    ({"weights": "waf=two"}, "weights", "has no valid weight"),
    ({"weights": "luck=1"}, "weights", "not known whether less or more of 'luck' is better"),
    ({"weights": "write_p99"}, "weights", "has not measured 'write_p99'; it measured rate, sa"),
    ({"weights": "waf", "objective": "sa"}, "weights", "either weights or"),
    ({"limit": "waf"}, "limit", "is not a limit"),
    ({"limit": "memory <= 1 MiB"}, "limit", "has not measured 'memory'"),
    ({"limit": ["waf <= 1", "waf >= 2"]}, "limit", "leave one out"),
    ({"slo": "waf"}, "slo", "is not a limit"),
    ({"slo": "write_p99 <= 340 us"}, "slo", "has not measured 'write_p99'"),
    ({"limit": "x" * 501}, "limit[0]", "has more than 500 characters"),
    ({"objective": "speed"}, "objective", "nor one of paper, waf"),
    ({"objective": "{"}, "objective", "neither a name nor JSON"),
    ({"objective": "[" * 9000}, "objective", "neither a JSON object"),
    ({"objective": '{"a":' * 3000}, "objective", "neither a name nor JSON"),
    ({"objective": '{"name": "x"}'}, "objective.metric", "is missing"),
    ({"objective": json.dumps({**OWN, "metric": [{"name": "luck", "direction": "min"}]})},
     "objective", "has not measured 'luck'"),
    ({"top": 0}, "top", "is below the minimum of 1"),
]  # fmt: skip


@pytest.mark.slow
def test_what_another_preference_picks(
    served: Serve, database: Engine, settings: Settings, tmp_path: Path
) -> None:
    client = serve(served, tmp_path)
    job = finished(client, database, settings, trials=40)
    path = f"/v1/jobs/{job}/pick"
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    own = answer.json()
    assert own["standing"] == "explored, not proven"
    assert own["objective"]["name"] == "leaner" and own["limits"] == []
    assert len(own["picks"]) == 5 and own["judged"] == own["keeping"]
    fitness = [row["fitness"] for row in own["picks"]]
    assert fitness == sorted(fitness, reverse=True) and fitness[-1] > 400
    best = client.get(f"/v1/jobs/{job}/result").json()["best"]["trial"]
    for row in own["picks"]:
        assert row["configuration"]["codec"] == "fast" and row["model"] is None
        assert row["change"]["waf"] == pytest.approx(-row["terms"]["waf"] / 10)
        assert row["proven_by_job"] == (row["trial"] == best)
    first = own["picks"][0]
    assert f"trial {first['trial']} of job {job}" in own["options"]
    assert "# Explored, not proven" in own["options"]
    assert SECRET not in answer.text and str(tmp_path) not in answer.text
    again = client.get(path, headers={"If-None-Match": answer.headers["etag"]})
    assert again.status_code == 304

    asked = {"weights": "rate=2,waf", "limit": ["waf >= 0.9 baseline", "time <= 9"], "top": 100}
    kept = client.get(path, params={**asked, "model": True}).json()
    assert kept["objective"]["metric"][0] == {"name": "rate", "direction": "max", "weight": 2.0}
    assert kept["limits"] == ["waf >= 0.9 baseline", "time <= 9 s"]
    assert 0 < len(kept["picks"]) == kept["keeping"] < kept["judged"] == own["judged"]
    for row in kept["picks"]:
        assert row["metrics"]["waf"] > 1.5 and row["configuration"]["codec"] != "fast"
        assert row["model"]["low"] < row["model"]["fitness"] < row["model"]["high"]

    level = client.get(path, params={"slo": "waf <= 1.5", "top": 100}).json()
    assert [row["name"] for row in level["objective"]["metric"]] == ["rate"]
    assert level["limits"] == ["waf <= 1.5"] and level["options"] is not None
    rates = [row["metrics"]["rate"] for row in level["picks"]]
    assert rates == sorted(rates, reverse=True) and len(rates) == level["keeping"]
    assert {row["configuration"]["codec"] for row in level["picks"]} == {"fast"}
    both = client.get(path, params={"slo": "waf <= 1.5", "weights": "time"}).json()
    assert [row["name"] for row in both["objective"]["metric"]] == ["time"]
    # The baseline breaks it: what keeps it is worth a file, however slow.
    slower = {"slo": "waf <= 1.5", "objective": json.dumps(OWN)}
    assert client.get(path, params={**slower, "top": 1}).json()["options"] is not None

    slow = client.get(path, params={"objective": json.dumps(OWN), "top": 1}).json()["picks"]
    assert slow[0]["metrics"]["rate"] <= min(row["metrics"]["rate"] for row in kept["picks"])
    none = client.get(path, params={"limit": "waf <= 0.1 baseline"}).json()
    assert none["picks"] == [] and none["options"] is None and none["keeping"] == 0
    for query, field, said in REFUSED:
        (problem,) = require_problem(client.get(path, params=query))["errors"]
        assert problem["field"] == field and said in problem["problem"], (query, problem)


def test_of_a_job_that_runs_what_is_there_and_of_one_without_a_baseline_nothing(
    served: Serve, tmp_path: Path
) -> None:
    client = serve(served, tmp_path)
    external = {**body(), "workload": "external"}
    job = submit(client, external)
    path = f"/v1/jobs/{job}"
    said = require_problem(client.get(f"{path}/pick"))
    assert said["status"] == 409 and "no run of its baseline yet" in said["detail"]
    told = [{"baseline": True, "metrics": {"waf": 2.0}}]
    configuration = {"codec": "fast", "level": 5}
    told.append({"configuration": configuration, "metrics": {"waf": 1.0}})
    answer = client.post(f"{path}/trials", json={"trials": told})
    assert answer.status_code < 300, answer.text
    picked = client.get(f"{path}/pick").json()["picks"]
    assert [(row["fitness"], row["proven_by_job"]) for row in picked] == [(500.0, False)]
    assert client.get("/v1/jobs/999/pick").status_code == 404
