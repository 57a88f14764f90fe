"""The server calls nobody because a request says so, and unpacks nothing."""

import gzip
import json
import re
import tracemalloc
import zlib
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from jobs.queue.service_settings import ServiceSettings
from tests.support.api.callers import QUEUED, require_problem

pytestmark = pytest.mark.one_database

ADDRESS = re.compile(r"(?i)(^|_)(url|uri|address|endpoint|webhook|dsn|callback|proxy|server)(_|$)")
ELSEWHERE = "http://169.254.169.254/latest/meta-data"


def fields(schema: Any) -> Iterator[str]:
    """The names of all properties and parameters, however deep."""
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
        if "in" in schema and "name" in schema:
            yield schema["name"]
        for each in schema.values():
            yield from fields(each)
    elif isinstance(schema, list):
        for each in schema:
            yield from fields(each)


def test_no_request_takes_an_address_but_that_of_a_webhook(client: TestClient) -> None:
    described = client.get("/openapi.json").json()
    asked = set(fields(described))
    assert {"workload", "db_bench", "cron"} <= asked
    # Of a webhook, which nothing but the worker calls, and where the operator lets it.
    assert {name for name in asked if ADDRESS.search(name)} == {"url", "webhook_id"}


def test_an_address_that_is_sent_all_the_same_is_refused(anyone: TestClient) -> None:
    for name in (
        "database",
        "db",
        "scheduler",
        "cluster",
        "address",
        "command",
    ):
        answer = anyone.post("/v1/jobs", json={**QUEUED, name: ELSEWHERE})
        assert answer.status_code == 422
        assert name in {each["field"] for each in answer.json()["errors"]}
        batch = {"workloads": ["load-quick"], name: ELSEWHERE}
        asked = {"name": "n", "cron": "0 2 * * *", "time_zone": "UTC", "batch": batch}
        assert anyone.post("/v1/schedules", json=asked).status_code == 422


def test_a_name_is_never_fetched(anyone: TestClient) -> None:
    for field in (
        "workload",
        "space",
        "objective",
        "db_bench",
    ):
        for elsewhere in (ELSEWHERE, "file:///etc/passwd", "../../etc/passwd", "/etc/hostname"):
            answer = anyone.post("/v1/jobs", json={**QUEUED, field: elsewhere})
            assert answer.status_code == 422
            assert "root:" not in answer.text


def bomb(mebibytes: int) -> bytes:
    """Zeros, packed to a thousandth: gzip takes what is packed in pieces, one after the other."""
    return gzip.compress(b"0" * 2**20) * mebibytes


@pytest.mark.parametrize("coding", ["gzip", "x-gzip", "deflate", "gzip, gzip"])
@pytest.mark.parametrize("what", ["a job", "a bomb"])
def test_a_compressed_body_is_not_unpacked(client: TestClient, coding: str, what: str) -> None:
    job = json.dumps(QUEUED).encode()
    packed = zlib.compress(job) if coding == "deflate" else gzip.compress(job)
    if what == "a bomb":
        packed = bomb(3000)
        assert 2**20 < len(packed) < ServiceSettings().most_body_bytes
    headers = {"Content-Type": "application/json", "Content-Encoding": coding}
    tracemalloc.start()
    try:
        answer = client.post("/v1/jobs", content=packed, headers=headers)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert answer.status_code in (400, 415)
    require_problem(answer)
    assert most < 64 * 2**20, "3,000 MiB were not unpacked"
    assert client.get("/v1/jobs").json()["jobs"] == []
