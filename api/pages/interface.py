"""The interface under ``/v1`` described for a person, out of its own OpenAPI description."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

from fastapi import APIRouter, Response

from api.pages.page import Reader

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
    """A piece of a line, and the name of the shape that it leads to, if any."""

    text: str
    shape: str | None = None


@dataclass(frozen=True)
class Field:
    """A parameter of a request, or a property of a shape."""

    name: str
    place: str  # path, query or header; empty of a property
    holds: Sequence[Word]  # what it may hold
    required: bool
    default: Any  # as JSON would write it; None where there is none worth telling
    text: str


def parameter(described: Schema) -> Field:
    """A parameter of a request, as OpenAPI 3.1 describes it."""
    name, place, text = described["name"], described["in"], described.get("description", "")
    required = bool(described.get("required"))
    return _field(name, described.get("schema", {}), required=required, place=place, text=text)


def properties(shape: Schema) -> list[Field]:
    """The properties of an object's schema, in their order."""
    required = shape.get("required", ())
    return [
        _field(name, schema, required=name in required)
        for name, schema in shape.get("properties", {}).items()
    ]


def _field(name: str, schema: Schema, *, required: bool, place: str = "", text: str = "") -> Field:
    said = text or schema.get("description", "")
    return Field(name, place, list(holds(schema)), required, schema.get("default"), said)


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
_TAG = itemgetter("tag")
_COMMON = ("401", "403", "422", "429", "503")  # what nearly every request may be answered


@router.get("/docs")
def interface_page(visit: Reader) -> Response:
    """All requests, and all shapes."""
    described = visit.request.app.openapi()
    by_tag = groupby(sorted(_operations(described), key=_TAG), _TAG)
    refusals = described["paths"]["/v1/jobs"]["get"]["responses"]
    return visit.page(
        "interface.html",
        groups=[(tag, list(group)) for tag, group in by_tag],
        origin=str(visit.request.base_url).rstrip("/"),
        shapes=list(_shapes(described)),
        refusals=[(status, refusals[status]["description"]) for status in _COMMON],
    )


def _operations(described: Schema) -> Iterator[dict[str, Any]]:
    """The requests of an OpenAPI 3.1 description, in its order; not the common refusals."""
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            yield {
                "id": operation["operationId"],
                "tag": operation["tags"][0],
                "method": method.upper(),
                "path": path,
                "text": operation.get("description", ""),
                "summary": operation["summary"],
                "token": bool(operation.get("security")),
                "fields": [parameter(each) for each in operation.get("parameters", ())],
                "body": _media(operation.get("requestBody", {})),
                "answers": [
                    (status, _when(status, answer["description"]), _media(answer))
                    for status, answer in sorted(operation["responses"].items())
                    if status not in _COMMON
                ],
            }


def _shapes(described: Schema) -> Iterator[tuple[str, str, list[Field], list[Word]]]:
    """The named shapes of an OpenAPI 3.1 description: name, text, fields, else what it holds."""
    for name, schema in sorted(described["components"]["schemas"].items()):
        own = properties(schema)
        yield name, schema.get("description", ""), own, [] if own else list(holds(schema))


def _when(status: str, text: str) -> str:
    return "It was done" if text == "Successful Response" and status.startswith("2") else text


def _media(document: Schema) -> list[tuple[str, list[Word]]]:
    """Each media type with what it holds."""
    found = document.get("content", {}).items()
    return [(kind, list(holds(each.get("schema", {})))) for kind, each in found]
