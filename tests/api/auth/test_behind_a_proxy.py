"""A proxy on the server's own machine that says nothing of who asks: nobody gets in by it."""

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.support.api.callers import EXTERNAL, bearer, require_problem
from tests.support.api.nginx import nginx_before
from tests.support.api.real_server import own_token, real_server

pytestmark = [pytest.mark.slow, pytest.mark.nginx]


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[httpx2.Client]:
    """Somebody in the network, before a proxy before a server on loopback."""
    with (
        real_server(tmp_path / "rocktune.db", tmp_path) as url,
        nginx_before(url, tmp_path) as client,
    ):
        yield client


def test_nginx_in_its_default_form_lets_nobody_in(outside: httpx2.Client, tmp_path: Path) -> None:
    for asked in (
        outside.get("/v1/jobs"),
        outside.get("/v1/jobs", headers={"Host": "127.0.0.1"}),
        outside.get("/metrics"),
        outside.get("/docs"),
        outside.get("/v1/jobs/1/events"),
        outside.post("/v1/jobs", json=EXTERNAL),
    ):
        assert asked.status_code == 401, asked.request.url
        assert asked.headers["www-authenticate"] == "Bearer"
        assert "rocktune token show" in require_problem(asked)["detail"]
    assert outside.get("/v1/jobs", headers=bearer(own_token(tmp_path))).status_code == 200
    for path in ("/healthz", "/readyz", "/openapi.json"):
        assert outside.get(path).status_code == 200
