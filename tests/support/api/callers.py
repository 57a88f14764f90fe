"""Who calls the interface in the tests, and what they send."""

import json
import secrets
from typing import Any

from fastapi import FastAPI
from fastapi.testclient import TestClient

from db.access.tokens import Role, make_token

PROBLEM = "application/problem+json"
SPACE: dict[str, Any] = {
    "name": "mine",
    "parameter": [{"name": "batch", "type": "int", "low": 1, "high": 64, "default": 8}],
}
# `idle` does nothing.
TWO_PARAMETERS: dict[str, Any] = {
    **SPACE,
    "parameter": [*SPACE["parameter"], {**SPACE["parameter"][0], "name": "idle"}],
}
OBJECTIVE: dict[str, Any] = {"name": "fast", "metric": [{"name": "rate", "direction": "max"}]}
# A runner of the user's own measures it.
EXTERNAL: dict[str, Any] = {
    "workload": "external",
    "trials": 12,
    "space": SPACE,
    "objective": OBJECTIVE,
}
# The least that an OPTIONS file may hold.
OPTIONS = """\
[Version]
rocksdb_version=7.8.3
options_file_version=1.1
[DBOptions]
[CFOptions "default"]
[TableOptions/BlockBasedTable "default"]
"""
# It breaks whoever reads structures by recursion.
DEEP = OPTIONS + '[CFOptions "b"]\n  a=' + "{b=" * 5000 + "}" * 5000
# It waits for a worker, of which there is none.
QUEUED: dict[str, Any] = {"workload": "load-quick", "trials": 20}


def stranger(app: FastAPI) -> TestClient:
    """A client on this machine without a token.

    What the server fails at is an answer, not an exception here.
    """
    return TestClient(app, base_url="http://localhost", raise_server_exceptions=False)


def admin(app: FastAPI) -> TestClient:
    """The same with a token of an administrator."""
    client = stranger(app)
    name = f"admin-{secrets.token_hex(4)}"
    token = make_token(app.state.service.engine, name, Role.ADMIN)
    client.headers.update(bearer(token))
    return client


def secret_of(token: str) -> str:
    """The part of a token that nobody may see. It may hold any number of `_` itself."""
    return token.split("_", 2)[2]


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def submit(client: TestClient, body: dict[str, Any] | None = None, **headers: str) -> int:
    """A job's number."""
    answer = client.post("/v1/jobs", json=QUEUED if body is None else body, headers=headers)
    assert answer.status_code == 201, answer.text
    return int(answer.json()["id"])


def send(client: TestClient, path: str, body: Any, **headers: str) -> Any:
    """Posts anything that Python calls JSON: NaN, huge numbers and half characters too."""
    text = body if isinstance(body, str | bytes) else json.dumps(body)
    given = {"Content-Type": "application/json", **headers}
    return client.post(path, content=text, headers=given)


def errors_of(answer: Any) -> dict[str, dict[str, Any]]:
    """What a 422 says, by field; every finding names a field and says the mend."""
    assert answer.status_code == 422, answer.text
    require_problem(answer)
    found = answer.json()["errors"]
    assert found and all(each["field"] and each["problem"] for each in found)
    return {each["field"]: each for each in found}


def require_problem(answer: Any) -> dict[str, Any]:
    """An error as all errors are (RFC 9457); returns it."""
    assert answer.headers["content-type"] == PROBLEM, answer.text
    assert answer.headers["x-content-type-options"] == "nosniff"
    problem: dict[str, Any] = answer.json()
    assert problem.keys() == {"type", "title", "status", "detail", "errors"}
    assert problem["status"] == answer.status_code
    assert problem["title"] and problem["detail"]
    return problem
