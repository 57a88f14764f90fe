"""The service, asked without a network: every route, with any path, query, cookie and body."""

from __future__ import annotations

import atexit
import itertools
import logging
import re
import shutil
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import quote

import structlog
from fastapi.testclient import TestClient

from api.app import make_app
from db.connection.engine import make_engine
from db.connection.migrate import upgrade_tables
from jobs.queue.service_settings import ServiceSettings
from tests.support.api.callers import admin
from tests.support.api.served_routes import routes_of

# A stream has no end to wait for.
_STREAMS = "/events"
_PLACE = re.compile(r"{\w+}")
# After so many requests a new service begins with an empty database: a full queue refuses all.
_MOST = 500
EXTERNAL = {
    "workload": "external",
    "trials": 12,
    "space": {
        "name": "mine",
        "parameter": [{"name": "batch", "type": "int", "low": 1, "high": 64, "default": 8}],
    },
    "objective": {"name": "o", "metric": [{"name": "rate", "direction": "max"}]},
}


@dataclass(frozen=True)
class Answer:
    """What came back.

    Attributes:
        kind: Of the content.
        api: Whether the route is one for programs, which explains itself in problem documents.
    """

    status: int
    kind: str
    api: bool


structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))


def sent(data: bytes) -> Answer:
    """The answer to a job whose body is this."""
    given = _client().post("/v1/jobs", content=data, headers={"Content-Type": "application/json"})
    return Answer(given.status_code, given.headers.get("content-type", ""), True)


def asked(data: bytes) -> Answer:
    """The answer to a request that these bytes describe.

    The first byte says which route, the rest, parted by NUL: what stands in each place of its
    path, its query, a cookie, the kind of its body, and the body.
    """
    method, path = routes()[data[0] % len(routes())] if data else routes()[0]
    place, query, cookie, kind, body = (*data[1:].split(b"\0", 4), b"", b"", b"", b"", b"")[:5]
    path = _PLACE.sub(lambda _: quote(place, safe="") or "1", path)
    headers = {"Content-Type": _printable(kind) or "application/json"}
    if cookie:
        headers["Cookie"] = _printable(cookie)
    given = _client().request(
        method, f"{path}?{quote(query, safe='=&%+')}", content=body, headers=headers,
        follow_redirects=False,
    )  # fmt: skip
    return Answer(
        given.status_code, given.headers.get("content-type", ""), path.startswith("/v1/")
    )


@cache
def routes() -> tuple[tuple[str, str], ...]:
    """(method, path) of all of them, in one order, streams left out."""
    known = routes_of(_client().app)
    return tuple(sorted(each for each in known if not each[1].endswith(_STREAMS)))


def _printable(data: bytes) -> str:
    return "".join(chr(each) for each in data if 32 <= each < 127)


_count = itertools.count()


def _client() -> TestClient:
    return _service(next(_count) // _MOST)


@cache
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="rocktune-fuzz-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@cache
def _empty() -> Path:
    path = _folder() / "empty.db"
    engine = make_engine(path)
    upgrade_tables(engine)
    engine.dispose()
    return path


_running: dict[int, TestClient] = {}


def _service(number: int) -> TestClient:
    """The service of so many requests, with a webhook and a job that one's own runner measures."""
    if number not in _running:
        for old in _running.values():
            old.app.state.service.engine.dispose()
        _running.clear()
        path = _folder() / "rocktune.db"
        for each in _folder().glob("rocktune.db*"):
            each.unlink()
        shutil.copy(_empty(), path)
        app = make_app(make_engine(path), ServiceSettings(rate_limit="1000000/second"))
        client = admin(app)
        webhook = {"url": "https://chat.example.com/hooks/abc"}
        for place, body in (("/v1/jobs", EXTERNAL), ("/v1/webhooks", webhook)):
            assert client.post(place, json=body).status_code == 201
        _running[number] = client
    return _running[number]
