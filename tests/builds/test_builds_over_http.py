from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from api.app import make_app
from api.services.dependencies import builds_here
from db.jobs.job_store import JobStore
from db.leases import see_host
from jobs.specification.named_files import specify
from sampler.bench.builds import advertised
from sampler.bench.installed import InstalledDbBench
from sampler.bench.settings import Settings
from tests.support.api.callers import QUEUED, admin, errors_of
from tests.support.sampler.second_builds import with_default, without_option

SPACE: dict[str, Any] = {
    "name": "syncing",
    "parameter": [{"name": "bytes_per_sync"}, {"name": "block_size"}],
}
pytestmark = [pytest.mark.one_database, pytest.mark.db_bench]


@pytest.fixture
def here(settings: Settings, tmp_path: Path) -> Settings:
    """A host with a build that has no bytes_per_sync, and one that does not work."""
    old = without_option(tmp_path, "old", "bytes_per_sync")
    return settings.model_copy(update={"builds": f"old={old},broken=/nowhere/db_bench"})


@pytest.fixture
def client(database: Engine, here: Settings, installed: InstalledDbBench) -> TestClient:
    """A service that measures on this machine."""
    return admin(make_app(database, installed=installed, builds=builds_here(here, installed)))


def asked(client: TestClient, **more: object) -> Any:
    return client.post("/v1/jobs", json={**QUEUED, **more})


def test_a_job_is_checked_against_the_build_that_it_names(client: TestClient):
    assert asked(client, space=SPACE, db_bench="default").status_code == 201
    answer = asked(client, space=SPACE, db_bench="old")
    (error,) = errors_of(answer).values()
    assert "does not know bytes_per_sync" in error["problem"]
    made = asked(client, db_bench="old", host_kind="nvme")
    assert made.status_code == 201
    kept = made.json()["specification"]
    assert (kept["db_bench"], kept["host_kind"]) == ("old", "nvme")


@pytest.mark.parametrize(
    "path", ["/usr/bin/db_bench", "./db_bench", "../db_bench", "~/db_bench", "-x", "", "a\nb"]
)
def test_a_path_from_the_network_is_refused(client: TestClient, path: str):
    assert errors_of(asked(client, db_bench=path)).keys() == {"db_bench"}


def test_a_kind_that_is_none_is_refused_under_its_name(client: TestClient):
    assert errors_of(asked(client, host_kind="a/b")).keys() == {"host_kind"}


def test_an_unknown_build_is_told_with_those_that_are_known(client: TestClient, database: Engine):
    (error,) = errors_of(asked(client, db_bench="10.2")).values()
    assert "choose one of broken, default, old" in error["problem"]
    builds = [{"name": "10.2", "problem": None}, {"name": "11.0", "problem": "does not work"}]
    see_host(database, "elsewhere", {"builds": builds}, None)
    assert asked(client, db_bench="10.2").status_code == 201
    (error,) = errors_of(asked(client, db_bench="11.0")).values()
    assert "choose one of 10.2, broken, default, old" in error["problem"]


def test_while_no_host_has_said_what_it_has_any_name_may_be_known(database: Engine):
    alone = admin(make_app(database))
    assert asked(alone, db_bench="10.2").status_code == 201
    see_host(database, "before-builds", {"cpu": "x"}, None)
    assert asked(alone, db_bench="10.2").status_code == 201


def test_a_clone_changes_the_build_and_takes_no_path_along(client: TestClient, database: Engine):
    job = asked(client, db_bench="old", host_kind="nvme").json()["id"]
    for body, build, kind in (
        ({}, "old", "nvme"),
        ({"db_bench": None}, None, "nvme"),
        ({"host_kind": None}, "old", None),
    ):
        made = client.post(f"/v1/jobs/{job}/clone", json=body).json()["specification"]
        assert (made["db_bench"], made["host_kind"]) == (build, kind)
    # Made from a terminal of this machine, where paths are allowed.
    by_path = specify(db_bench="/opt/db_bench", trials=20)
    job = JobStore(database).create_job(by_path.document(), by_path.digest())
    answer = client.post(f"/v1/jobs/{job}/clone", json={})
    assert errors_of(answer).keys() == {"db_bench"}
    assert client.post(f"/v1/jobs/{job}/clone", json={"db_bench": None}).status_code == 201


def test_a_host_shows_its_builds(client: TestClient, database: Engine, here: Settings):
    see_host(database, "bench-1", advertised(here), None)
    (host,) = client.get("/v1/hosts").json()
    shown = {each["name"]: each for each in host["environment"]["builds"]}
    assert [*shown] == ["default", "old", "broken"]
    assert shown["old"]["version"] == "7.8.3"
    assert len(shown["old"]["digest"]) == 64
    assert shown["broken"]["problem"]


def test_the_defaults_of_the_named_build_are_the_baseline(
    settings: Settings, installed: InstalledDbBench, database: Engine, tmp_path: Path
):
    """With write buffers of 1 GiB the quick load would stay in memory."""
    large = with_default(tmp_path, "large", "write_buffer_size", str(2**30))
    here = settings.model_copy(update={"builds": f"large={large}"})
    client = admin(make_app(database, installed=installed, builds=builds_here(here, installed)))
    assert asked(client).status_code == 201
    (error,) = errors_of(asked(client, db_bench="large")).values()
    assert "it would measure memory, not the tree" in error["problem"]
