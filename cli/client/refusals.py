"""From an answer that is no success to one line, in the words of the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from cli.client.answers import (
    NotFoundError,
    ServiceError,
    UnavailableError,
    document_of,
    no_rocktune,
)
from cli.render.screen import plain
from sampler.common.errors import InputError, refuse_noted

if TYPE_CHECKING:
    from httpx2 import Response

_AWAY = (502, 503, 504)
_NO_SUCH_PATH = "Not Found"
_NAMES = {"job_id": "ID", "baseline_options": "--baseline", "limits": "--limit",
          "body": "the request"}  # fmt: skip
_OPTIONS = frozenset(
    {"workload", "space", "objective", "strategy", "baseline", "trials", "minutes", "memory"}
    | {"scale", "seed", "samples", "top", "over", "generations", "fitness", "stop_early"}
    | {"cutoff", "detect", "priority", "state", "limit", "metric", "cron", "time_zone", "missed"}
    | {"weights", "model", "slo", "x", "y"}
    | {"start_from", "warm_start"}
    | {"confirm_scale", "db_bench", "host_kind", "drop_unknown"}
)


def refuse(response: Response, place: str, *, token: str | None) -> NoReturn:
    """Raises what an answer that is no success says.

    Args:
        response: The answer.
        place: Where it comes from.
        token: What was sent; it is shown nowhere.

    Raises:
        InputError: What was asked for is wrong.
        ServiceError: Anything else.
    """

    def said(text: Any) -> str:
        shown = plain(str(text))
        return shown.replace(token, "***") if token else shown

    status = response.status_code
    try:
        problem = document_of(response, place)
        detail = said(problem["detail"])
        errors = [(said(each["field"]), said(each["problem"])) for each in problem["errors"]]
    except (ServiceError, TypeError, LookupError):
        if status in _AWAY:
            raise UnavailableError(f"{place} does not answer now (status {status})") from None
        raise no_rocktune(response, place) from None
    if status == 401:
        mend = "set it to one that is valid" if token else "set it to a token of this service"
        raise InputError("ROCKTUNE_TOKEN", f"{detail}; {mend}")
    if status == 404 and detail == _NO_SUCH_PATH:
        raise no_rocktune(response, place)
    if status in (*_AWAY, 429):
        raise UnavailableError(f"{place}: {detail}{_when(response, detail)}")
    _refuse_request(status, detail, errors)
    raise ServiceError(f"{place}: {detail} (status {status})")


def _refuse_request(status: int, detail: str, errors: Sequence[tuple[str, str]]) -> None:
    """Raises what is wrong with the request, if that is it."""
    if status == 403:
        raise InputError("ROCKTUNE_TOKEN", detail)
    if status == 404:
        raise NotFoundError("ID", detail)
    if status == 409:
        raise InputError("ID", detail)
    if status == 422:
        refuse_noted([InputError(_as_given(field), problem) for field, problem in errors])
    if status in (413, 422):
        raise InputError("the request", detail)


def _when(response: Response, detail: str) -> str:
    seconds = response.headers.get("retry-after", "")
    if seconds.isdecimal() and seconds.isascii():
        return f" (in {seconds} s)" if detail.endswith("try again") else f"; again in {seconds} s"
    return ""


def _as_given(field: str) -> str:
    """A field of the interface as the terminal calls it."""
    first, _, rest = field.partition(".")
    if first in _NAMES:
        return _NAMES[first]
    if first not in _OPTIONS:
        return field
    return f"--{first.replace('_', '-')}{' ' if rest else ''}{rest}"
