"""What a form of a page brings along; read only once it is proved to be one of ours."""

from collections.abc import Mapping
from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import Depends, Request

from api.auth.security import CallerDep, require_form_token
from api.http.problems import ProblemError

_MOST_FIELDS = 200
_MEDIA_TYPE = "application/x-www-form-urlencoded"
FORM_TOKEN = "form_token"


async def form_fields(request: Request) -> Mapping[str, str]:
    """The fields of a form as text, of one that comes twice the last; 400, 413, 415 for others."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = await request.body()
    if body and kind != _MEDIA_TYPE:
        raise ProblemError(415, f"send a form as {_MEDIA_TYPE}")
    try:
        # A browser sends line ends as CRLF.
        pairs = parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=_MOST_FIELDS,
        )
    except ValueError:
        raise ProblemError(400, "the form cannot be read") from None
    return {name: value.replace("\r\n", "\n") for name, value in pairs}


FieldsDep = Annotated[Mapping[str, str], Depends(form_fields)]


async def _proved(fields: FieldsDep, caller: CallerDep) -> Mapping[str, str]:
    require_form_token(caller, fields.get(FORM_TOKEN, ""))
    return {name: value for name, value in fields.items() if name != FORM_TOKEN}


FormDep = Annotated[Mapping[str, str], Depends(_proved)]
"""The fields of a form that brought the right token."""
