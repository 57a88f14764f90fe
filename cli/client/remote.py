"""Asking a service over HTTP, whether it is far away or in this process."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import quote

import httpx2
from httpx2 import Client, Response

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
from sampler.common.errors import InputError
from sampler.common.untrusted_text import printable

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
