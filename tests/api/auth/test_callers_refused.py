"""Callers that are nobody: wrong tokens, pages of other sites, too many requests."""

from collections.abc import Callable, Iterator

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from api.app import make_app
from db.access.tokens import Role, make_token
from jobs.queue.service_settings import ServiceSettings
from tests.support.api.browser import form_token, log_in
from tests.support.api.callers import (
    EXTERNAL,
    admin,
    bearer,
    require_problem,
    secret_of,
    stranger,
    submit,
)

pytestmark = pytest.mark.one_database

Served = Callable[..., TestClient]


def test_a_malformed_authorization_is_refused(client: TestClient) -> None:
    assert client.get("/v1/jobs").status_code == 200
    for given in (
        "", "Bearer", "Bearer ", "Bearer x", "bearer rt_", "Basic YTpi", "rt_", "Bearer rt_x y",
        "Bearer é", "Bearer rt_000000000000_" + "A" * 43, "Bearer " + "x" * 9000, "Bearer %00",
    ):  # fmt: skip
        answer = client.get("/v1/jobs", headers={"Authorization": given.encode()})
        assert answer.status_code == 401, given
        assert answer.headers["www-authenticate"] == "Bearer"
        assert len(given) < 9 or given not in require_problem(answer)["detail"]


def test_a_token_is_right_to_the_last_character(client: TestClient, database: Engine) -> None:
    token = make_token(database, "ci", Role.READ)
    other = make_token(database, "other", Role.ADMIN)
    secret = secret_of(token)
    head = token.removesuffix(f"_{secret}")
    for wrong in (
        token[:-1], token + "A", token.upper(), token[:-1] + ("A" if token[-1] != "A" else "B"),
        other[: other.index("_", 3)] + "_" + secret, f"{token} ", head, secret,
    ):  # fmt: skip
        if wrong.strip() != token:
            assert client.get("/v1/jobs", headers=bearer(wrong)).status_code == 401
    assert client.get("/v1/jobs", headers=bearer(token)).status_code == 200


@pytest.fixture
def nobody(database: Engine) -> Iterator[TestClient]:
    """A caller without a token, at a database that nobody has one of."""
    with stranger(make_app(database)) as nobody:
        yield nobody


HOSTS = [
    "localhost", "localhost:8080", "LOCALHOST:1", "127.0.0.1:8080", "[::1]:8080", "evil.example",
    "localhost.evil.example", "localhost@evil.example", "0.0.0.0:8080", "[::1", "localhost/", "",
    "é",
]  # fmt: skip


@pytest.mark.slow
def test_without_a_token_nobody_is_answered_by_whatever_name(nobody: TestClient) -> None:
    for host in HOSTS:
        answer = nobody.get("/v1/jobs", headers={"Host": host.encode()})
        assert answer.status_code == 401, host
        assert answer.headers["www-authenticate"] == "Bearer", host
        assert "rocktune token show" in require_problem(answer)["detail"], host
    for path in ("/healthz", "/readyz", "/openapi.json"):
        assert nobody.get(path).status_code == 200


@pytest.mark.parametrize(
    "peer", ["127.0.0.1", "::1", "::ffff:127.0.0.1", "10.0.0.9", "testclient"]
)
def test_no_address_lets_anybody_in(database: Engine, peer: str) -> None:
    settings = ServiceSettings(rate_limit="100000/second")
    with TestClient(make_app(database, settings), "http://localhost", client=(peer, 1)) as client:
        for name in ("X-Forwarded-For", "Forwarded", "X-Real-IP", "X-Forwarded-Host"):
            for said in ("127.0.0.1", "localhost", "for=127.0.0.1;host=localhost"):
                asked = {"headers": {name: said}}
                assert client.get("/v1/jobs", **asked).status_code == 401
                assert client.post("/v1/jobs", json=EXTERNAL, **asked).status_code == 401


def test_who_has_a_token_may_call_the_server_as_they_like(
    client: TestClient, database: Engine
) -> None:
    token = make_token(database, "ci", Role.READ)
    answer = client.get("/v1/jobs", headers={"Host": "rocktune.example", **bearer(token)})
    assert answer.status_code == 200


def test_a_form_of_another_site_does_nothing(
    client: TestClient, nobody: TestClient, database: Engine
) -> None:
    job = submit(client)
    log_in(nobody, make_token(database, "me", Role.ADMIN))
    for origin in (
        "https://evil.example", "null", "", "http://localhost:80801",
        "http://evil.example/localhost", "http://localhost:3000",
    ):  # fmt: skip
        given = {"Origin": origin, "X-Form-Token": form_token(nobody)}
        answer = nobody.post(f"/v1/jobs/{job}/cancel", headers=given)
        assert answer.status_code == 403, origin
        require_problem(answer)
    assert client.get(f"/v1/jobs/{job}").json()["state"] == "queued"
    token = make_token(database, "ci", Role.SUBMIT)
    foreign = {"Origin": "https://dashboard.example", **bearer(token)}
    assert client.get("/v1/jobs", headers=foreign).status_code == 200


def test_no_page_of_another_site_may_read_the_answers(client: TestClient) -> None:
    for method in ("GET", "OPTIONS"):
        answer = client.request(method, "/v1/jobs", headers={"Origin": "https://evil.example"})
        assert not [name for name in answer.headers if name.startswith("access-control")]


def test_too_many_requests_wait_and_health_is_always_answered(served: Served) -> None:
    client = served(ServiceSettings(rate_limit="3/hour"))
    assert [client.get("/v1/jobs").status_code for _ in range(3)] == [200] * 3
    for path in ("/v1/jobs", "/nowhere", "/openapi.json"):
        answer = client.get(path)
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
        assert "3 per 1 hour" in require_problem(answer)["detail"]
    for path in ("/healthz", "/readyz"):
        assert client.get(path).status_code == 200


def test_each_client_has_a_rate_of_its_own_and_none_by_saying_so(database: Engine) -> None:
    app = make_app(database, ServiceSettings(rate_limit="1/hour"))
    with admin(app) as one, TestClient(app, "http://localhost", client=("10.0.0.9", 1)) as two:
        two.headers.update(one.headers)
        assert one.get("/v1/jobs").status_code == 200
        for name in ("X-Forwarded-For", "Forwarded", "X-Real-IP"):
            assert one.get("/v1/jobs", headers={name: "10.0.0.7"}).status_code == 429
        assert two.get("/v1/jobs").status_code == 200
