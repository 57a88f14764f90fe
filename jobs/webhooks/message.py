"""The message of a webhook: JSON for programs, whose ``text`` alone makes it a message of a chat.

No other field has a name that Slack or Mattermost know; docs/webhook.schema.json describes them.
It is signed as Standard Webhooks says, version 1: https://www.standardwebhooks.com.
"""

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from typing import Any

from db.webhooks import Delivery, Webhook
from sampler.common.untrusted_text import printable

SCHEMA = 1
_MOST_TEXT = 3000  # characters; chats cut off or refuse what is much longer
_MOST_LINES = 10
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_PREFIX = "whsec_"


def message(hook: Webhook, sent: Delivery, public_url: str) -> dict[str, Any]:
    """What a delivery says, the same in every attempt.

    ``public_url``: where a browser finds the dashboard; empty: there is no link.
    """
    unique = hashlib.sha256(f"{hook.secret} {sent.id}".encode()).hexdigest()
    link = public_url.rstrip("/") + _page(sent.about) if public_url else None
    said = event_text(sent.event, sent.about)
    return {
        "schema": SCHEMA,
        "id": f"msg_{unique[:32]}",
        "event": sent.event,
        "at": sent.created_at.isoformat(),
        "text": f"{said}\n{link}" if link else said,
        "link": link,
        **sent.about,
    }


def event_text(event: str, about: Mapping[str, Any]) -> str:
    """An event in a few lines, without anything that a chat obeys."""
    lines = "\n".join(_plain(line) for line in _lines(event, about))
    return lines if len(lines) <= _MOST_TEXT else f"{lines[:_MOST_TEXT]}..."


def _lines(event: str, about: Mapping[str, Any]) -> list[str]:
    if (batch := about.get("batch")) is not None:
        found, gone = about["findings"], event == "regression_gone"
        what = "a regression is gone" if gone else "a regression was found"
        told = [f"- {each['text']}" for each in found[:_MOST_LINES]]
        told += [f"- and {len(found) - _MOST_LINES} more"] if len(found) > _MOST_LINES else []
        return [f"Batch {batch['name']}, night of {batch['began_at'][:10]}: {what}", *told]
    if (missed := about.get("schedule")) is not None:
        return [f"Schedule {missed['name']}, {missed['at'][:16]} UTC: {missed['why']}"]
    if (job := about.get("job")) is None:
        return ["This is a test message of Rocktune."]
    named = f"Job {job['id']} ({job['title'] or job['workload']})"
    if (host := about.get("host")) is not None:
        return [f"{named} goes on without host {host['name']}: {host['why']}"]
    trade = job["verdict"]["trade"]
    if job["proven"]:
        return [f"{named} has proven a better configuration. {trade}"]
    found = "" if job["title"] is None else job["verdict"]["why"]
    why = job["error"] or trade or found or job["why"]
    return [f"{named} is {job['state']}" + (f": {why}" if why not in ("", job["state"]) else "")]


def _plain(line: str) -> str:
    """Mentions, links and entities of chats taken apart."""
    text = re.sub("[&<>]", lambda found: _ENTITIES[found[0]], printable(line))
    return re.sub(r"@|:(?=//)|](?=\()", lambda found: f"{found[0]}\N{ZERO WIDTH SPACE}", text)


def _page(about: Mapping[str, Any]) -> str:
    if "job" in about:
        return f"/jobs/{about['job']['id']}"
    if "batch" in about:
        return f"/nights/{about['batch']['name']}"
    return "/schedules" if "schedule" in about else "/webhooks"


def new_secret() -> str:
    """A secret of 256 bits, as the libraries of Standard Webhooks take it."""
    return _PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def signed_headers(secret: str, unique: str, at: int, body: bytes) -> dict[str, str]:
    """The headers that prove a message: ``at`` is the time of sending, in seconds since 1970."""
    key = base64.b64decode(secret.removeprefix(_PREFIX))
    made = base64.b64encode(hmac.digest(key, f"{unique}.{at}.".encode() + body, "sha256"))
    signed = {"webhook-timestamp": str(at), "webhook-signature": f"v1,{made.decode()}"}
    return {"webhook-id": unique, "Idempotency-Key": unique, **signed}
