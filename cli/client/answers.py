"""What a service answered: the document that was asked for, or one line of what went wrong.

Exception tree::

    ServiceError            the service failed, or another program answers; the exit status is 1
      UnavailableError      it may answer in a moment
        LostError           the request went out and no answer came back: it may have been done
    InputError              what was asked for is wrong; the exit status is 2
      NotFoundError         there is none
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from cli.render.screen import cleaned
from sampler.common.errors import InputError

if TYPE_CHECKING:
    from httpx2 import Response
    from pydantic import BaseModel

    Model = TypeVar("Model", bound=BaseModel)

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
    """The JSON of an answer.

    Raises:
        ServiceError: It is none.
    """
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
        f"{place} does not answer as Rocktune does (status {response.status_code}); "
        "check --url or ROCKTUNE_URL"
    )


def understood(model: type[Model], document: Any) -> Model:
    """The document as the interface describes it, fit to be shown.

    Raises:
        ServiceError: It is another one.
    """
    from pydantic import ValidationError

    try:
        return model.model_validate(cleaned(document))
    except (ValidationError, RecursionError):
        raise not_understood() from None


def not_understood() -> ServiceError:
    """The service said something unknown."""
    return ServiceError("the answer cannot be understood; is the service of another version?")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")
