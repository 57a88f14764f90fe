"""Where Rocktune is: a service at a URL, or the same application over a local database."""

import asyncio
import inspect
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import update_wrapper
from typing import Annotated, Any

import httpx2
from typer import Argument, Option

from cli.client.client_errors import Token
from cli.client.remote import Remote
from cli.options.connections import open_database, require_there
from db.access.token_file import place_of_token, read_token
from jobs.cluster.listening import is_loopback
from sampler.common.errors import InputError

Url = Annotated[str | None, Option(help="Service (http://host:8080). Default: ROCKTUNE_URL.")]
# Not that of `connections`: what was typed goes before ROCKTUNE_URL, and what is set as
# ROCKTUNE_DB after it.
Db = Annotated[
    str | None,
    Option(help="Instead of a service: a file or postgresql:// URL. Default: ROCKTUNE_DB."),
]
Json = Annotated[bool, Option("--json", help="Print the JSON document of the HTTP API.")]
JobId = Annotated[int, Argument(metavar="ID", help="Job number.", min=1)]

_CONNECT_SECONDS = 5.0
_ANSWER_SECONDS = 35.0  # the service itself gives up a statement after 30
_FORM = "write http://HOST:PORT or https://HOST"


@contextmanager
def opened(
    url: str | None, db: str | None, *, makes: bool = False, subject: str = "ID"
) -> Iterator[Remote]:
    """What was typed, else what is set as ROCKTUNE_URL or ROCKTUNE_DB, else the user's own file.

    A file that was typed must be there, unless the command ``makes`` it. Whatever cannot be used
    is an InputError. ``subject`` is the argument that names what is asked about.
    """
    if url is not None and db is not None:
        raise InputError("--url", "give either --url or --db")
    address, field = url, "--url"
    if url is None and db is None:
        address, field = os.environ.get("ROCKTUNE_URL") or None, "ROCKTUNE_URL"
    if address is None:
        if not makes:
            require_there(db)
        given = db if db is not None else os.environ.get("ROCKTUNE_DB") or None
        with _local(given, subject, typed=None if db is None else "--db") as remote:
            yield remote
        return
    checked = _checked(address, field)
    host, is_here = checked.host, is_loopback(checked.host)
    token = _token(is_here=is_here)
    with httpx2.Client(
        base_url=checked,
        headers={"Authorization": f"Bearer {token.text}"} if token else {},
        timeout=httpx2.Timeout(_ANSWER_SECONDS, connect=_CONNECT_SECONDS),
        # What is on this machine is not asked for through a proxy.
        mounts={f"all://{f'[{host}]' if ':' in host else host}": None} if is_here else {},
    ) as client:
        typed = None if url is None else field
        yield Remote(client, str(checked).rstrip("/"), subject, token=token, typed=typed)


def asking(subject: str = "ID") -> Callable[[Callable[..., int | None]], Any]:
    """Gives a command --url and --db, after its own options.

    Its first parameter receives what they name, which is open until the command ends; see
    ``opened`` for ``subject``.
    """

    def made(command: Callable[..., int | None]) -> Callable[..., int | None]:
        _, *own = inspect.signature(command, eval_str=True).parameters.values()

        def asks(*, url: Url = None, db: Db = None, **given: Any) -> int | None:
            with opened(url, db, subject=subject) as remote:
                return command(remote, **given)

        *places, _ = inspect.signature(asks).parameters.values()
        asks.__signature__ = inspect.Signature([*own, *places])  # type: ignore[attr-defined]
        return update_wrapper(asks, command)

    return made


@contextmanager
def _local(db: str | None, subject: str, *, typed: str | None) -> Iterator[Remote]:
    """The local database, asked as a service is."""
    from api.app import make_app
    from db.connection.engine import shown_url
    from jobs.queue.service_settings import configure_logs, load_service_settings

    # What goes wrong reaches the command as an exception; to log it too would tell it twice.
    configure_logs("error" if "ROCKTUNE_DEBUG" in os.environ else "critical")
    settings = load_service_settings()
    with open_database(db) as engine:
        app = make_app(engine, settings, trusted=True)
        with httpx2.Client(transport=_InProcess(app), base_url="http://localhost") as client:
            yield Remote(client, shown_url(engine.url), subject, is_local=True, typed=typed)


class _InProcess(httpx2.BaseTransport):
    """Hands each request to an application and waits for its answer."""

    def __init__(self, app: Any) -> None:
        self._transport = httpx2.ASGITransport(app)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        return asyncio.run(self._answer(request))

    async def _answer(self, request: httpx2.Request) -> httpx2.Response:
        answer = await self._transport.handle_async_request(request)
        content = await answer.aread()
        return httpx2.Response(answer.status_code, headers=answer.headers, content=content)


def _checked(given: str, field: str) -> httpx2.URL:
    """The address; what is wrong with it is told without it, for it may hold a password."""
    try:
        url = httpx2.URL(given.strip())
    except httpx2.InvalidURL:
        raise InputError(field, f"is not a URL; {_FORM}") from None
    if "@" in url.netloc.decode("ascii", "replace") or url.userinfo:
        raise InputError(field, "has a user name or a password; set a token in ROCKTUNE_TOKEN")
    if url.scheme not in ("http", "https") or not url.host:
        raise InputError(field, f"is not the URL of a service; {_FORM}")
    if url.query or url.fragment:
        raise InputError(field, f"has more than an address; {_FORM}")
    if url.port is not None and not 0 < url.port < 2**16:
        raise InputError(field, f"{url.port} is not a port; {_FORM}")
    return url


def _token(*, is_here: bool) -> Token | None:
    """The token that is set, else that of this machine's own server, which no other host is sent.

    Raises:
        InputError: What is set can be no token, or the file can be read by others.
    """
    token = os.environ.get("ROCKTUNE_TOKEN", "").strip()
    if any(not "!" <= each <= "~" for each in token):
        raise InputError("ROCKTUNE_TOKEN", "has characters that no token has; set it again")
    if token:
        return Token(token, "ROCKTUNE_TOKEN")
    path = place_of_token()
    kept = read_token(path) if is_here else None
    return Token(kept, str(path)) if kept else None


def require_service(url: str | None) -> None:
    """Refuses, with an InputError, to go on where no service is named."""
    if url is None and not os.environ.get("ROCKTUNE_URL"):
        raise InputError(
            "--url", "name a service, or set ROCKTUNE_URL; to tune here, use `rocktune tune`"
        )
