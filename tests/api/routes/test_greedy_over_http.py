"""A greedy job over HTTP: submitted as any other, and what each parameter contributed."""

from collections.abc import Callable
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from jobs.queue.service_settings import ServiceSettings
from sampler.bench.settings import Settings
from tests.support.api.callers import submit
from tests.support.api.finished_job import body, register, run

pytestmark = pytest.mark.one_database

Serve = Callable[..., TestClient]


@pytest.mark.slow
def test_what_each_parameter_contributed(
    served: Serve, database: Engine, settings: Settings, tmp_path: Path
) -> None:
    client = served(ServiceSettings(workloads_dir=register(tmp_path / "workloads")))
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
