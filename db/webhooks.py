"""Webhooks, and the outbox: a row for each event and webhook, kept until it is sent.

An event is told in the transaction that makes it, so that neither is kept without the other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal, get_args

from sqlalchemy import Connection, Engine, delete, select, true, update

from db.connection.engine import (
    change,
    insert_into,
    now,
    present,
    read_all,
    read_first,
    writing,
)
from db.schema.job_row import verdict_of
from db.schema.tables import delivery, job, webhook
from db.schema.types import storable

Event = Literal[
    "job_ended", "winner_proven", "regression_found", "regression_gone", "host_excluded",
    "schedule_missed",
]  # fmt: skip
EVENTS: tuple[Event, ...] = get_args(Event)
TEST = "test"  # a message that was asked for; beside ``EVENTS``
State = Literal["waiting", "sent", "given_up"]
_LAST = 50  # deliveries that are shown
_WAITS = delivery.c.state == "waiting"


@dataclass(frozen=True)
class Webhook:
    """Where events are told."""

    id: int
    url: str = field(repr=False)  # that of a chat is a secret
    events: Sequence[Event]
    secret: str = field(repr=False)  # what messages are signed with
    submitter: str | None
    created_at: datetime


@dataclass(frozen=True)
class Delivery:
    """An event on its way to a webhook."""

    id: int
    webhook_id: int
    event: str  # of ``EVENTS``, or ``TEST``
    subject: str  # an event of a subject is told to a webhook once
    about: Mapping[str, Any]
    state: State
    attempts: int
    status: int | None  # of the last answer
    error: str | None  # why the last attempt failed
    created_at: datetime
    tried_at: datetime | None
    next_at: datetime  # when it is sent, as long as it waits


def add_webhook(
    engine: Engine, url: str, events: Sequence[Event], secret: str, submitter: str | None
) -> Webhook | None:
    """Keeps a webhook; None where one leads there already."""
    with writing(engine) as connection:
        new = insert_into(engine, webhook).values(
            url=url, events=events, secret=secret, submitter=submitter, created_at=now(connection)
        )
        made = connection.execute(new.on_conflict_do_nothing().returning(webhook)).first()
    return Webhook(**made._mapping) if made else None


def read_webhooks(engine: Engine) -> list[Webhook]:
    """All webhooks, the oldest first."""
    rows = read_all(engine, select(webhook).order_by(webhook.c.id))
    return [Webhook(**row._mapping) for row in rows]


def remove_webhook(engine: Engine, webhook_id: int) -> bool:
    """Deletes a webhook with its deliveries; False if there is none."""
    return change(engine, delete(webhook).where(webhook.c.id == webhook_id)) > 0


def read_deliveries(engine: Engine, webhook_id: int | None = None) -> list[Delivery]:
    """The last deliveries, to all webhooks or to one, the newest first."""
    mine = true() if webhook_id is None else delivery.c.webhook_id == webhook_id
    which = select(delivery).where(mine).order_by(delivery.c.id.desc()).limit(_LAST)
    return [Delivery(**row._mapping) for row in read_all(engine, which)]


def tell(
    connection: Connection,
    events: Sequence[str],
    subject: str,
    about: Mapping[str, Any],
    *,
    only: int | None = None,
) -> bool:
    """Tells webhooks, or ``only`` one, the first of the events that each asks for.

    A webhook hears an event of a subject once. Returns whether any of them hears it.
    """
    which = select(webhook.c.id, webhook.c.events).order_by(webhook.c.id)
    if only is not None:
        which = which.where(webhook.c.id == only)
    # The lock keeps each there until its delivery is: a deletion would fail the transaction.
    hooks = connection.execute(which.with_for_update(read=True, key_share=True)).all()
    told = [(hook.id, [e for e in events if e in (*hook.events, TEST)]) for hook in hooks]
    moment = now(connection) if hooks else None
    rows = [
        {"webhook_id": number, "event": asked[0], "subject": subject, "state": "waiting",
         "about": storable(about), "attempts": 0, "created_at": moment, "next_at": moment}
        for number, asked in told if asked
    ]  # fmt: skip
    if rows:
        connection.execute(insert_into(connection.engine, delivery).on_conflict_do_nothing(), rows)
    return bool(rows)


def tell_job(connection: Connection, job_id: int, hosts: Mapping[str, str] | None = None) -> None:
    """Tells that a job has just ended; or with ``hosts`` which it goes on without, and why."""
    if connection.execute(select(webhook.c.id).limit(1)).first() is None:
        return
    names = ("id", "kind", "run", "state", "why", "error", "submitter", "batch_id", "batch_item")
    asked = job.c.specification
    which = select(
        *(job.c[name] for name in names),
        asked[("workload", "name")].as_string().label("workload"),
        asked[("space", "name")].as_string().label("space"),
        asked["strategy"].as_string().label("strategy"),
        asked["title"].as_string().label("title"),
        job.c.result["verdict"].label("verdict"),
        job.c.lease_epoch,
    ).where(job.c.id == job_id)
    about = dict(connection.execute(which).mappings().one())
    epoch, verdict = about.pop("lease_epoch"), verdict_of(about.pop("verdict"))
    proven = about["state"] == "done" and bool(verdict.get("confirmed"))
    known = ("trade", "why", "fitness", "low", "high", "p", "pairs")
    about |= {"proven": proven, "verdict": {name: verdict.get(name) for name in known}}
    for host, why in (hosts or {}).items():
        facts = {"host": {"name": host, "why": why}, "job": about}
        tell(connection, ["host_excluded"], f"job {job_id}, host {host}", facts)
    if hosts is None:
        events = ["winner_proven", "job_ended"] if proven else ["job_ended"]
        tell(connection, events, f"job {job_id}, run {about['run']}.{epoch}", {"job": about})


def next_delivery(engine: Engine, moment: datetime) -> tuple[Webhook, Delivery] | None:
    """The delivery that goes first of those that are due at a moment.

    What was tried least goes first: what one receiver refuses does not hold up the others.
    """
    which = select(delivery).where(_WAITS, delivery.c.next_at <= moment)
    found = read_first(engine, which.order_by(delivery.c.attempts, delivery.c.id).limit(1))
    if found is None:
        return None
    hook = read_first(engine, select(webhook).where(webhook.c.id == found.webhook_id))
    return None if hook is None else (Webhook(**hook._mapping), Delivery(**found._mapping))


def begin_attempt(engine: Engine, sent: Delivery, until: datetime, **values: Any) -> bool:
    """Counts an attempt, which keeps others off ``until`` then; False if one was faster."""
    values |= {"attempts": sent.attempts + 1, "next_at": until}
    mine = (delivery.c.id == sent.id, delivery.c.attempts == sent.attempts, _WAITS)
    return change(engine, update(delivery).where(*mine).values(values)) > 0


def end_attempt(engine: Engine, sent: Delivery, *, next_at: datetime, **values: Any) -> None:
    """Keeps what came of an attempt; after a failure the webhook's others wait as long."""
    with writing(engine) as connection:
        if values["error"] is not None:
            others = (delivery.c.webhook_id == sent.webhook_id, delivery.c.next_at < next_at)
            connection.execute(update(delivery).where(*others, _WAITS).values(next_at=next_at))
        mine = (delivery.c.id == sent.id, delivery.c.attempts == sent.attempts + 1)
        ended = update(delivery).where(*mine, _WAITS)
        connection.execute(ended.values(next_at=next_at, **values))


def forget_deliveries(engine: Engine, kept: timedelta) -> int:
    """Deletes what was told longer ago and waits no more; how many that were."""
    old = (delivery.c.created_at < present(engine) - kept, ~_WAITS)
    return change(engine, delete(delivery).where(*old))
