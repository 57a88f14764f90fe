"""The interface under ``/v1`` described for a person, out of its own OpenAPI description."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Annotated, Any

from fastapi import APIRouter, Request, Response

from api.auth.security import Caller, page_requires
from api.pages.page import page
from db.access.tokens import Role

Schema = Mapping[str, Any]
_REFERENCE = "#/components/schemas/"
_PLAIN = {"string": "text", "boolean": "true or false", "null": "null", "object": "object"}
_FORMATS = {"date-time": "time (ISO 8601)", "binary": "file"}
_BOUNDS = (
    ("minimum", "from {}"), ("ge", "from {}"), ("exclusiveMinimum", "above {}"),
    ("maximum", "to {}"), ("le", "to {}"), ("exclusiveMaximum", "below {}"),
    ("maxLength", "at most {} characters"), ("maxItems", "at most {}"),
)  # fmt: skip


@dataclass(frozen=True)
class Word:
    """A piece of a line.

    Attributes:
        text: What is read.
        shape: The name of the shape that it leads to; None: it leads nowhere.
    """

    text: str
    shape: str | None = None


@dataclass(frozen=True)
class Field:
    """A parameter of a request, or a property of a shape.

    Attributes:
        place: path, query or header; empty of a property.
        holds: What it may hold.
        default: As JSON would write it; None where there is none worth telling.
    """

    name: str
    place: str
    holds: Sequence[Word]
    required: bool
    default: Any
    text: str


def parameter(described: Schema) -> Field:
    """A parameter of a request, as OpenAPI 3.1 describes it."""
    schema = described.get("schema", {})
    return Field(
        name=described["name"],
        place=described["in"],
        holds=list(holds(schema)),
        required=bool(described.get("required")),
        default=schema.get("default"),
        text=described.get("description") or schema.get("description", ""),
    )


def properties(shape: Schema) -> list[Field]:
    """The properties of an object's schema, in their order."""
    required = shape.get("required", ())
    return [
        Field(
            name=name,
            place="",
            holds=list(holds(schema)),
            required=name in required,
            default=schema.get("default"),
            text=schema.get("description", ""),
        )
        for name, schema in shape.get("properties", {}).items()
    ]


def holds(schema: Schema) -> Iterator[Word]:
    """What a value may be: ``whole number from 1 to 20 or null``."""
    if "$ref" in schema:
        name = str(schema["$ref"]).removeprefix(_REFERENCE)
        yield Word(name, name)
        return
    choices = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf")
    if choices:
        for place, choice in enumerate(choices):
            if place:
                yield Word(" or ")
            yield from holds(choice)
        return
    yield from _single(schema)


def _single(schema: Schema) -> Iterator[Word]:
    kind = schema.get("type")
    if "enum" in schema:
        yield Word(" or ".join(str(each) for each in schema["enum"]))
    elif "const" in schema:
        yield Word(str(schema["const"]))
    elif kind == "array":
        yield Word("list of ")
        yield from holds(schema.get("items", {}))
    elif kind == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        yield Word("object of ")
        yield from holds(schema["additionalProperties"])
    elif kind in ("integer", "number"):
        yield Word("whole number" if kind == "integer" else "number")
    else:
        yield Word(_FORMATS.get(schema.get("format", ""), _PLAIN.get(str(kind), "anything")))
    told = [words.format(_grouped(schema[name])) for name, words in _BOUNDS if name in schema]
    if told:
        yield Word(" " + " ".join(told))


def _grouped(bound: float) -> str:
    return f"{bound:,.0f}" if float(bound).is_integer() else f"{bound:g}"


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
class NamedSchema:
    """A named shape of a document."""

    name: str
    text: str
    fields: Sequence[Field]
    holds: Sequence[Word]


@router.get("/docs")
def interface_page(
    request: Request, caller: Annotated[Caller, page_requires(Role.READ)]
) -> Response:
    """All requests, and all shapes."""
    described = request.app.openapi()
    by_tag = groupby(sorted(operations(described), key=lambda each: each.tag), lambda o: o.tag)
    refusals = described["paths"]["/v1/jobs"]["get"]["responses"]
    return page(
        request,
        "interface.html",
        caller=caller,
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


def shapes(described: Mapping[str, Any]) -> Iterator[NamedSchema]:
    """The named shapes of an OpenAPI 3.1 description, by name."""
    for name, schema in sorted(described["components"]["schemas"].items()):
        own = properties(schema)
        yield NamedSchema(
            name, schema.get("description", ""), own, [] if own else list(holds(schema))
        )


def _when(status: str, text: str) -> str:
    return "It was done" if text == "Successful Response" and status.startswith("2") else text


def _media(document: Mapping[str, Any]) -> list[tuple[str, Sequence[Word]]]:
    found = document.get("content", {}).items()
    return [(kind, list(holds(each.get("schema", {})))) for kind, each in found]
