"""From what a service answered to its document, or to one line of what went wrong.

Exception tree::

    ServiceError            the service failed, or another program answers; the exit status is 1
      UnavailableError      it may answer in a moment
        LostError           the request went out and no answer came back: it may have been done
    InputError              what was asked for is wrong; the exit status is 2
      NotFoundError         there is none
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from sampler.common.errors import InputError, refuse_noted
from sampler.common.text import cleaned, printable

if TYPE_CHECKING:  # `rocktune --help` loads this module, and neither of them
    from httpx2 import Response


@dataclass(frozen=True)
class Token:
    """Who asks."""

    text: str  # the token itself; it is shown nowhere
    source: str  # what it was read from: a variable or a file


Kind = TypeVar("Kind")
_JSON = ("application/json", "application/problem+json")


class ServiceError(RuntimeError):
    """The service failed, or something else answers; told in one line."""


class UnavailableError(ServiceError):
    """The service does not answer now, and may in a moment."""


class LostError(UnavailableError):
    """The request went out and no answer came back."""


class NotFoundError(InputError):
    """There is none."""


def document_of(response: Response, place: str) -> Any:
    """The JSON of an answer; a ServiceError if it is none."""
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind in _JSON:
        try:
            return json.loads(response.content, parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            pass
    raise no_rocktune(response, place)


def no_rocktune(response: Response, place: str) -> ServiceError:
    """Something else answers there."""
    return ServiceError(
        f"{place} is not a Rocktune service (status {response.status_code}); check --url or "
        "ROCKTUNE_URL"
    )


def understood(kind: type[Kind], document: Any) -> Kind:
    """The document as the interface describes it, fit to be shown; else a ServiceError."""
    from pydantic import TypeAdapter

    try:
        return TypeAdapter(kind).validate_python(cleaned(document))
    except (ValueError, RecursionError):  # pydantic's ValidationError is a ValueError
        raise not_understood() from None


def not_understood() -> ServiceError:
    """The service said something unknown."""
    return ServiceError("cannot read the answer; the service may have another version")


@contextmanager
def understanding() -> Iterator[None]:
    """Within, what cannot be made of a document is a ServiceError: the fault of who sent it."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError):
        raise not_understood() from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_AWAY = (502, 503, 504)
_WRONG = {403: "ROCKTUNE_TOKEN", 413: "the request", 422: "the request"}
_NO_SUCH_PATH = "Not Found"


def refuse(response: Response, place: str, token: Token | None, subject: str) -> NoReturn:
    """Raises what an answer that is no success says, and never the token that was sent.

    An InputError where what was asked for is wrong, else a ServiceError. ``subject`` is what the
    terminal calls that which is asked about.
    """

    def said(text: Any) -> str:
        shown = printable(str(text))
        return shown.replace(token.text, "***") if token else shown

    status = response.status_code
    try:
        problem = document_of(response, place)
        detail = said(problem["detail"])
        errors = [(said(each["field"]), said(each["problem"])) for each in problem["errors"]]
    except (ServiceError, TypeError, LookupError):
        if status in _AWAY:
            raise UnavailableError(f"{place} is unavailable (status {status})") from None
        raise no_rocktune(response, place) from None
    if status == 401:
        mend = "set it to a valid token" if token else "set it to a token of this service"
        if token and token.source != "ROCKTUNE_TOKEN":
            mend = f"the token in {token.source} is for another service; {mend}"
        raise InputError("ROCKTUNE_TOKEN", f"{detail}; {mend}")
    if status == 404 and detail == _NO_SUCH_PATH:
        raise no_rocktune(response, place)
    if status in (*_AWAY, 429):
        raise UnavailableError(f"{place}: {detail}{_when(response, detail)}")
    if status == 404:
        raise NotFoundError(errors[0][0] if errors else subject, detail)
    if status == 422:
        refuse_noted(
            [InputError("the request" if f == "body" else f, problem) for f, problem in errors]
        )
    if status == 409 or status in _WRONG:
        raise InputError(_WRONG.get(status, subject), detail)
    raise ServiceError(f"{place}: {detail} (status {status})")


def _when(response: Response, detail: str) -> str:
    seconds = response.headers.get("retry-after", "")
    if seconds.isdecimal() and seconds.isascii():
        return f" (in {seconds} s)" if detail.endswith("try again") else f"; again in {seconds} s"
    return ""
