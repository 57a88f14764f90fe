"""Webhooks and the outbox, as the database keeps them."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, insert, select, update

from db.connection.engine import present, writing
from db.jobs.job_queue import queue_again
from db.jobs.job_store import JobStore
from db.leases import Lease, acquire, release, this_process_name
from db.nightly.batches import begin_batch, give_up_jobs
from db.schema.job_row import LIVE, JobKind, JobState
from db.schema.tables import delivery, job
from db.trials.trial_log import StoredTrialLog
from db.webhooks import (
    EVENTS,
    Delivery,
    Event,
    Webhook,
    add_webhook,
    begin_attempt,
    end_attempt,
    forget_deliveries,
    next_delivery,
    read_deliveries,
    read_webhooks,
    remove_webhook,
    tell,
)
from optimizer.run.ports import HOSTS_EXCLUDED, LeaseLost

ASKED = {"workload": {"name": "load"}, "space": {"name": "paper"}, "strategy": "guided"}
PROVEN = {"confirmed": True, "trade": "Better: WAF -43%", "p": 0.003, "metrics": {"waf": 1.0}}


def hook(engine: Engine, *events: Event, url: str = "https://chat.example.com/1") -> Webhook:
    made = add_webhook(engine, url, events or EVENTS, "whsec_AAAA", "me")
    assert made is not None
    return made


def told(engine: Engine) -> list[tuple[int, str, str]]:
    """(webhook, event, subject) of all, the oldest first."""
    return [(e.webhook_id, e.event, e.subject) for e in reversed(read_deliveries(engine))]


def new_job(engine: Engine) -> int:
    return JobStore(engine).create_job(ASKED, "digest")


def end(engine: Engine, job_id: int, state: JobState, **more: Any) -> None:
    assert JobStore(engine).set_state(job_id, state, expected=LIVE, **more)


def test_a_webhook_is_kept_once_for_an_address_and_shows_no_secret(database: Engine) -> None:
    made = hook(database, "job_ended")
    assert read_webhooks(database) == [made]
    assert (made.events, made.submitter) == (["job_ended"], "me")
    assert "whsec" not in repr(made) and "chat" not in repr(made)
    assert add_webhook(database, made.url, EVENTS, "whsec_BBBB", None) is None
    assert read_webhooks(database) == [made]


def test_the_end_of_a_job_is_told_with_its_facts(database: Engine) -> None:
    mine = hook(database)
    job_id = new_job(database)
    end(database, job_id, JobState.FAILED, error="the disk is full")
    (found,) = read_deliveries(database)
    assert (found.webhook_id, found.event, found.state) == (mine.id, "job_ended", "waiting")
    assert found.about["job"] == {
        "id": job_id, "kind": "tune", "run": 1, "state": "failed", "why": "",
        "error": "the disk is full", "submitter": None, "batch_id": None,
        "batch_item": None, "workload": "load", "space": "paper",
        "strategy": "guided", "title": None, "proven": False,
        "verdict": dict.fromkeys(("trade", "why", "fitness", "low", "high", "p", "pairs")),
    }  # fmt: skip


def test_a_winner_is_told_to_each_as_it_asks_and_never_twice(database: Engine) -> None:
    all_of_it, ends = hook(database), hook(database, "job_ended", url="https://b.example")
    nothing = hook(database, "host_excluded", url="https://c.example")
    job_id = new_job(database)
    JobStore(database).save_result(job_id, {"verdict": PROVEN})
    end(database, job_id, JobState.DONE)
    assert [each[:2] for each in told(database)] == [
        (all_of_it.id, "winner_proven"), (ends.id, "job_ended")
    ]  # fmt: skip
    first = read_deliveries(database, all_of_it.id)[0]
    assert first.about["job"]["proven"] is True
    assert first.about["job"]["verdict"]["trade"] == "Better: WAF -43%"
    assert "metrics" not in first.about["job"]["verdict"]
    assert read_deliveries(database, nothing.id) == []
    assert not JobStore(database).set_state(job_id, JobState.DONE, expected=LIVE)
    assert len(told(database)) == 2


@pytest.mark.parametrize("result", [None, {"verdict": None}, {"verdict": {"confirmed": False}}])
def test_what_proved_nothing_is_no_winner(database: Engine, result: Any) -> None:
    hook(database)
    job_id = new_job(database)
    if result is not None:
        JobStore(database).save_result(job_id, result)
    end(database, job_id, JobState.DONE)
    assert [each[1] for each in told(database)] == ["job_ended"]


@pytest.mark.parametrize("verdict", [["A is better.", "B is worse."], "A is better. B is worse."])
def test_an_experiment_ends_and_tells_what_it_found(database: Engine, verdict: Any) -> None:
    hook(database)
    asked = {"title": "A with B", "asked": {"kind": "compare"}}
    job_id = JobStore(database).create_job(asked, "digest")
    with writing(database) as connection:
        connection.execute(update(job).values(kind=JobKind.COMPARE))
    JobStore(database).save_result(job_id, {"verdict": verdict})
    end(database, job_id, JobState.DONE)
    (found,) = read_deliveries(database)
    about = found.about["job"]
    assert (found.event, about["kind"], about["title"]) == ("job_ended", "compare", "A with B")
    assert about["verdict"]["why"] == "A is better. B is worse."
    assert (about["workload"], about["proven"]) == (None, False)


def test_what_is_on_its_way_no_more_is_forgotten_after_as_long_as_jobs_are(
    database: Engine,
) -> None:
    hook(database)
    for state in (JobState.DONE, JobState.FAILED):
        end(database, new_job(database), state)
    with writing(database) as connection:
        sent = update(delivery).where(delivery.c.subject.startswith("job 1"))
        connection.execute(sent.values(state="sent"))
    assert forget_deliveries(database, timedelta(days=1)) == 0
    with writing(database) as connection:
        long_ago = present(database) - timedelta(days=2)
        connection.execute(update(delivery).values(created_at=long_ago))
    assert forget_deliveries(database, timedelta(days=1)) == 1
    assert [each.state for each in read_deliveries(database)] == ["waiting"]


def test_every_end_of_a_job_that_goes_on_is_told(database: Engine) -> None:
    hook(database)
    job_id = new_job(database)
    end(database, job_id, JobState.CANCELLED)
    assert queue_again(database, job_id, expected=[JobState.CANCELLED], why="")
    end(database, job_id, JobState.CANCELLED)
    # A terminal goes on with a job without queueing it.
    lease = acquire(database, job_id, this_process_name())
    store = JobStore(database)
    assert store.set_state(job_id, JobState.RUNNING, lease=lease)
    end(database, job_id, JobState.FAILED, error="x", lease=lease)
    release(database, lease)
    assert len(told(database)) == 3


def test_what_changes_nothing_tells_nothing(database: Engine, lease: Lease) -> None:
    hook(database)
    store, stale = JobStore(database), lease
    release(database, stale)
    acquire(database, stale.job_id, "another")
    with pytest.raises(LeaseLost):
        store.set_state(stale.job_id, JobState.DONE, lease=stale)
    store.set_state(stale.job_id, JobState.RUNNING)
    assert told(database) == []


def test_without_a_webhook_nothing_is_kept(database: Engine) -> None:
    end(database, new_job(database), JobState.DONE)
    assert told(database) == []
    hook(database)
    assert told(database) == [], "it hears of what comes"


def test_jobs_that_are_given_up_with_their_batch_have_ended(database: Engine) -> None:
    hook(database)
    jobs = [{"specification": ASKED, "digest": "d", "why": "", "batch_item": n} for n in "ab"]
    with writing(database) as connection:
        batch_id = begin_batch(connection, name="n", document={}, digest="d", why="", jobs=jobs)
    assert batch_id is not None
    give_up_jobs(database, batch_id, "another was begun")
    items = {e.about["job"]["batch_item"]: e.about["job"] for e in read_deliveries(database)}
    assert items.keys() == {"a", "b"}
    assert {each["batch_id"] for each in items.values()} == {batch_id}


def test_a_host_that_is_excluded_is_told_once_for_a_job(
    database: Engine, log: StoredTrialLog, lease: Lease
) -> None:
    hook(database)
    log.remember("anything", {"hosts": {"h1": "x"}})
    log.remember(HOSTS_EXCLUDED, {"hosts": {}, "since": {}})
    assert told(database) == []
    log.remember(HOSTS_EXCLUDED, {"hosts": {"h1": "its noise"}})
    log.remember(HOSTS_EXCLUDED, {"hosts": {"h1": "its noise", "h2": "its speed"}})
    found = {e.about["host"]["name"]: e for e in read_deliveries(database)}
    assert {name: e.about["host"]["why"] for name, e in found.items()} == {
        "h1": "its noise", "h2": "its speed"
    }  # fmt: skip
    assert len(told(database)) == 2
    assert {e.event for e in found.values()} == {"host_excluded"}
    assert {e.about["job"]["id"] for e in found.values()} == {lease.job_id}


def test_a_deleted_webhook_takes_along_what_it_was_told(database: Engine) -> None:
    first, second = hook(database), hook(database, url="https://b.example")
    end(database, new_job(database), JobState.DONE)
    assert remove_webhook(database, first.id)
    assert [each[0] for each in told(database)] == [second.id]
    assert not remove_webhook(database, first.id)


def subjects(engine: Engine, *names: str) -> None:
    with writing(engine) as connection:
        for name in names:
            tell(connection, ["job_ended"], name, {"schedule": {}})


def first_due(engine: Engine) -> Delivery:
    found = next_delivery(engine, present(engine))
    return found[1]


def test_an_attempt_is_begun_once_and_its_outcome_kept_once(database: Engine) -> None:
    mine = hook(database)
    subjects(database, "a")
    seen, moment = first_due(database), present(database)
    later = moment + timedelta(hours=1)
    assert begin_attempt(database, seen, later, tried_at=moment)
    assert not begin_attempt(database, seen, later, tried_at=moment), "another worker was faster"
    assert next_delivery(database, moment) is None
    assert next_delivery(database, later) is not None, "the worker that began it has died"
    end_attempt(database, seen, next_at=moment, state="sent", status=204, error=None)
    kept = read_deliveries(database, mine.id)[0]
    assert (kept.state, kept.attempts, kept.status, kept.error) == ("sent", 1, 204, None)
    end_attempt(database, seen, next_at=later, state="waiting", status=500, error="late")
    assert read_deliveries(database, mine.id)[0] == kept
    assert next_delivery(database, later) is None


def test_after_a_failure_the_others_of_the_webhook_wait_and_go_first(database: Engine) -> None:
    hook(database)
    other = hook(database, url="https://b.example")
    subjects(database, "a", "b")
    moment = present(database)
    later = moment + timedelta(seconds=30)
    seen = first_due(database)
    assert (seen.webhook_id, seen.subject) != (other.id, "a")
    begin_attempt(database, seen, later, tried_at=moment)
    end_attempt(database, seen, next_at=later, state="waiting", status=500, error="no")
    found = next_delivery(database, moment)
    assert found is not None and found[0].id == other.id, "those of others do not"
    remove_webhook(database, other.id)
    assert next_delivery(database, moment) is None
    found = next_delivery(database, later)
    assert found is not None and found[1].subject == "b", "what was refused goes last"


def test_two_that_tell_the_same_at_once_tell_it_once(database: Engine) -> None:
    hook(database)
    subjects(database, "a", "a")
    subjects(database, "a")
    with writing(database) as connection:
        assert len(connection.execute(select(delivery)).all()) == 1
        row = dict(connection.execute(select(delivery)).mappings().one())
    row.pop("id")
    with pytest.raises(Exception, match=r"(?i)unique"), writing(database) as connection:
        connection.execute(insert(delivery).values(row))
