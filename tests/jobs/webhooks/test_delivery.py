"""Webhooks whose receivers fail: nothing is lost within the time, and nothing sent twice.

The same with jobs beside it, in numbers: docs/results/webhook_faults.md (`make prove-webhooks`).
"""

import json
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, update

from db.connection.engine import present, writing
from db.jobs.job_store import JobStore
from db.schema.job_row import JobState
from db.schema.tables import delivery as deliveries
from db.webhooks import EVENTS, add_webhook, read_deliveries, read_webhooks, remove_webhook
from jobs import webhooks
from jobs.queue.service_settings import ServiceSettings
from jobs.webhooks import deliver_due, new_secret, signed_headers, wait_after
from tests.support import unused_port
from tests.support.jobs.receiver import Receiver, receiving
from tests.support.jobs.service_desk import wait_until
from tests.support.jobs.worker_scene import Scene, at_work, scene

__all__ = ["scene"]

SETTINGS = ServiceSettings(webhook_allow="127.0.0.1", public_url="http://bench.example:8080")
Ahead = Callable[..., None]


@pytest.fixture
def ahead(monkeypatch: pytest.MonkeyPatch) -> Ahead:
    """Sets the clock ahead, by what ``timedelta`` takes."""
    passed = [timedelta()]
    monkeypatch.setattr(webhooks, "present", lambda engine: present(engine) + passed[0])

    def wait(**by: float) -> None:
        passed[0] += timedelta(**by)

    return wait


def hook(engine: Engine, url: str) -> None:
    assert add_webhook(engine, url, EVENTS, new_secret(), None)


def ended_jobs(engine: Engine, count: int) -> None:
    store = JobStore(engine)
    for _ in range(count):
        job_id = store.create_job({"workload": {"name": "load"}}, "digest")
        store.set_state(job_id, JobState.FAILED, error="the disk is full")


def states(engine: Engine) -> list[str]:
    return [each.state for each in reversed(read_deliveries(engine))]


def require_once(receiver: Receiver, count: int) -> None:
    """Each of so many messages was acknowledged once and never sent again."""
    assert len(receiver.acknowledged) == count
    assert set(receiver.acknowledged.values()) <= {1}


def test_a_message_arrives_signed_and_once(database: Engine) -> None:
    with receiving() as receiver:
        hook(database, receiver.url)
        ended_jobs(database, 1)
        assert deliver_due(database, SETTINGS) == 1
        assert deliver_due(database, SETTINGS) == 0
    ((headers, body),) = receiver.got
    told = json.loads(body)
    assert told["text"].splitlines() == [
        "Job 1 (load) is failed: the disk is full", "http://bench.example:8080/jobs/1"
    ]  # fmt: skip
    assert headers["webhook-id"] == headers["idempotency-key"] == told["id"]
    secret, at = read_webhooks(database)[0].secret, int(headers["webhook-timestamp"])
    signed = signed_headers(secret, told["id"], at, body)["webhook-signature"]
    assert headers["webhook-signature"] == signed
    (kept,) = read_deliveries(database)
    assert (kept.state, kept.attempts, kept.status, kept.error) == ("sent", 1, 204, None)


@pytest.mark.one_database
@pytest.mark.parametrize("fault", ["500", "redirect", "slow", "half", "down"])
def test_what_fails_is_sent_again_until_it_is_acknowledged(
    database: Engine, fault: str, ahead: Ahead, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "ANSWER_SECONDS", 0.2)
    port = unused_port()
    receiver = Receiver(port=port, elsewhere=f"http://127.0.0.1:{port}/")
    hook(database, receiver.url)
    ended_jobs(database, 3)

    def tried() -> None:
        assert deliver_due(database, SETTINGS) == 1, "the others of the webhook wait as long"
        assert deliver_due(database, SETTINGS) == 0
        ahead(minutes=2)
        assert deliver_due(database, SETTINGS) >= 1

    if fault == "down":
        tried()
    else:
        with receiving(fault, port, receiver):
            tried()
    assert states(database) == ["waiting"] * 3
    assert all(each.error for each in read_deliveries(database) if each.attempts)
    assert receiver.acknowledged == {}
    with receiving("well", port, receiver):
        ahead(hours=1)
        deliver_due(database, SETTINGS)
        assert states(database) == ["sent"] * 3
        ahead(days=2)
        assert deliver_due(database, SETTINGS) == 0
    require_once(receiver, 3)
    assert len(set(receiver.ids)) == 3, "an attempt has the number of the one before it"


