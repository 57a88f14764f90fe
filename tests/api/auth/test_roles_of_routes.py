"""Who may do what: every route of the application has a rule here, or this fails."""

from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from api.app import make_app
from api.pages.page import static_address
from db.access.tokens import Role, make_token, revoke_token
from db.leases import see_host
from db.webhooks import read_webhooks, remove_webhook
from jobs.queue.service_settings import ServiceSettings
from tests.support.api.callers import EXTERNAL, QUEUED, bearer, require_problem, stranger, submit
from tests.support.api.served_routes import routes_of

# The least role; None: anyone, without a token too.
RULES: dict[tuple[str, str], Role | None] = {
    ("GET", "/openapi.json"): None,
    ("GET", "/docs"): Role.READ,
    ("GET", "/healthz"): None,
    ("GET", "/readyz"): None,
    ("GET", "/metrics"): Role.READ,
    ("GET", "/v1/workloads"): Role.READ,
    ("POST", "/v1/workloads"): Role.SUBMIT,
    ("GET", "/v1/workloads/{name}"): Role.READ,
    ("DELETE", "/v1/workloads/{name}"): Role.SUBMIT,  # one's own; another's: see below
    ("GET", "/v1/spaces"): Role.READ,
    ("GET", "/v1/objectives"): Role.READ,
    ("GET", "/v1/starts"): Role.READ,
    ("GET", "/v1/hosts"): Role.READ,
    ("GET", "/v1/hosts/{name}"): Role.READ,
    ("GET", "/v1/guide"): Role.READ,
    ("GET", "/v1/jobs"): Role.READ,
    ("GET", "/v1/jobs/{job_id}"): Role.READ,
    ("GET", "/v1/jobs/{job_id}/trials"): Role.READ,
    ("GET", "/v1/jobs/{job_id}/events"): Role.READ,
    ("GET", "/v1/jobs/{job_id}/result"): Role.READ,
    ("GET", "/v1/jobs/{job_id}/parameters"): Role.READ,
    ("GET", "/v1/jobs/{job_id}/anova"): Role.READ,
    ("GET", "/v1/jobs/{job_id}/pareto"): Role.READ,
    ("GET", "/v1/jobs/{job_id}/contributions"): Role.READ,
    ("GET", "/v1/jobs/{job_id}/pick"): Role.READ,
    ("GET", "/v1/jobs/{job_id}/explanation"): Role.READ,
    ("GET", "/v1/jobs/{job_id}/report"): Role.READ,
    ("GET", "/v1/jobs/{job_id}/files/{name}"): Role.READ,
    ("GET", "/v1/jobs/{job_id}/charts"): Role.READ,
    ("GET", "/v1/jobs/{job_id}/dependence"): Role.READ,
    ("GET", "/v1/jobs/{job_id}/options"): Role.READ,
    ("POST", "/v1/jobs"): Role.SUBMIT,
    ("POST", "/v1/jobs/{job_id}/cancel"): Role.SUBMIT,
    ("POST", "/v1/jobs/{job_id}/resume"): Role.SUBMIT,
    ("POST", "/v1/jobs/{job_id}/clone"): Role.SUBMIT,
    ("POST", "/v1/jobs/{job_id}/suggestions"): Role.SUBMIT,
    ("POST", "/v1/jobs/{job_id}/trials"): Role.SUBMIT,
    ("DELETE", "/v1/jobs/{job_id}"): Role.ADMIN,
    ("GET", "/v1/schedules"): Role.READ,
    ("GET", "/v1/schedules/{name}"): Role.READ,
    ("POST", "/v1/schedules"): Role.SUBMIT,
    ("POST", "/v1/schedules/{name}/run"): Role.SUBMIT,
    ("DELETE", "/v1/schedules/{name}"): Role.ADMIN,
    ("GET", "/v1/batches"): Role.READ,
    ("POST", "/v1/batches"): Role.SUBMIT,
    ("GET", "/v1/batches/{batch_id}"): Role.READ,
    ("GET", "/v1/nights/{name}/triage"): Role.READ,
    ("GET", "/v1/webhooks"): Role.ADMIN,
    ("POST", "/v1/webhooks"): Role.ADMIN,
    ("DELETE", "/v1/webhooks/{webhook_id}"): Role.ADMIN,
    ("POST", "/v1/webhooks/{webhook_id}/test"): Role.ADMIN,
    ("GET", "/v1/webhooks/{webhook_id}/deliveries"): Role.ADMIN,
    ("GET", "/static/{digest}/{name}"): None,
    ("GET", "/login"): None,
    ("POST", "/login"): None,
    ("POST", "/logout"): Role.READ,
    ("GET", "/"): Role.READ,
    ("GET", "/jobs/{job_id}"): Role.READ,
    ("GET", "/jobs/new"): Role.SUBMIT,
    ("POST", "/jobs/new"): Role.SUBMIT,
    ("GET", "/jobs/new/{kind}"): Role.SUBMIT,
    ("POST", "/jobs/new/{kind}"): Role.SUBMIT,
    ("GET", "/jobs/{job_id}/clone"): Role.SUBMIT,
    ("POST", "/jobs/{job_id}/clone"): Role.SUBMIT,
    ("POST", "/jobs/{job_id}/cancel"): Role.SUBMIT,
    ("POST", "/jobs/{job_id}/resume"): Role.SUBMIT,
    ("POST", "/jobs/{job_id}/delete"): Role.ADMIN,
    ("GET", "/batches"): Role.READ,
    ("GET", "/workloads"): Role.READ,
    ("POST", "/workloads"): Role.SUBMIT,
    ("GET", "/workloads/{name}"): Role.READ,
    ("POST", "/workloads/{name}/delete"): Role.ADMIN,
    ("GET", "/webhooks"): Role.ADMIN,
    ("POST", "/webhooks"): Role.ADMIN,
    ("POST", "/webhooks/{webhook_id}/{action}"): Role.ADMIN,
    ("GET", "/compare"): Role.READ,
    ("GET", "/hosts"): Role.READ,
    ("GET", "/schedules"): Role.READ,
    ("GET", "/nights"): Role.READ,
    ("GET", "/nights/{name}"): Role.READ,
    ("GET", "/nights/{name}/triage"): Role.READ,
    ("GET", "/jobs/{job_id}/matters"): Role.READ,
    ("GET", "/jobs/{job_id}/won"): Role.READ,
    ("GET", "/jobs/{job_id}/won/options"): Role.READ,
    ("GET", "/jobs/{job_id}/trials"): Role.READ,
    ("GET", "/jobs/{job_id}/trials.{ending}"): Role.READ,
}
SCHEDULE = {"name": "n", "cron": "30 2 * * *", "batch": {"workloads": ["load-quick"]}}
WORKLOAD = {"workload": {"name": "nightly"}}
WEBHOOK = {"url": "https://chat.example.com/x"}
BODIES: dict[str, dict[str, Any]] = {
    "/v1/webhooks": WEBHOOK,
    "/v1/workloads": WORKLOAD,
    "/v1/jobs": QUEUED,
    "/v1/schedules": SCHEDULE,
    "/v1/batches": {"workloads": ["load-quick"]},
    "/v1/jobs/{job_id}/clone": {},
    "/v1/jobs/{job_id}/suggestions": {},
    "/v1/jobs/{job_id}/trials": {"trials": [{"baseline": True, "metrics": {"rate": 1}}]},
}
QUERIES = {
    "/v1/guide": {"keys": "8e9", "key_size": "20", "value_size": "800", "cpu_threads": "48",
                  "memory": "128GB"},
}  # fmt: skip


