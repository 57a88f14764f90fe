"""What a finished job has found; and that a job which is not finished says so."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from db.jobs.job_store import JobStore
from sampler.bench.settings import Settings
from tests.support.api.callers import EXTERNAL, require_problem, submit
from tests.support.api.fake_runner import ask, measure, tell
from tests.support.api.finished_job import SECRET, body, finished, run, serve

pytestmark = pytest.mark.one_database

RESULTS = ("result", "parameters", "anova", "pareto", "report", "options")
Serve = Callable[..., TestClient]


@pytest.mark.slow
def test_models_rank_where_they_guide_the_search(
    served: Serve, database: Engine, settings: Settings, tmp_path: Path
) -> None:
    client = serve(served, tmp_path)
    asked = {**body(trials=40), "seed": 2}
    del asked["strategy"]
    job = submit(client, asked)
    run(database, job, settings)
    path = f"/v1/jobs/{job}"
    assert client.get(path).json()["strategy"] == "guided"
    ranking = client.get(f"{path}/parameters", params={"metric": "waf"}).json()
    assert (ranking["ranked_by"], ranking["final"]) == ("models", True)
    assert ranking["models"].keys() == ranking["forest"].keys() == {"waf"}
    totals = [row["model"]["waf"]["total"] for row in ranking["parameters"]]
    assert totals == sorted(totals, reverse=True)
    first = ranking["parameters"][0]
    assert (first["name"], first["rank"], first["matters"]) == ("codec", 1, True)
    assert first["better"] == "fast"


@pytest.mark.slow
def test_all_that_a_finished_job_has_found(
    served: Serve, database: Engine, settings: Settings, tmp_path: Path
) -> None:
    client = serve(served, tmp_path)
    job = finished(client, database, settings, trials=40)
    path = f"/v1/jobs/{job}"
    assert client.get(path).json()["state"] == "done"
    result = client.get(f"{path}/result").json()
    kept = JobStore(database).result(job)
    assert kept is not None
    assert {**result, "job": None} == {**kept, "job": None}
    assert result["best"]["configuration"]["codec"] == "fast"

    ranking = client.get(f"{path}/parameters").json()
    assert ranking["final"]
    assert [row["name"] for row in ranking["parameters"]] == ["codec", "level"]
    top = client.get(f"{path}/parameters", params={"top": 1, "metric": "waf"}).json()
    assert [row["name"] for row in top["parameters"]] == ["codec"]
    anova = client.get(f"{path}/anova", params={"metric": "waf"}).json()
    assert anova["final"]
    assert anova["rows"][0]["parameter"] == "codec" and anova["rows"][0]["p"] < 0.01
    for asked in ("parameters", "anova"):
        unknown = client.get(f"{path}/{asked}", params={"metric": "luck"})
        assert unknown.status_code == 404
        assert "choose one of waf" in require_problem(unknown)["detail"]
    assert client.get(f"{path}/parameters", params={"top": 0}).status_code == 422

    front = client.get(f"{path}/pareto").json()
    assert front["metrics"] == ["waf"]
    assert [point["number"] for point in front["points"]] == result["pareto"]
    least = min(point["metrics"]["waf"] for point in front["points"])
    trials = client.get(f"{path}/trials").json()["trials"]
    drawn = [each["metrics"]["waf"] for each in trials if each["purpose"] == "candidate"]
    assert least == min(drawn)

    # Which job measures rate besides is told by its workload; the objective here is WAF alone.
    two = client.get(f"{path}/pareto", params={"x": "waf", "y": "rate"}).json()
    assert two["metrics"] == ["waf", "rate"] and two["hypervolume"] == []
    assert two["baseline"].keys() == {"waf", "rate"}
    shown = [(point["metrics"]["waf"], point["metrics"]["rate"]) for point in two["points"]]
    assert shown == sorted(shown, key=lambda pair: pair[1])
    assert not any(a[0] <= b[0] and a[1] >= b[1] and a != b for a in shown for b in shown)
    for asked, field, said in (
        ({"x": "waf"}, "y", "give both x and y"),
        ({"x": "luck", "y": "waf"}, "x", "has not measured 'luck'"),
        ({"x": "waf", "y": "waf"}, "y", "is the same metric"),
    ):
        refused = client.get(f"{path}/pareto", params=asked)
        assert refused.status_code == 422
        (error,) = require_problem(refused)["errors"]
        assert error["field"] == field and said in error["problem"]
    none = client.get(f"{path}/contributions")
    assert none.status_code == 404 and "strategy greedy" in require_problem(none)["detail"]

    report = client.get(f"{path}/report")
    assert report.headers["content-type"] == "text/html; charset=utf-8"
    assert report.headers["x-frame-options"] == "DENY"
    assert "changed</h2>" in report.text and "codec" in report.text
    policy = report.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert policy.endswith("frame-ancestors 'none'; sandbox allow-scripts allow-modals")
    assert len(report.content) > 4_000_000
    tag = {"If-None-Match": report.headers["etag"]}
    again = client.get(f"{path}/report", headers=tag)
    assert (again.status_code, again.content) == (304, b"")
    options = client.get(f"{path}/options")
    assert options.headers["content-type"] == "text/plain; charset=utf-8"
    assert options.headers["content-disposition"] == 'attachment; filename="OPTIONS.ini"'
    assert "[CFOptions" in options.text

    clone = client.post(f"{path}/clone", json={})
    listed = client.get("/v1/jobs")
    for answer in (
        client.get(path), client.get("/v1/workloads"), client.get("/metrics"), report, options,
        clone, listed, *(client.get(f"{path}/{each}") for each in (*RESULTS, "trials", "events")),
    ):  # fmt: skip
        assert SECRET not in answer.text, answer.url
        assert str(tmp_path / "workloads") not in answer.text, answer.url
    assert SECRET in json.dumps(JobStore(database).job(clone.json()["id"]).specification)


def test_what_does_not_exist_before_the_end_says_so(
    served: Serve, database: Engine, tmp_path: Path
) -> None:
    client = serve(served, tmp_path)
    job = submit(client, body())
    for each in RESULTS:
        answer = client.get(f"/v1/jobs/{job}/{each}")
        assert answer.status_code == 409, each
        assert "yet" in require_problem(answer)["detail"]
    client.post(f"/v1/jobs/{job}/cancel")
    for each in RESULTS:
        assert client.get(f"/v1/jobs/{job}/{each}").status_code == 409, each
        assert client.get(f"/v1/jobs/999/{each}").status_code == 404, each
    assert JobStore(database).result(job) is None


def test_a_command_that_fails_is_told_without_its_command_line(
    served: Serve, database: Engine, settings: Settings, tmp_path: Path
) -> None:
    client = serve(served, tmp_path, script="echo it broke >&2; exit 3")
    job = submit(client, body())
    run(database, job, settings)
    shown = client.get(f"/v1/jobs/{job}").json()
    assert shown["state"] == "failed" and "it broke" in shown["error"]
    for path in ("", "/trials", "/events"):
        answer = client.get(f"/v1/jobs/{job}{path}")
        assert SECRET not in answer.text
        assert str(tmp_path / "workloads") not in answer.text


def test_a_report_shows_names_as_text(client: TestClient) -> None:
    evil = "<script>alert(1)</script>"
    space = {**EXTERNAL["space"], "name": evil}
    objective = {**EXTERNAL["objective"], "help": evil}
    job = submit(client, {**EXTERNAL, "space": space, "objective": objective})
    while not (asked := ask(client, job, count=9))["complete"]:
        for each in asked["suggestions"]:
            tell(client, job, {**measure(each), "host": evil})
    report = client.get(f"/v1/jobs/{job}/report").text
    assert evil not in report
    assert "&lt;script&gt;alert(1)" in report


@pytest.mark.slow
def test_a_greedy_job_tells_what_each_parameter_contributed(
    served: Serve, database: Engine, settings: Settings, tmp_path: Path
) -> None:
    client = serve(served, tmp_path)
    asked = {**body(trials=24), "strategy": "greedy", "over": ["level", "codec"]}
    job = submit(client, asked)
    run(database, job, settings)
    path = f"/v1/jobs/{job}"
    found = client.get(f"{path}/contributions").json()
    assert found == client.get(f"{path}/result").json()["contributions"]
    assert found["swept"] == ["level", "codec"] and found["left"] == []
    first = found["parameters"][0]
    assert (first["name"], first["from"], first["to"]) == ("codec", "slow", "fast")
    assert first["change"]["waf"] == pytest.approx(-50, abs=5)
    assert sum(row["share"] for row in found["parameters"]) == pytest.approx(100)
    trials = client.get(f"{path}/trials").json()["trials"]
    why = [each["why"] for each in trials if each["purpose"] == "candidate"]
    assert why[0].startswith("pass 1, level: value 1 of 4, ")
    assert "pass 1, codec: value 1 of 1, fast instead of slow in trial" in " ".join(why)
