"""No token and no password of a database is in any log line, answer or error."""

import json
from pathlib import Path

import httpx2
import pytest
from sqlalchemy import Engine, make_url

from api.app import make_app
from db.access.tokens import Role, make_token
from db.schema.tables import token as tokens
from tests.support.api.browser import SEES, TYPED
from tests.support.api.callers import EXTERNAL, PROBLEM, admin, bearer
from tests.support.api.real_server import own_token, real_server

WRONG = "rt_0123456789ab_" + "Zz" * 21 + "Z"


def pieces(secret: str) -> set[str]:
    """Every 20 characters of it; the part of a token that may be told has fewer."""
    return {secret[at : at + 20] for at in range(len(secret) - 19)}


@pytest.mark.slow
def test_the_log_of_a_server_at_debug_holds_no_secret(
    database_url: str, database: Engine, tmp_path: Path
) -> None:
    token = make_token(database, "ci", Role.ADMIN)
    url = make_url(database_url)
    shown: list[str] = []
    with (
        real_server(database_url, tmp_path, ROCKTUNE_LOG_LEVEL="debug") as server,
        httpx2.Client(base_url=server, headers=bearer(token), timeout=60) as client,
    ):
        job = client.post("/v1/jobs", json=EXTERNAL, headers={"Idempotency-Key": "k-e-y"})
        for answer in (
            job,
            client.get("/v1/jobs", headers=bearer(WRONG)),
            client.get("/v1/jobs", params={"token": token}),
            client.post("/login", data={"token": token, "next": "/"}),
            client.post("/login", data={"token": WRONG}),
            client.post("/v1/jobs", content=b"{"),
            client.get("/metrics"),
            client.get("/v1/jobs/999"),
            client.get("/login", params={"token": token}, headers=TYPED),
            client.get("/login", params={"token": WRONG, "next": "x" * 3000}),
            client.get("/nowhere", params={"token": token}, headers=SEES),
            client.get("/login", params={"token": own_token(tmp_path)}, headers=TYPED),
        ):
            shown += [answer.text, str(answer.headers)]
        with database.begin() as connection:  # what the server cannot be ready for
            tokens.drop(connection)
        broken = client.get("/v1/jobs")
        assert broken.status_code == 503
        shown.append(broken.text)
    log = (tmp_path / "server.log").read_text()
    lines = [json.loads(line) for line in log.splitlines()]
    assert [line["path"] for line in lines if line["event"] == "request"].count("/v1/jobs") >= 5
    assert any(line["level"] == "error" for line in lines)
    hidden = pieces(token) | pieces(WRONG) | pieces(own_token(tmp_path))
    assert len(hidden) > 50
    for text in (log, *shown):
        for secret in hidden:
            assert secret not in text
        if url.password:
            assert str(url.password) not in text


@pytest.mark.slow
def test_a_failure_that_nobody_foresaw_is_a_problem_without_its_cause(database: Engine) -> None:
    app = make_app(database)

    @app.get("/broken")
    def broken() -> None:
        raise RuntimeError("the password is hunter2")

    with admin(app) as client:
        answer = client.get("/broken")
        assert answer.status_code == 500
        assert answer.headers["content-type"] == PROBLEM
        assert "hunter2" not in answer.text
        assert "log" in answer.json()["detail"]
        assert client.get("/v1/jobs").status_code == 200
