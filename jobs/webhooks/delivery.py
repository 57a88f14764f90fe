"""Delivering what webhooks are told: a thread of the leading worker does, beside the jobs.

A request leads to public addresses and to hosts that the operator has named. Redirects are not
followed, no proxy is asked, and of the answer nothing but the status is read.
"""

import ipaddress
import json
import random
import socket
import ssl
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from importlib.metadata import version
from urllib.parse import SplitResult, urlsplit, urlunsplit

import h11
import structlog
from sqlalchemy import Engine

from db.connection.transactions import present
from db.webhooks import Delivery, Webhook, begin_attempt, end_attempt, next_delivery
from jobs.queue.service_settings import ServiceSettings
from jobs.webhooks.message import message, signed_headers
from sampler.common.errors import InputError
from sampler.common.untrusted_text import printable

FIRST_SECONDS, LONGEST_SECONDS = 10.0, 3600.0  # between two attempts
_CLAIM = timedelta(minutes=2)  # longer than any attempt takes
_log = structlog.get_logger("webhooks")
CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 10.0  # from the connection to the status of the answer
_MOST_URL = 2000
_MOST_TRIED = 3  # addresses of a name
_PUBLIC_V6 = ipaddress.IPv6Network("2000::/3")
_NOT_PUBLIC = (
    "{} is not a public address; the operator can name its host in ROCKTUNE_WEBHOOK_ALLOW"
)
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")  # RFC 6052: its last 32 bits are an IPv4 address


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
        raise InputError("url", f"is {len(url)} characters long; {_MOST_URL} are the most")
    if "@" in parts.netloc or parts.fragment:
        raise InputError("url", "holds a name, a password or a fragment (#); leave it out")
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
        return status, "redirects are not followed; give the URL that it leads to"
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
