"""The shipped configurations of nginx and Caddy: TLS before a server on loopback."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.queue.service_settings import load_service_settings
from sampler.common.errors import InputError
from tests.support.api.callers import bearer
from tests.support.api.real_server import own_token, real_server
from tests.support.api.tls_proxies import PROXIES, Proxy, shipped_proxy

MARKS = [pytest.mark.slow, pytest.mark.nginx]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("proxied")


@pytest.fixture(scope="module", params=[pytest.param(kind, marks=MARKS) for kind in PROXIES])
def proxy(request: pytest.FixtureRequest, folder: Path) -> Iterator[Proxy]:
    """A proxy of ``deploy/`` before a server that believes it."""
    settings = {"ROCKTUNE_TRUSTED_PROXIES": "127.0.0.1", "ROCKTUNE_RATE_LIMIT": "3/hour"}
    with (
        real_server(folder / "rocktune.db", folder, **settings) as url,
        shipped_proxy(request.param, url, folder) as running,
    ):
        yield running


def test_each_client_of_a_trusted_proxy_has_a_rate_of_its_own(proxy: Proxy, folder: Path) -> None:
    token = bearer(own_token(folder))
    with proxy.client("127.0.0.2") as one, proxy.client("127.0.0.3") as two:
        told = [proxy.ask(one, "GET", "/v1/jobs", headers=token).status_code for _ in range(4)]
        assert told == [200, 200, 200, 429]
        for claimed in ("10.0.0.7", "127.0.0.1", "127.0.0.1, 10.0.0.7"):
            lying = {**token, "X-Forwarded-For": claimed}
            assert proxy.ask(one, "GET", "/v1/jobs", headers=lying).status_code == 429
        assert proxy.ask(two, "GET", "/v1/jobs", headers=token).status_code == 200


def test_a_log_in_by_the_form_goes_through_and_its_cookie_is_for_tls_alone(
    proxy: Proxy, folder: Path
) -> None:
    with proxy.client("127.0.0.4") as client:
        form = {"token": own_token(folder), "next": "/"}
        answer = proxy.ask(client, "POST", "/login", data=form, headers={"Origin": proxy.origin})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert answer.headers["set-cookie"].startswith("__Host-rocktune=")
    assert "; Secure" in answer.headers["set-cookie"]


@pytest.mark.slow
@pytest.mark.parametrize("text", ["proxy.example", "10.0.0.0/33", "127.0.0.1,*", "10.0.0.1/8"])
def test_a_proxy_is_named_by_an_address_or_a_network(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROCKTUNE_TRUSTED_PROXIES", text)
    with pytest.raises(
        InputError, match=r"ROCKTUNE_TRUSTED_PROXIES.*is not an address or network; write"
    ):
        load_service_settings()
    monkeypatch.setenv("ROCKTUNE_TRUSTED_PROXIES", "127.0.0.1, 10.0.0.0/8,::1")
    assert load_service_settings().trusted_proxies == "127.0.0.1, 10.0.0.0/8,::1"