def call(
    client: TestClient, route: tuple[str, str], job: int, headers: dict[str, str], webhook: int = 9
) -> Any:
    method, path = route
    body = {"json": BODIES[path]} if method == "POST" and path in BODIES else {}
    query = QUERIES.get(path)
    path = path.replace("/static/{digest}/{name}", static_address("dashboard.css"))
    known = {"{job_id}": str(job), "{batch_id}": str(min(job, 1)), "{name}": "nightly",
             "{ending}": "csv", "{action}": "test", "{webhook_id}": str(webhook),
             "{kind}": "explain"}  # fmt: skip
    for part, value in known.items():
        path = path.replace(part, value)
    return client.request(method, path, headers=headers, params=query, **body)


@pytest.fixture
def app(database: Engine) -> FastAPI:
    return make_app(database, ServiceSettings(rate_limit="100000/second"))


@pytest.mark.slow
def test_every_route_has_a_rule_and_every_rule_a_route(app: FastAPI) -> None:
    assert sorted(routes_of(app)) == sorted(RULES)
    described = app.openapi()["paths"]
    for (method, path), role in RULES.items():
        if path in described:
            secured = "security" in described[path][method.lower()]
            assert secured == (role is not None), (method, path)


@pytest.mark.slow
@pytest.mark.one_database
def test_each_role_may_do_what_it_may_and_no_more(app: FastAPI, tokens: dict[Role, str]) -> None:
    with stranger(app) as client:
        for route, needed in RULES.items():
            for role in (None, *Role):
                job = 1
                if "{job_id}" in route[1]:
                    job = submit(client, EXTERNAL, **bearer(tokens[Role.SUBMIT]))
                if route[1].startswith(("/v1/schedules", "/v1/batches", "/v1/nights", "/nights")):
                    nightly = {**SCHEDULE, "name": "nightly"}
                    asks = bearer(tokens[Role.SUBMIT])
                    client.post("/v1/schedules", json=nightly, headers=asks)
                    client.post("/v1/schedules/nightly/run", headers=asks)
                if "/hosts/{" in route[1]:
                    see_host(app.state.service.engine, "nightly", {}, None)
                if "/workloads/{" in route[1]:
                    asks = bearer(tokens[Role.SUBMIT])
                    client.post("/v1/workloads", json=WORKLOAD, headers=asks)
                for kept in read_webhooks(app.state.service.engine):
                    remove_webhook(app.state.service.engine, kept.id)
                webhook = 9
                if "/webhooks/{" in route[1]:
                    asked = bearer(tokens[Role.ADMIN])
                    webhook = client.post("/v1/webhooks", json=WEBHOOK, headers=asked).json()["id"]
                if route[1].endswith(("events", "resume")) or route[0] == "DELETE":
                    client.post(f"/v1/jobs/{job}/cancel", headers=bearer(tokens[Role.SUBMIT]))
                headers = {} if role is None else bearer(tokens[role])
                answer = call(client, route, job, headers, webhook)
                if route == ("POST", "/login"):
                    assert answer.status_code == 401, "without a token in its form"
                elif needed is None or (role is not None and role.may(needed)):
                    # A form in which nothing is filled in is refused by what it lacks.
                    forms = ("/jobs/new", "/jobs/new/{kind}", "/workloads", "/webhooks")
                    empty = route in [("POST", each) for each in forms]
                    fine = (422,) if empty else (200, 201, 204, 409)
                    assert answer.status_code in fine, (route, role, answer.text)
                else:
                    assert answer.status_code == (401 if role is None else 403), (route, role)
                    require_problem(answer)
                    assert ("www-authenticate" in answer.headers) == (role is None)


