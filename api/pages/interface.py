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
class TypePart:
    """A piece of a line, and the name of the shape that it leads to, if any."""

    text: str
    shape: str | None = None


@dataclass(frozen=True)
class Field:
    """A parameter of a request, or a property of a shape."""

    name: str
    place: str  # path, query or header; empty of a property
    holds: Sequence[TypePart]  # what it may hold
    required: bool
    default: Any  # as JSON would write it; None where there is none worth telling
    text: str


def parameter(described: Schema) -> Field:
    """A parameter of a request, as OpenAPI 3.1 describes it."""
    schema, required = described.get("schema", {}), bool(described.get("required"))
    text = described.get("description", "")
    return _field(described["name"], schema, required, place=described["in"], text=text)


def properties(shape: Schema) -> list[Field]:
    """The properties of an object's schema, in their order."""
    own, required = shape.get("properties", {}), shape.get("required", ())
    return [_field(name, schema, name in required) for name, schema in own.items()]


def _field(name: str, schema: Schema, required: bool, *, place: str = "", text: str = "") -> Field:
    said = text or schema.get("description", "")
    return Field(name, place, list(holds(schema)), required, schema.get("default"), said)


def holds(schema: Schema) -> Iterator[TypePart]:
    """What a value may be: ``whole number from 1 to 20 or null``."""
    if "$ref" in schema:
        name = str(schema["$ref"]).removeprefix(_REFERENCE)
        yield TypePart(name, name)
    elif choices := schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"):
        for place, choice in enumerate(choices):
            if place:
                yield TypePart(" or ")
            yield from holds(choice)
    else:
        yield from _single(schema)


def _single(schema: Schema) -> Iterator[TypePart]:
    kind = schema.get("type")
    if "enum" in schema:
        yield TypePart(" or ".join(str(each) for each in schema["enum"]))
    elif "const" in schema:
        yield TypePart(str(schema["const"]))
    elif kind == "array":
        yield TypePart("list of ")
        yield from holds(schema.get("items", {}))
    elif kind == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        yield TypePart("object of ")
        yield from holds(schema["additionalProperties"])
    elif kind in ("integer", "number"):
        yield TypePart("whole number" if kind == "integer" else "number")
    else:
        yield TypePart(_FORMATS.get(schema.get("format", ""), _PLAIN.get(str(kind), "anything")))
    told = [words.format(_grouped(schema[name])) for name, words in _BOUNDS if name in schema]
    if told:
        yield TypePart(" " + " ".join(told))


def _grouped(bound: float) -> str:
    return f"{bound:,.0f}" if float(bound).is_integer() else f"{bound:g}"


router = APIRouter(include_in_schema=False)
_COMMON = ("401", "403", "422", "429", "503")  # what nearly every request may be answered


@router.get("/docs")
def interface_page(visit: Reader) -> Response:
    """All requests, and all shapes."""
    described = visit.request.app.openapi()
    requests = [
        (operation["tags"][0], f"{method.upper()} {path}", operation)
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
    ]
    tag = itemgetter(0)
    refusals = described["paths"]["/v1/jobs"]["get"]["responses"]
    return visit.page(
        "interface.html",
        groups=[(name, list(group)) for name, group in groupby(sorted(requests, key=tag), tag)],
        origin=str(visit.request.base_url).rstrip("/") + visit.service.settings.root_path,
        shapes=sorted(described["components"]["schemas"].items()),
        refusals={status: refusals[status]["description"] for status in _COMMON},
        holds=holds,
        parameters=lambda described: [parameter(each) for each in described],
        properties=properties,
    )
