"""Delivering what webhooks are told: a thread of the leading worker does, beside the jobs."""

import json
import random
from collections.abc import Callable
from datetime import datetime, timedelta

import structlog
from sqlalchemy import Engine

from db.connection.transactions import present
from db.webhooks import Delivery, Webhook, begin_attempt, end_attempt, next_delivery
from jobs.queue.service_settings import ServiceSettings
from jobs.webhooks.message import message, signed_headers
from jobs.webhooks.sending import hosts_named, post

FIRST_SECONDS, LONGEST_SECONDS = 10.0, 3600.0  # between two attempts
_CLAIM = timedelta(minutes=2)  # longer than any attempt takes
_log = structlog.get_logger("webhooks")


def deliver_due(
    engine: Engine, settings: ServiceSettings, *, ends: Callable[[], bool] = lambda: False
) -> int:
    """Sends what is due, one after the other, until ``ends``; returns the number of attempts."""
    count = 0
    while not ends() and (found := next_delivery(engine, moment := present(engine))) is not None:
        if begin_attempt(engine, found[1], until=moment + _CLAIM, tried_at=moment):
            _attempt(engine, settings, *found, moment)
            count += 1
    return count


def _attempt(
    engine: Engine, settings: ServiceSettings, hook: Webhook, sent: Delivery, moment: datetime
) -> None:
    try:
        told = message(hook, sent, settings.public_url)
        body = json.dumps(told).encode()
        headers = signed_headers(hook.secret, told["id"], int(moment.timestamp()), body)
        status, error = post(hook.url, body, headers, allowed=hosts_named(settings.webhook_allow))
    except Exception as failed:  # of one message: the others are sent all the same
        _log.error("a message cannot be sent", delivery=sent.id, exc_info=failed)
        status, error = None, f"not sent: {type(failed).__name__}"
    state, next_at = "sent", moment
    if error is not None:
        last = max(moment, sent.created_at + timedelta(hours=settings.webhook_retry_hours))
        state = "waiting" if moment < last else "given_up"
        next_at = min(last, moment + wait_after(sent.attempts + 1))
    end_attempt(engine, sent, next_at=next_at, state=state, status=status, error=error)
    about = {"webhook": hook.id, "delivery": sent.id, "told": sent.event, "status": status}
    (_log.warning if error else _log.info)("webhook", **about, state=state, error=error)


def wait_after(attempts: int) -> timedelta:
    """How long to wait after so many attempts: twice as long each time, at random by a half."""
    longest = min(FIRST_SECONDS * 2.0 ** min(attempts - 1, 30), LONGEST_SECONDS)
    return timedelta(seconds=longest * random.uniform(0.5, 1.0))
