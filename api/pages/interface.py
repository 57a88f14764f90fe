"""The interface under ``/v1`` described for a person, out of its own OpenAPI description."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from fastapi import APIRouter, Request, Response

from api.pages.page import page
from api.pages.schema_words import Field, Word, holds, parameter, properties

router = APIRouter(include_in_schema=False)
_COMMON = ("401", "403", "422", "429", "503")  # what nearly every request may be answered


@dataclass(frozen=True)
class Answer:
    """What may come back.

    Attributes:
        status: Of HTTP.
        text: When.
        media: Each media type with what it holds.
    """

    status: str
    text: str
    media: Sequence[tuple[str, Sequence[Word]]]


@dataclass(frozen=True)
class Operation:
    """A request that can be made.

    Attributes:
        id: Unique in the page.
        token: Whether it needs one, where any do.
        body: Each media type of the request's body with what it holds.
        answers: All but the common refusals.
    """

    id: str
    tag: str
    method: str
    path: str
    summary: str
    text: str
    token: bool
    fields: Sequence[Field]
    body: Sequence[tuple[str, Sequence[Word]]]
    answers: Sequence[Answer]


@dataclass(frozen=True)
class Shape:
    """A named shape of a document."""

    name: str
    text: str
    fields: Sequence[Field]
    holds: Sequence[Word]


@router.get("/docs")
def interface_page(request: Request) -> Response:
    """All requests, and all shapes; who asks need not have logged in."""
    described = request.app.openapi()
    by_tag = groupby(sorted(operations(described), key=lambda each: each.tag), lambda o: o.tag)
    refusals = described["paths"]["/v1/jobs"]["get"]["responses"]
    return page(
        request,
        "interface.html",
        caller=None,
        groups=[(tag, list(group)) for tag, group in by_tag],
        origin=str(request.base_url).rstrip("/"),
        shapes=list(shapes(described)),
        refusals=[(status, refusals[status]["description"]) for status in _COMMON],
    )


def operations(described: Mapping[str, Any]) -> Iterator[Operation]:
    """The requests of an OpenAPI 3.1 description, in its order."""
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            yield Operation(
                id=operation["operationId"],
                tag=operation["tags"][0],
                method=method.upper(),
                path=path,
                summary=operation["summary"],
                text=operation.get("description", ""),
                token=bool(operation.get("security")),
                fields=[parameter(each) for each in operation.get("parameters", ())],
                body=_media(operation.get("requestBody", {})),
                answers=[
                    Answer(status, _when(status, answer["description"]), _media(answer))
                    for status, answer in sorted(operation["responses"].items())
                    if status not in _COMMON
                ],
            )


def shapes(described: Mapping[str, Any]) -> Iterator[Shape]:
    """The named shapes of an OpenAPI 3.1 description, by name."""
    for name, schema in sorted(described["components"]["schemas"].items()):
        own = properties(schema)
        yield Shape(name, schema.get("description", ""), own, [] if own else list(holds(schema)))


def _when(status: str, text: str) -> str:
    return "It was done" if text == "Successful Response" and status.startswith("2") else text


def _media(document: Mapping[str, Any]) -> list[tuple[str, Sequence[Word]]]:
    found = document.get("content", {}).items()
    return [(kind, list(holds(each.get("schema", {})))) for kind, each in found]
