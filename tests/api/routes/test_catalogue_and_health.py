"""What can be asked for, who measures, and how the service is."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine, text, update

from api.app import make_app
from db.access.tokens import new_token
from db.connection.engine import make_engine
from db.connection.migrate import upgrade_tables
from db.leases import see_host
from db.schema.tables import host
from jobs.queue.service_settings import ServiceSettings
from optimizer.objective.objective_file import SHIPPED as OBJECTIVES
from sampler.common.errors import InputError
from sampler.space.space_file import SHIPPED as SPACES
from sampler.space.starting_points import classes_of, point_names
from tests.support.api.callers import (
    EXTERNAL,
    QUEUED,
    admin,
    bearer,
    require_problem,
    stranger,
    submit,
)
from tests.support.api.fake_runner import ask, measure, tell
from tests.support.jobs.host_jobs import host_baselines, keep_host_jobs
from tests.support.jobs.recorded_nights import Planted


def test_a_wrong_workload_of_the_operator_stops_the_server(
    database: Engine, tmp_path: Path
) -> None:
    for text_ in ("name = 3", 'name = "load"\n[command]\nargv = ["x"]', "not toml"):
        (tmp_path / "wrong.toml").write_text(text_)
        with pytest.raises(InputError, match=r"ROCKTUNE_WORKLOADS_DIR \(wrong.toml\)"):
            make_app(database, ServiceSettings(workloads_dir=tmp_path))
    with pytest.raises(InputError, match="ROCKTUNE_RATE_LIMIT"):
        make_app(database, ServiceSettings(rate_limit="often"))


@pytest.mark.one_database
def test_spaces_are_as_their_files_hold_them(client: TestClient) -> None:
    found = {each["name"]: each for each in client.get("/v1/spaces").json()}
    assert list(found) == list(SPACES)
    assert len(found["default"]["document"]["parameter"]) == 30
    own = submit(client, {**EXTERNAL, "space": found["paper"]["document"], "objective": "waf"})
    assert client.get(f"/v1/jobs/{own}").json()["space"] == "paper"


@pytest.mark.one_database
def test_objectives_are_as_their_files_hold_them(client: TestClient) -> None:
    found = {each["name"]: each for each in client.get("/v1/objectives").json()}
    assert list(found) == list(OBJECTIVES)
    assert [row["name"] for row in found["reading"]["document"]["metric"]] == [
        "rate", "read_p99", "whole_waf", "sa",
    ]  # fmt: skip
    assert all(each["help"] == each["document"]["help"] for each in found.values())
    for name, each in found.items():
        own = submit(client, {**QUEUED, "workload": "readwhilewriting-quick",
                              "objective": each["document"]})  # fmt: skip
        assert client.get(f"/v1/jobs/{own}").json()["objective"] == name


@pytest.mark.one_database
def test_starts_are_those_that_a_job_may_name_with_what_they_set(client: TestClient) -> None:
    found = {each["name"]: each for each in client.get("/v1/starts").json()}
    assert tuple(found) == point_names()
    assert {n: tuple(each["classes"]) for n, each in found.items()} == {
        name: classes_of(name) for name in found
    }
    assert all(each["help"] and each["source"] for each in found.values())
    assert found["basic-tuning"]["values"]["max_background_jobs"] == 6
    assert [name for name, each in found.items() if each["values"] is None] == ["guide"]
    for name in found:
        job = submit(client, {**QUEUED, "start_from": [name]})
        (kept,) = client.get(f"/v1/jobs/{job}").json()["specification"]["start_from"]
        assert kept["name"].partition(":")[0] == name


def test_hosts_are_shown_with_what_they_are(client: TestClient, database: Engine) -> None:
    assert client.get("/v1/hosts").json() == []
    see_host(database, "bench-2", {"cpu": "AMD"}, 7)
    see_host(database, "bench-1", {}, None)
    with database.begin() as connection:
        long_ago = datetime.now(UTC) - timedelta(minutes=2)
        connection.execute(update(host).where(host.c.name == "bench-1").values(seen_at=long_ago))
    old, new = client.get("/v1/hosts").json()
    assert (old["name"], old["alive"], old["job_id"]) == ("bench-1", False, None)
    assert (new["name"], new["alive"], new["job_id"]) == ("bench-2", True, 7)
    assert new["environment"] == {"cpu": "AMD"}


def test_a_host_is_shown_with_its_figures_and_what_changed(
    client: TestClient, database: Engine
) -> None:
    assert client.get("/v1/hosts/bench-1").status_code == 404
    planted = Planted(since=14, metrics={"time": 1.4})
    keep_host_jobs(database, host_baselines(planted))
    (listed,) = client.get("/v1/hosts").json()
    host = client.get("/v1/hosts/bench-1").json()
    assert listed == {name: value for name, value in host.items() if name != "series"}
    (change,) = host["changes"]
    assert (change["of"], change["metric"], change["worse"]) == ("default", "time", True)
    assert change["low"] < 40 < change["high"] and host["excluded"] is None
    speed = next(each for each in host["series"] if each["metric"] == "machine_speed")
    assert len(speed["values"]) == 24 and speed["values"][0]["value"] == pytest.approx(
        1.25, abs=0.1
    )


@pytest.mark.one_database
def test_the_figures_count_jobs_trials_and_requests(client: TestClient) -> None:
    submit(client)
    job = submit(client, EXTERNAL)
    for suggestion in ask(client, job, count=2)["suggestions"]:
        tell(client, job, {**measure(suggestion), "bench_seconds": 2.0})
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    lines = answer.text.splitlines()
    for line in (
        'rocktune_jobs{state="queued"} 1.0',
        'rocktune_jobs{state="running"} 1.0',
        'rocktune_jobs{state="done"} 0.0',
        "rocktune_queue_length 1.0",
        'rocktune_trials{state="done"} 2.0',
        "rocktune_bench_seconds 4.0",
    ):
        assert line in lines
    assert any("rocktune_database_seconds_count" in line for line in lines)
    route = 'rocktune_http_requests_total{method="GET",route="/v1/jobs/{job_id}",status="404"}'
    before = _value(lines, route)
    for missing in (1_000_001, 1_000_002):
        client.get(f"/v1/jobs/{missing}")
    assert _value(client.get("/metrics").text.splitlines(), route) == before + 2


def _value(lines: list[str], name: str) -> float:
    return next((float(line.split()[-1]) for line in lines if line.startswith(name)), 0.0)


def test_health_needs_no_database_and_readiness_does(client: TestClient) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"status": "ready"}


@pytest.fixture
def unready(empty_database: Engine) -> Iterator[TestClient]:
    with stranger(make_app(empty_database)) as client:
        client.headers.update(bearer(new_token()))
        yield client


def test_an_old_database_is_not_ready_and_nothing_is_a_500(
    unready: TestClient, empty_database: Engine
) -> None:
    assert unready.get("/healthz").status_code == 200
    for path in ("/readyz", "/v1/jobs", "/v1/hosts", "/metrics", "/v1/jobs/1/events"):
        answer = unready.get(path)
        assert answer.status_code == 503, path
        require_problem(answer)
    upgrade_tables(empty_database)
    assert unready.get("/readyz").status_code == 200
    with empty_database.begin() as connection:
        connection.execute(text("UPDATE rocktune_revision SET version_num = 'older'"))
    answer = unready.get("/readyz")
    assert answer.status_code == 503
    assert "upgrade" in require_problem(answer)["detail"]


def test_a_database_that_is_gone_is_said_so(tmp_path: Path) -> None:
    engine = make_engine(tmp_path / "rocktune.db")
    upgrade_tables(engine)
    with admin(make_app(engine)) as client:
        assert client.get("/v1/jobs").status_code == 200
        engine.dispose()
        (tmp_path / "rocktune.db").unlink()
        (tmp_path / "rocktune.db").mkdir()
        answer = client.get("/v1/jobs")
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
        assert str(tmp_path) not in require_problem(answer)["detail"]
        assert client.get("/readyz").status_code == 503
        assert client.get("/healthz").status_code == 200
    engine.dispose()
