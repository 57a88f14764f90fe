"""What the interface does is what its description says; `make prove-interface` asks for more.

Every check of Schemathesis is on: no status, header, media type or body that is not described, no
valid request refused, no invalid one taken, nothing answered to who may not ask.
"""

from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from fastapi.responses import JSONResponse
from openapi_spec_validator import OpenAPIV31SpecValidator
from openapi_spec_validator.validation.exceptions import OpenAPIValidationError
from sqlalchemy import Engine

from api.app import make_app
from db.access.tokens import Role, make_token
from db.connection.engine import make_engine
from db.connection.migrate import upgrade_tables
from jobs.queue.service_settings import ServiceSettings
from tests.support.api.callers import EXTERNAL, QUEUED, admin, bearer, submit
from tests.support.api.described import call_everything, from_app
from tests.support.api.real_server import real_server

BODIES = (
    "submit_job", "clone_job", "suggest_trials", "tell_trials", "add_schedule", "upload_workload",
    "make_webhook", "begin_batch",
)  # fmt: skip


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    engine = make_engine(tmp_path / "rocktune.db")
    upgrade_tables(engine)
    yield engine
    engine.dispose()


@pytest.fixture
def app(engine: Engine) -> FastAPI:
    return make_app(engine, ServiceSettings(rate_limit="100000/second"))


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # of the libraries that call
@pytest.mark.parametrize(
    ("role", "phases", "cases"),
    # Without a token all that differs is who asks: what is shown as an example is enough.
    [(Role.ADMIN, ("examples", "coverage"), 500), (None, ("examples",), 5)],
)
def test_nothing_is_answered_but_what_is_described(
    engine: Engine, app: FastAPI, role: Role | None, phases: tuple[str, ...], cases: int
) -> None:
    token = make_token(engine, "prover", role or Role.READ)
    with admin(app) as client:
        client.headers |= bearer(make_token(engine, "filler", Role.SUBMIT))
        submit(client, EXTERNAL)
        submit(client, QUEUED)
    headers = None if role is None else bearer(token)
    findings = call_everything(from_app(app), examples=3, headers=headers, phases=phases)
    assert not findings.failures, "\n".join(
        f"{label}: {failure}" for label, each in findings.failures.items() for failure in each
    )
    assert role is None or set(findings.cases) == findings.operations
    assert sum(findings.cases.values()) > cases
    assert findings.statuses.keys() <= {200, 201, 204, 400, 401, 404, 405, 409, 422}
    assert (findings.statuses[201] > 5) == (role is Role.ADMIN)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_a_status_that_is_not_described_is_found(app: FastAPI) -> None:
    """The proof of the proof."""

    @app.get("/v1/broken", operation_id="broken")
    def broken() -> JSONResponse:
        return JSONResponse({}, status_code=418)

    schema = from_app(app).include(path="/v1/broken")
    failures = call_everything(schema, examples=1, phases=("coverage",)).failures
    assert any("status_code_conformance" in failure for failure in failures["GET /v1/broken"])


def operations(app: FastAPI) -> list[dict[str, Any]]:
    return [each for methods in app.openapi()["paths"].values() for each in methods.values()]


def test_every_operation_has_a_name_of_its_own_and_says_what_it_is(app: FastAPI) -> None:
    names = [operation["operationId"] for operation in operations(app)]
    assert len(set(names)) == len(names) > 20
    for operation in operations(app):
        assert operation["description"] and operation["tags"]
        assert operation["operationId"].replace("_", "").isalpha()


@pytest.mark.slow
def test_a_strict_validator_takes_the_description(app: FastAPI) -> None:
    described = app.openapi()
    assert described["openapi"].startswith("3.1")
    OpenAPIV31SpecValidator(described).validate()
    events = described["paths"]["/v1/jobs/{job_id}/events"]["get"]["responses"]["200"]["content"]
    event = events["text/event-stream"]["schema"]
    assert event["properties"].keys() == {"data", "event", "id", "retry"}
    # As FastAPI writes it, for OpenAPI 3.2 alone; the proof that the validator looks so far.
    answer = {"description": "", "content": {"text/event-stream": {"itemSchema": event}}}
    broken = {**described, "paths": {"/": {"get": {"responses": {"200": answer}}}}}
    with pytest.raises(OpenAPIValidationError):
        OpenAPIV31SpecValidator(broken).validate()


