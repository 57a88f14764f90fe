"""Webhooks: what they are told, how that is signed, and how it gets there.

A message is JSON for programs, whose ``text`` alone makes it a message of a chat. No other field
has a name that Slack or Mattermost know; docs/webhook.schema.json describes them. It is signed as
Standard Webhooks says, version 1: https://www.standardwebhooks.com.

A thread of the leading worker delivers, beside the jobs. A request leads to public addresses and
to hosts that the operator has named. Redirects are not followed, no proxy is asked, and of the
answer nothing but the status is read.
"""

import base64
import hashlib
import hmac
import ipaddress
import json
import random
import re
import secrets
import socket
import ssl
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from importlib.metadata import version
from typing import Any
from urllib.parse import SplitResult, urlsplit, urlunsplit

import h11
import structlog
from sqlalchemy import Engine

from db.connection.engine import present
from db.webhooks import Delivery, Webhook, begin_attempt, end_attempt, next_delivery
from jobs.queue.service_settings import ServiceSettings
from sampler.common.errors import InputError
from sampler.common.text import printable

SCHEMA = 1
_MOST_TEXT = 3000  # characters; chats cut off or refuse what is much longer
_MOST_LINES = 10
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_PREFIX = "whsec_"
FIRST_SECONDS, LONGEST_SECONDS = 10.0, 3600.0  # between two attempts
_CLAIM = timedelta(minutes=2)  # longer than any attempt takes
_log = structlog.get_logger("webhooks")
CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 10.0  # from the connection to the status of the answer
_MOST_URL = 2000
_MOST_TRIED = 3  # addresses of a name
_PUBLIC_V6 = ipaddress.IPv6Network("2000::/3")
_NOT_PUBLIC = (
    "{} is not a public address; the operator can allow its host in ROCKTUNE_WEBHOOK_ALLOW"
)
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")  # RFC 6052: its last 32 bits are an IPv4 address


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
        what = "a regression has disappeared" if gone else "a regression was found"
        told = [f"- {each['text']}" for each in found[:_MOST_LINES]]
        told += [f"- and {len(found) - _MOST_LINES} more"] if len(found) > _MOST_LINES else []
        return [f"Batch {batch['name']}, night of {batch['began_at'][:10]}: {what}", *told]
    if (missed := about.get("schedule")) is not None:
        return [f"Schedule {missed['name']}, {missed['at'][:16]} UTC: {missed['why']}"]
    if (job := about.get("job")) is None:
        return ["This is a test message of Rocktune."]
    named = f"Job {job['id']} ({job['title'] or job['workload']})"
    if (host := about.get("host")) is not None:
        return [f"{named} continues without host {host['name']}: {host['why']}"]
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
        _log.error("cannot send a message", delivery=sent.id, exc_info=failed)
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


def hosts_named(text: str) -> frozenset[str]:
    """The hosts of a list with commas."""
    return frozenset(_bare(each) for each in text.split(",") if each.strip())


def require_url(url: str, allowed: Collection[str]) -> None:
    """Refuses, with an InputError, a URL of HTTP that no webhook may have; no name is looked up.

    ``allowed``: hosts that need not be public. The message does not repeat the URL, a secret.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if len(url) > _MOST_URL:  # as it is sent: a letter beyond ASCII is up to 12 characters of it
        raise InputError("url", f"is {len(url)} characters long; the limit is {_MOST_URL}")
    if "@" in parts.netloc or parts.fragment:
        raise InputError("url", "has a user name, a password or a fragment (#); leave it out")
    if _bare(host) not in allowed and not is_public(host, unknown=True):
        raise InputError("url", _NOT_PUBLIC.format(host))


def is_public(host: str, *, unknown: bool = False) -> bool:
    """Whether an address is one of the internet; of what is no address ``unknown``."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return unknown
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo or (0, None))[1]
        if address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
        return address in _PUBLIC_V6 and address.is_global
    return address.is_global and not (address.is_multicast or address.is_reserved)


def post(
    url: str, body: bytes, headers: Mapping[str, str], *, allowed: Collection[str] = ()
) -> tuple[int | None, str | None]:
    """Posts JSON; returns the status, if one came, and why the message is not acknowledged."""
    parts = urlsplit(url)
    about = {"Host": parts.netloc, "User-Agent": f"Rocktune/{version('rocktune')}", **headers}
    about |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
    request = h11.Request(
        method="POST",
        target=urlunsplit(("", "", parts.path or "/", parts.query, "")),
        headers=list(about.items()),
    )
    try:
        with _connected(parts, allowed) as plain, _secured(plain, parts) as stream:
            ends = time.monotonic() + ANSWER_SECONDS
            link = h11.Connection(h11.CLIENT)
            for part in (request, h11.Data(body), h11.EndOfMessage()):
                stream.sendall(link.send(part) or b"")
            while not isinstance(event := link.next_event(), h11.Response):
                # With a limit of each read the other side could send byte after byte for ever.
                if (left := ends - time.monotonic()) <= 0:
                    raise TimeoutError("timed out")
                stream.settimeout(left)
                if event is h11.NEED_DATA:
                    link.receive_data(stream.recv(4096))
    except (OSError, h11.ProtocolError, UnicodeError) as error:
        return None, printable(str(error))[:300] or type(error).__name__
    status = int(event.status_code)
    if 300 <= status < 400:
        return status, "redirects are not followed; give the final URL"
    return status, None if 200 <= status < 300 else "not acknowledged"


def _connected(parts: SplitResult, allowed: Collection[str]) -> socket.socket:
    """Connects to what the name means now: a moment later it may mean something else."""
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(address[0]) for *_, address in found))
    for each in addresses:
        if _bare(host) not in allowed and not is_public(each):
            raise OSError(_NOT_PUBLIC.format(each))
    *others, last = addresses[:_MOST_TRIED]
    for each in others:
        with suppress(OSError):
            return socket.create_connection((each, port), CONNECT_SECONDS)
    return socket.create_connection((last, port), CONNECT_SECONDS)


def _secured(plain: socket.socket, parts: SplitResult) -> socket.socket:
    plain.settimeout(ANSWER_SECONDS)
    if parts.scheme != "https":
        return plain
    return ssl.create_default_context().wrap_socket(plain, server_hostname=parts.hostname)


def _bare(host: str) -> str:
    return host.strip().strip("[]").rstrip(".").lower()
