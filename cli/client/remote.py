"""A service over HTTP: far away at a URL, or the same application over a local database."""

import asyncio
import inspect
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import update_wrapper
from typing import Annotated, Any
from urllib.parse import quote

import httpx2
from httpx2 import Client, Response
from typer import Argument, Option

from cli.client.client_errors import (
    Kind,
    LostError,
    ServiceError,
    Token,
    UnavailableError,
    document_of,
    no_rocktune,
    not_understood,
    refuse,
    understood,
)
from cli.options.connections import open_database, require_there
from db.access.tokens import place_of_token, read_token
from jobs.cluster.listening import is_loopback
from sampler.common.errors import InputError
from sampler.common.text import printable

_CREATED = 201
Asked = str | int | Sequence[str] | None  # a list is the same name again and again


class Remote:
    """A service that can be asked, at paths below ``/v1``; what is None is not asked for.

    Every question may raise ``InputError``, what was asked for is wrong, or ``ServiceError``, no
    answer that can be used.

    Attributes:
        is_local: Whether it is the application in this process.
        typed: The option that named it, ``--url`` or ``--db``; None: neither was given.
    """

    def __init__(
        self,
        client: Client,
        place: str,
        subject: str,
        *,
        token: Token | None = None,
        is_local: bool = False,
        typed: str | None = None,
    ) -> None:
        """``place`` and ``subject``: what messages call it, and that which is asked about.

        ``token`` is the one that the client sends, if any.
        """
        self._client, self._place, self._subject = client, place, subject
        self._token, self.is_local, self.typed = token, is_local, typed
        self._uploaded: list[str] = []  # workloads that were not there before

    def get(self, path: str, /, **query: Asked) -> Any:
        """The document at a path."""
        return document_of(self._get(path, query), self._place)

    def told(self, kind: type[Kind], path: str, /, **query: Asked) -> tuple[Kind, Any]:
        """What is at a path: of a kind fit to be shown, and as it came."""
        document = self.get(path, **query)
        return understood(kind, document), document

    def file(self, path: str, kind: str, /, **query: Asked) -> Response:
        """The file at a path, of a kind of content as ``text/plain``."""
        response = self._get(path, query)
        if not response.headers.get("content-type", "").startswith(kind):
            raise no_rocktune(response, self._place)
        return response

    def post(self, path: str, body: Any = None, *, key: str | None = None) -> Any:
        """Asks for a change, once, or once under a key, however often; the answer's document."""
        headers = {"Idempotency-Key": key} if key else {}
        return document_of(self._ask("POST", path, json=body, headers=headers), self._place)

    def upload(
        self,
        workload: Mapping[str, Any],
        *,
        replace: bool = False,
        field: str = "--workload",
        **beside: Any,
    ) -> str:
        """Sends the document of a workload; its name, by which the service then knows it.

        ``beside`` is what else is known of it, and an error of the name is told of ``field``.
        """
        query = "?replace=true" if replace else ""
        body = {"workload": workload, **beside}
        try:
            response = self._ask("POST", f"workloads{query}", json=body)
            name = str(document_of(response, self._place)["name"])
            self._uploaded += [name] if response.status_code == _CREATED else []
            return name
        except InputError as error:
            if error.field != self._subject:
                raise
            raise InputError(field, f"{error.problem} (--replace)") from None
        except (KeyError, TypeError):
            raise not_understood() from None

    @contextmanager
    def unless_refused(self) -> Iterator[None]:
        """Within, workloads are uploaded for what is then asked for.

        Where that is refused, those that were not there before are deleted again. Where no answer
        came they stay: it may have been taken.
        """
        self._uploaded.clear()
        try:
            yield
        except LostError:
            raise
        except (InputError, ServiceError):
            for name in self._uploaded:
                with suppress(InputError, ServiceError):
                    self.delete(f"workloads/{quote(name, safe='')}")
            raise

    def delete(self, path: str) -> None:
        """Deletes what is at a path."""
        self._ask("DELETE", path)

    def _get(self, path: str, query: Mapping[str, Asked]) -> Response:
        asked = {name: value for name, value in query.items() if value is not None}
        try:
            return self._ask("GET", path, params=asked)
        except LostError:
            # A connection that is kept may be closed by the server just when it is used again.
            return self._ask("GET", path, params=asked)

    def _ask(self, method: str, path: str, **more: Any) -> Response:
        try:
            response = self._client.request(method, f"v1/{path}", **more)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError) as error:
            reason = _reason(error) or "connection timed out"
            raise UnavailableError(f"cannot reach {self._place}: {reason}") from None
        except httpx2.TimeoutException:
            raise LostError(f"{self._place} did not answer in time") from None
        except (httpx2.NetworkError, httpx2.RemoteProtocolError) as error:
            reason = _reason(error) or "the connection was lost"
            raise LostError(f"{self._place} did not answer: {reason}") from None
        except httpx2.HTTPError as error:
            raise ServiceError(f"{self._place}: {_reason(error)}") from None
        if not response.is_success:
            refuse(response, self._place, self._token, self._subject)
        return response


def _reason(error: Exception) -> str:
    """What the system says, without its number."""
    return re.sub(r"^\[Errno -?\d+\] ", "", printable(str(error))).rstrip(".")


def require_json(field: str, value: object) -> None:
    """Refuses, with an InputError, dates and infinities: TOML knows them and JSON does not."""
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        raise InputError(field, "nan and inf cannot be sent over HTTP") from None
    except TypeError:
        raise InputError(field, "has a date or a time; write it as text") from None


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