@pytest.mark.slow
def test_every_error_is_described_as_a_problem(app: FastAPI) -> None:
    for operation in operations(app):
        errors = {status for status in operation["responses"] if status >= "4"}
        if "security" in operation:
            assert errors >= {"401", "403", "422", "429", "503"}, operation["operationId"]
        if any(each["in"] == "path" for each in operation.get("parameters", ())):
            assert "404" in errors
        if "requestBody" in operation:
            assert errors >= {"400", "413", "409"}
        # An address that is too long is answered by uvicorn, before Rocktune knows of it.
        own = {("pick_by_preference", "400")}
        for status in errors - {
            status for name, status in own if name == operation["operationId"]
        }:
            content = operation["responses"][status]["content"]
            assert list(content) == ["application/problem+json"], operation["operationId"]
            assert content["application/problem+json"]["schema"]["$ref"].endswith("/Problem")


@pytest.mark.slow
def test_every_body_has_examples_that_are_taken(app: FastAPI) -> None:
    schemas = app.openapi()["components"]["schemas"]
    bodies = {
        operation["operationId"]: operation["requestBody"]["content"]["application/json"]
        for operation in operations(app)
        if "requestBody" in operation
    }
    assert set(bodies) == set(BODIES)
    for body in bodies.values():
        for kind in body["schema"].get("oneOf") or [body["schema"]]:
            assert schemas[kind["$ref"].rpartition("/")[2]]["examples"]
    with admin(app) as client:
        for example in schemas["JobCreate"]["examples"]:
            submit(client, example)
        # The others are of a job that has ended, and of a workload that was uploaded.
        for kind in ("CompareRequest", "UpgradeCheckRequest"):
            for example in schemas[kind]["examples"]:
                submit(client, example)
        for example in schemas["BatchAsked"]["examples"]:
            assert client.post("/v1/batches", json=example).status_code == 201
        for example in schemas["ScheduleCreate"]["examples"]:
            assert client.post("/v1/schedules", json=example).status_code == 201
        for example in schemas["WorkloadCreate"]["examples"]:
            assert client.post("/v1/workloads", json=example).status_code == 201
        for example in schemas["WebhookCreate"]["examples"]:
            assert client.post("/v1/webhooks", json=example).status_code == 201
        job = submit(client, EXTERNAL)
        for example in schemas["JobChange"]["examples"]:
            assert client.post(f"/v1/jobs/{job}/clone", json=example).status_code == 201
        for example in schemas["SuggestionsCreate"]["examples"]:
            assert client.post(f"/v1/jobs/{job}/suggestions", json=example).status_code == 200
        for trial in schemas["TrialCreate"]["examples"]:
            told = client.post(f"/v1/jobs/{job}/trials", json={"trials": [trial]})
            assert told.status_code == 200, told.text


@pytest.mark.slow
def test_an_address_that_is_too_long_is_answered_as_described(
    engine: Engine, tmp_path: Path
) -> None:
    path = "/v1/jobs/{job_id}/pick"
    headers = bearer(make_token(engine, "reader", Role.READ))
    asked = path.format(job_id=1) + "?objective=" + "%CF%89" * 20_000
    with real_server(tmp_path / "rocktune.db", tmp_path) as url:
        described = httpx2.get(f"{url}/openapi.json", timeout=60).json()["paths"][path]["get"][
            "responses"
        ]
        connection = HTTPConnection(httpx2.URL(url).netloc.decode())  # httpx2 refuses to send it
        with closing(connection):
            connection.request("GET", asked, headers=headers)
            answer = connection.getresponse()
            assert answer.status == 400
            media_type = answer.headers.get_content_type()
    assert media_type in described["400"]["content"]
