"""A JSON schema in words: what a field may hold, in one line, with links to named shapes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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
