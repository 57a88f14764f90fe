"""Webhooks over HTTP: added, tested, listed and deleted, and what is never shown of them."""

from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from db.access.tokens import Role
from db.webhooks import EVENTS, read_webhooks
from jobs.queue.service_settings import ServiceSettings
from jobs.webhooks import deliver_due
from tests.support.api.callers import bearer, errors_of, require_problem, send
from tests.support.jobs.receiver import receiving

pytestmark = pytest.mark.one_database

URL = "https://chat.example.com/hooks/s3cr3t"


def added(client: TestClient, **asked: Any) -> dict[str, Any]:
    answer = client.post("/v1/webhooks", json={"url": URL, **asked})
    assert answer.status_code == 201, answer.text
    assert answer.headers["location"] == f"/v1/webhooks/{answer.json()['id']}/deliveries"
    made: dict[str, Any] = answer.json()
    return made


def test_the_secret_is_shown_once_and_the_address_never(
    client: TestClient, database: Engine
) -> None:
    made = added(client)
    secret = made.pop("secret")
    assert secret.startswith("whsec_") and read_webhooks(database)[0].secret == secret
    assert made["url"] == "https://chat.example.com/..."
    assert made["events"] == list(EVENTS)
    answer = client.get("/v1/webhooks")
    assert answer.json() == [{**made, "secret": None}]
    for path in ("/v1/webhooks", f"/v1/webhooks/{made['id']}/deliveries", "/webhooks"):
        text = client.get(path).text
        assert "s3cr3t" not in text and secret not in text


def test_a_test_message_goes_the_way_of_every_other(served: Any, database: Engine) -> None:
    settings = ServiceSettings(webhook_allow="127.0.0.1")
    client = served(settings)
    with receiving() as receiver:
        made = added(client, url=receiver.url, events=["regression_found"])
        path = f"/v1/webhooks/{made['id']}"
        answer = client.post(f"{path}/test")
        assert (answer.status_code, answer.json()["state"]) == (201, "waiting")
        assert receiver.got == [], "no request makes a call: the worker does"
        client.post(f"{path}/test")
        deliver_due(database, settings)
    assert [each["event"] for each in receiver.messages] == ["test", "test"]
    assert len(set(receiver.ids)) == 2
    told = client.get(f"{path}/deliveries").json()
    assert [each["id"] for each in told] == [2, 1]
    assert told[0] | {"created_at": 0, "tried_at": 0, "next_at": 0} == {
        "id": 2, "webhook_id": made["id"], "event": "test", "state": "sent", "attempts": 1,
        "text": "This is a test message of Rocktune.", "status": 204, "error": None,
        "created_at": 0, "tried_at": 0, "next_at": 0,
    }  # fmt: skip
    assert client.delete(path).status_code == 204
    assert client.get("/v1/webhooks").json() == []
    for answer in (
        client.delete(path), client.post(f"{path}/test"), client.get(f"{path}/deliveries")
    ):  # fmt: skip
        assert answer.status_code == 404
        require_problem(answer)


def test_a_second_webhook_to_an_address_is_refused(client: TestClient) -> None:
    added(client)
    answer = client.post("/v1/webhooks", json={"url": URL, "events": ["job_ended"]})
    assert answer.status_code == 409 and "s3cr3t" not in answer.text
    added(client, url=URL + "2")


def test_an_address_that_may_not_be_is_refused_by_its_field(client: TestClient) -> None:
    for url, said in (
        ("ftp://a.example/x", "write https://HOST/PATH"),
        ("chat.example.com/x", "write https://HOST/PATH"),
        ("https://me:it@a.example/", "a password"),
        ("https://a.example/#x", "a fragment"),
        ("http://127.0.0.1:8080/x", "ROCKTUNE_WEBHOOK_ALLOW"),
        ("http://0x7f.1/x", "ROCKTUNE_WEBHOOK_ALLOW"),
        ("http://[::1]/x", "ROCKTUNE_WEBHOOK_ALLOW"),
        ("http://169.254.169.254/latest", "ROCKTUNE_WEBHOOK_ALLOW"),
        (12, "url"),
    ):
        found = errors_of(send(client, "/v1/webhooks", {"url": url}))
        assert found.keys() == {"url"} and said in f"url {found['url']['problem']}"
        assert client.get("/v1/webhooks").json() == []


def test_events_that_are_none_are_refused(client: TestClient) -> None:
    for events in (
        [],
        ["nothing"],
        "job_ended",
        ["test"],
        None,
    ):
        found = errors_of(send(client, "/v1/webhooks", {"url": URL, "events": events}))
        assert all(each.startswith("events") for each in found)


def test_the_operator_names_hosts_that_are_not_public(served: Any) -> None:
    client = served(ServiceSettings(webhook_allow="10.0.0.5, chat.internal"))
    added(client, url="http://10.0.0.5/x")
    assert errors_of(send(client, "/v1/webhooks", {"url": "http://10.0.0.6/x"}))


def test_who_may_submit_sees_no_webhook(client: TestClient, tokens: dict[Role, str]) -> None:
    made = added(client)
    client.headers |= bearer(tokens[Role.SUBMIT])
    for answer in (
        client.get("/v1/webhooks"),
        client.post("/v1/webhooks", json={"url": URL}),
        client.get(f"/v1/webhooks/{made['id']}/deliveries"),
        client.get("/webhooks"),
    ):
        assert answer.status_code == 403
    assert "/webhooks" not in client.get("/", headers={"Accept": "text/html"}).text
