"""Who may be listened to: nothing is reached from beyond this machine without TLS.

Whoever can speak to a Dask process can run code in it, so an open port is an open machine.
"""

import ipaddress
import socket
from urllib.parse import urlsplit

from sampler.common.errors import InputError

PORT = 8786
# Dask's HTTP servers listen on all interfaces unless told otherwise, even without a dashboard.
HTTP_ADDRESS = "127.0.0.1:0"
_MEND = "give --certificates DIR (`rocktune cluster certificates DIR` creates them)"


def is_loopback(host: str) -> bool:
    """Whether a host is this machine and nobody else can reach it.

    A name other than ``localhost`` is not: what it means is decided elsewhere.
    """
    if host == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


def listening_host(host: str, *, encrypted: bool, field: str = "host") -> str:
    """The host to listen on, as an address where it is loopback.

    Without certificates (``encrypted``) what other machines reach is an InputError.
    """
    bare = host.removeprefix("[").removesuffix("]")
    if not bare:
        raise InputError(field, "give an address, such as 127.0.0.1, or 0.0.0.0 for all")
    if not encrypted and not is_loopback(bare):
        raise InputError(field, f"{host!r} is reachable from other machines; {_MEND}")
    return "127.0.0.1" if bare == "localhost" else bare


def scheduler_address(text: str, *, encrypted: bool) -> str:
    """The address of a scheduler as Dask takes it: ``tls://host:port`` or ``tcp://host:port``.

    Given as ``host``, ``host:port``, or either after ``tls://`` or ``tcp://``; the port is 8786
    unless it is named. ``encrypted``: whether there are certificates, with which the protocol must
    go. Any other is an InputError.
    """
    protocol = "tls" if encrypted else "tcp"
    given, separator, rest = text.rpartition("://")
    try:
        parts = urlsplit(f"//{rest}")
        host, port = parts.hostname, parts.port or PORT
    except ValueError:
        host = None
    if not host or parts.netloc != rest or given not in ("", "tls", "tcp"):
        raise InputError(
            "scheduler", f"{text!r} is not an address; write tls://scheduler.example:{PORT}"
        )
    if separator and given != protocol:
        mend = "write tls://" if encrypted else _MEND
        raise InputError("scheduler", f"{text!r} does not use the certificates; {mend}")
    if not encrypted and not is_loopback(host):
        raise InputError("scheduler", f"{text!r} is another machine; {_MEND}")
    return f"{protocol}://[{host}]:{port}" if ":" in host else f"{protocol}://{host}:{port}"


def facing(scheduler: str) -> str:
    """The address of this machine that a scheduler sees: where a host listens unless told.

    Dask would listen on all interfaces. Nothing is sent to find it. An InputError if no way leads
    there.
    """
    parts = urlsplit(scheduler)
    try:
        family, kind, _, _, address = socket.getaddrinfo(
            parts.hostname, parts.port, type=socket.SOCK_DGRAM
        )[0]
        with socket.socket(family, kind) as asked:
            asked.connect(address)
            return str(asked.getsockname()[0])
    except OSError as error:
        why = error.strerror or str(error)
        raise InputError("scheduler", f"cannot reach {scheduler!r}: {why}") from None
