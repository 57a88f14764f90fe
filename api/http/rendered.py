"""Large pages as bytes: what is read from the database is sound and need not be checked again."""

from __future__ import annotations

from fastapi import Response
from pydantic import BaseModel
from pydantic_core import to_json


def rendered(page: BaseModel | dict[str, object], response: Response) -> Response:
    """The page as JSON, with the headers that were set on the way."""
    body = page.model_dump_json() if isinstance(page, BaseModel) else to_json(page)
    kept = {name: value for name, value in response.headers.items() if name != "content-length"}
    return Response(body, media_type="application/json", headers=kept)