@pytest.mark.one_database
@pytest.mark.slow
def test_who_is_gone_for_a_day_but_an_hour_loses_nothing(database: Engine, ahead: Ahead) -> None:
    port = unused_port()
    receiver = Receiver(port=port)
    hook(database, receiver.url)
    ended_jobs(database, 2)
    for _ in range(23 * 6):
        deliver_due(database, SETTINGS)
        ahead(minutes=10)
    assert max(each.attempts for each in read_deliveries(database)) < 50
    with receiving("well", port, receiver):
        ahead(hours=1)
        deliver_due(database, SETTINGS)
    assert states(database) == ["sent"] * 2
    require_once(receiver, 2)


@pytest.mark.one_database
@pytest.mark.slow
def test_what_nobody_takes_for_the_whole_time_is_given_up_and_told(
    database: Engine, ahead: Ahead
) -> None:
    hook(database, f"http://127.0.0.1:{unused_port()}/")
    ended_jobs(database, 1)
    for _ in range(30):
        deliver_due(database, SETTINGS)
        ahead(hours=1)
    (kept,) = read_deliveries(database)
    assert kept.state == "given_up" and "refused" in str(kept.error)
    ahead(days=9)
    assert deliver_due(database, SETTINGS) == 0


@pytest.mark.one_database
def test_one_receiver_that_fails_holds_up_no_other(database: Engine) -> None:
    with receiving("500") as bad, receiving() as good:
        hook(database, bad.url)
        hook(database, good.url)
        ended_jobs(database, 3)
        deliver_due(database, SETTINGS)
    require_once(good, 3)
    assert len(bad.got) == 1


@pytest.mark.one_database
def test_a_private_address_is_not_called_unless_it_is_named(database: Engine) -> None:
    with receiving() as receiver:
        hook(database, receiver.url)
        ended_jobs(database, 1)
        deliver_due(database, ServiceSettings())
        assert receiver.got == []
    (kept,) = read_deliveries(database)
    assert kept.state == "waiting" and "ROCKTUNE_WEBHOOK_ALLOW" in str(kept.error)


def test_what_cannot_be_told_is_given_up_and_holds_up_nothing(
    database: Engine, ahead: Ahead
) -> None:
    with receiving() as receiver:
        hook(database, receiver.url)
        ended_jobs(database, 2)
        first = min(each.id for each in read_deliveries(database))
        with writing(database) as connection:
            broken = update(deliveries).where(deliveries.c.id == first)
            connection.execute(broken.values(about={"job": {}}))
        deliver_due(database, SETTINGS)
        ahead(hours=25)
        deliver_due(database, SETTINGS)
    assert states(database) == ["given_up", "sent"]


@pytest.mark.one_database
def test_a_webhook_that_is_deleted_meanwhile_is_no_failure(
    database: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook(database, "http://127.0.0.1:9/")
    ended_jobs(database, 2)

    def post(*_: object, **__: object) -> tuple[int, None]:
        remove_webhook(database, 1)
        return 204, None

    monkeypatch.setattr(webhooks, "post", post)
    assert deliver_due(database, SETTINGS) == 1
    assert read_deliveries(database) == []


def test_the_waits_double_to_an_hour_and_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    for chance, share in ((lambda _low, high: high, 1.0), (lambda low, _high: low, 0.5)):
        monkeypatch.setattr(webhooks.random, "uniform", chance)
        waits = [
            wait_after(attempt).total_seconds() / share for attempt in (1, 2, 3, 9, 10, 10**6)
        ]
        assert waits == [10, 20, 40, 2560, 3600, 3600]


@pytest.mark.one_database
@pytest.mark.slow
def test_a_receiver_that_says_nothing_holds_up_no_job_and_no_worker(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "ANSWER_SECONDS", 5.0)
    monkeypatch.setattr(webhooks, "FIRST_SECONDS", 0.1)
    with receiving("slow") as receiver:
        hook(scene.engine, receiver.url)
        first, second = scene.submit(), scene.submit()
        with at_work(scene, service=SETTINGS):
            scene.await_state(first, JobState.DONE)
            wait_until(lambda: receiver.got, seconds=20, what="it is told")
            scene.await_state(second, JobState.DONE)
            receiver.fault = "well"
            receiver.let_go.set()
            wait_until(lambda: states(scene.engine).count("sent"), seconds=20, what="one is sent")
    scene.check_done(first)
    scene.check_done(second)


@pytest.mark.one_database
@pytest.mark.slow
def test_a_failure_of_the_deliverer_ends_no_worker(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = threading.Event()

    def fail(*_: Any, **__: Any) -> int:
        failed.set()
        raise RuntimeError("nobody foresaw it")

    monkeypatch.setattr("jobs.worker.deliver_due", fail)
    job = scene.submit()
    with at_work(scene, service=SETTINGS):
        assert failed.wait(20)
        scene.await_state(job, JobState.DONE)
    scene.check_done(job)