@pytest.mark.one_database
def test_a_submitter_deletes_workloads_of_its_own_alone(
    app: FastAPI, tokens: dict[Role, str]
) -> None:
    with stranger(app) as client:
        for uploads, status in ((Role.ADMIN, 403), (Role.SUBMIT, 204)):
            sent = client.post("/v1/workloads", json=WORKLOAD, headers=bearer(tokens[uploads]))
            assert sent.status_code == 201
            deleted = client.delete("/v1/workloads/nightly", headers=bearer(tokens[Role.SUBMIT]))
            assert deleted.status_code == status
            client.delete("/v1/workloads/nightly", headers=bearer(tokens[Role.ADMIN]))


@pytest.mark.slow
@pytest.mark.one_database
def test_who_may_not_ask_does_not_learn_what_there_is(
    app: FastAPI, tokens: dict[Role, str]
) -> None:
    with stranger(app) as client:
        for route, needed in RULES.items():
            if needed is None:
                continue
            for job in (999, 0):
                assert call(client, route, job, {}).status_code == 401, route
                assert call(client, route, job, bearer("rt_x")).status_code == 401, route
            if needed is not Role.READ:
                refused = call(client, route, 999, bearer(tokens[Role.READ]))
                assert refused.status_code == 403, route


def test_a_revoked_token_is_worth_nothing_at_once(app: FastAPI, database: Engine) -> None:
    token = make_token(database, "ci", Role.ADMIN)
    with stranger(app) as client:
        assert client.get("/v1/jobs", headers=bearer(token)).status_code == 200
        revoke_token(database, "ci")
        assert client.get("/v1/jobs", headers=bearer(token)).status_code == 401
        assert client.get("/v1/jobs").status_code == 401
        anew = make_token(database, "ci", Role.READ)
        assert client.get("/v1/jobs", headers=bearer(anew)).status_code == 200
        assert client.get("/v1/jobs", headers=bearer(token)).status_code == 401
