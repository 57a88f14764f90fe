"""Whatever a request holds, the server calls nobody: something listens, and nothing connects."""

import re
import socket
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from tests.support.api.callers import EXTERNAL, QUEUED, bearer
from tests.support.api.real_server import own_token, real_server

OPTIONS = """\
[DBOptions]
  env={address}
  wal_dir={address}
  db_log_dir={address}
  db_host_id={address}
[CFOptions "default"]
  compaction_filter_factory={address}
[TableOptions/BlockBasedTable "default"]
  persistent_cache={address}
  block_cache={address}
"""
EMPTY = '[DBOptions]\n[CFOptions "default"]\n'
SCHEDULE: dict[str, Any] = {
    "name": "nightly", "cron": "30 2 * * *", "time_zone": "UTC",
    "batch": {"workloads": ["load-quick"], "spaces": ["default"]},
}  # fmt: skip
TOLD = {"trials": [{"number": 1, "state": "failed", "failure": "x", "host": "x"}]}
SUGGESTED = {"count": 1}
# Whole bodies of the operations that take one; each text in them is exchanged for an address.
BODIES = {
    "submit_job": ({**EXTERNAL, "limits": ["rate >= 1"]}, {
        **QUEUED, "baseline_options": EMPTY, "start_from": [{"name": "x", "options": EMPTY}]}),
    "clone_job": ({**EXTERNAL, "db_bench": "x", "host_kind": "x", "warm_start": "auto"},),
    "add_schedule": (SCHEDULE,),
    "upload_workload": ({
        "workload": {"name": "x", "help": "x", "flags": {"merge_operator": "put"}},
        "baseline_options": EMPTY},),
    "make_webhook": ({"url": "https://chat.example.com/x", "events": ["job_ended"]},),
    "tell_trials": (TOLD,),
    "suggest_trials": (SUGGESTED,),
}  # fmt: skip
HEADERS = (
    "Host", "Origin", "Referer", "Forwarded", "X-Forwarded-For", "X-Forwarded-Host",
    "Idempotency-Key", "Last-Event-ID", "Accept", "If-None-Match", "Via", "Link",
)  # fmt: skip
PAGES = (
    "/", "/login", "/jobs/new", "/jobs/new/compare", "/jobs/1", "/compare", "/hosts", "/schedules",
    "/docs", "/workloads", "/webhooks",
)  # fmt: skip
ASKED = ("next", "url", "workload", "search", "jobs")
Request = tuple[str, str, dict[str, Any]]
OWN_PLACE = re.compile(r"/(?![/\\])")


def addresses(port: int) -> list[str]:
    """Where something listens, as one may write it."""
    there = f"127.0.0.1:{port}"
    return [
        f"http://{there}/x", f"//{there}/x", f"postgresql://me:it@{there}/rocktune", f"tls://{there}"
    ]  # fmt: skip


def exchanged(document: Any, address: str) -> Iterator[Any]:
    """Copies of a document, each with another of its texts, or a field more, as an address."""
    if isinstance(document, str):
        yield address
        yield OPTIONS.format(address=address)
    elif isinstance(document, dict):
        yield {**document, address: address}
        for name, each in document.items():
            yield from ({**document, name: other} for other in exchanged(each, address))
    elif isinstance(document, list):
        for index, each in enumerate(document):
            for other in exchanged(each, address):
                yield [*document[:index], other, *document[index + 1 :]]


def fields_of(operation: dict[str, Any], described: dict[str, Any]) -> list[str]:
    """The fields of the body that an operation takes."""
    content = operation.get("requestBody", {}).get("content", {})
    schema = content.get("application/json", {}).get("schema", {})
    schemas = described["components"]["schemas"]
    names = (
        name
        for each in (schema, *schema.get("anyOf", ()), *schema.get("oneOf", ()))
        if "$ref" in each
        for name in schemas[each["$ref"].rpartition("/")[2]]["properties"]
    )
    return list(dict.fromkeys(names))


def requests(described: dict[str, Any], address: str) -> Iterator[Request]:
    """Every operation, with an address wherever it takes something."""
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            given = operation.get("parameters", [])
            query = {each["name"]: address for each in given if each["in"] == "query"}
            parts = [each["name"] for each in given if each["in"] == "path"]
            for inside in (quote(address, safe=""), "1") if parts else ("",):
                place = path
                for part in parts:
                    place = place.replace("{" + part + "}", inside)
                if method == "post":
                    for body in bodies(operation, described, address):
                        yield "post", place, {"json": body}
                elif not path.endswith("/events"):  # which would go on for ever
                    for asked in ({}, query, *({name: address} for name in query)):
                        yield method, place, {"params": asked}
    for page in PAGES:
        yield "get", page, {"params": dict.fromkeys(ASKED, address)}
        for name in HEADERS:
            yield "get", page, {"headers": {name: address}}


def bodies(operation: dict[str, Any], described: dict[str, Any], address: str) -> Iterator[Any]:
    """What may be sent to an operation, each time with an address in another place."""
    for body in BODIES.get(operation["operationId"], ({},)):
        yield from exchanged(body, address)
        for name in fields_of(operation, described):
            yield from ({**body, name: sent} for sent in (address, [address], {address: address}))


def connected(listening: socket.socket) -> int:
    """How often somebody has connected: the kernel keeps count until it is asked."""
    listening.setblocking(False)
    count = 0
    while True:
        try:
            listening.accept()[0].close()
        except BlockingIOError:
            return count
        count += 1


@pytest.mark.slow
def test_nothing_connects_to_an_address_that_a_request_holds(tmp_path: Path, whole: bool) -> None:
    """Each place holds one way to write the address, and another the next; with --whole all."""
    statuses: Counter[int] = Counter()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        with (
            real_server(tmp_path / "rocktune.db", tmp_path) as server,
            httpx2.Client(
                base_url=server, timeout=60, headers=bearer(own_token(tmp_path))
            ) as client,
        ):
            assert client.post("/v1/jobs", json=EXTERNAL).status_code == 201
            described = client.get("/openapi.json").json()
            ways = addresses(port)
            for turn, address in enumerate(ways):
                for number, (method, place, sent) in enumerate(requests(described, address)):
                    if not whole and number % len(ways) != turn:
                        continue
                    answer = client.request(method, place, **sent)
                    statuses[answer.status_code] += 1
                    assert OWN_PLACE.match(answer.headers.get("location", "/")), answer.url
            assert client.get("/readyz").status_code == 200
        # The server has ended: what it would do afterwards it has done.
        assert connected(listening) == 0
        socket.create_connection(("127.0.0.1", port)).close()
        assert connected(listening) == 1
    times = len(ways) if whole else 1
    assert statuses[201] > 5 * times and statuses[422] > 250 * times, statuses
    assert not [status for status in statuses if status >= 500], statuses
