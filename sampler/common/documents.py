"""Documents that users write: TOML files of spaces, workloads and objectives."""

import csv
import json
import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from sampler.common.errors import InputError, InputErrors, value_problem

T = TypeVar("T")
Text = Annotated[str, Field(strict=True, min_length=1)]
_UNKNOWN = "unexpected_keyword_argument"
Switch = Annotated[bool, Field(strict=True)]
Finite = Annotated[float, Field(strict=True, allow_inf_nan=False)]

# What means something is nested three deep; what is nested a thousand deep cannot even be shown.
_MOST_DEPTH = 16
# A key that reaches deeper, by dots: tomllib takes minutes for one of 64 kB.
_PART = r"""(?:[\w-]+|"[^"\n]*"|'[^'\n]*')"""
_DEEP_KEY = re.compile(rf"""(?<![\w.'"-]){_PART}(?:[ \t]*\.[ \t]*{_PART}){{{_MOST_DEPTH}}}""")
_MOST_BITS = 10_000  # more could not be shown, and are written in hexadecimal alone


def parse_toml(text: str, *, field: str) -> dict[str, Any]:
    """Parses TOML.

    Raises:
        InputError: It is not TOML, is nested more than 16 deep, or holds a number that cannot be
            shown.
    """
    too_deep = f"is nested more than {_MOST_DEPTH} levels deep"
    if _DEEP_KEY.search(text):
        raise InputError(field, too_deep)
    try:
        document = tomllib.loads(text)
    except RecursionError:
        raise InputError(field, too_deep) from None
    except ValueError as error:  # a number of thousands of digits is no TOMLDecodeError
        raise InputError(field, f"is not TOML: {error}") from None
    level: list[Any] = [document]
    for _ in range(_MOST_DEPTH):
        inside: list[Any] = []
        for each in level:
            inside += each.values() if isinstance(each, dict) else each
        if any(isinstance(each, int) and each.bit_length() > _MOST_BITS for each in inside):
            raise InputError(field, "contains a number that is too large")
        level = [each for each in inside if isinstance(each, dict | list)]
    if level:
        raise InputError(field, too_deep)
    return document


def read_document(
    kind: TypeAdapter[T],
    document: Mapping[str, Any],
    where: str,
    also: Iterable[str] = (),
    *,
    toml: bool = True,
) -> T:
    """Reads a parsed document into the class whose fields declare what it may hold.

    ``where`` is the name of the document. A check of the class may raise an InputError, whose
    field is within what is checked; an empty one is that itself. ``also`` are further fields that
    the document may have, for the message about an unknown one. The description of a field that
    must be there (``Field(description=...)``) says what to write where it is missing. ``toml``:
    whether its objects are tables of TOML, whose brackets are then named.

    Raises:
        InputError: A field is unknown, missing, of the wrong type or out of range.
        InputErrors: Several are.
    """
    try:
        return kind.validate_python(document)
    except ValidationError as error:
        # An unknown field may be a missing one with a slip of the pen, so it is named first.
        wrong = sorted(error.errors(), key=lambda each: each["type"] != _UNKNOWN)
        found = [each for one in wrong for each in _findings(kind, one, where, also, toml=toml)]
    raise InputErrors(found) if len(found) > 1 else found[0]


def _findings(
    kind: TypeAdapter[Any], error: Any, where: str, also: Iterable[str], *, toml: bool
) -> Iterator[InputError]:
    """One of pydantic's errors as what is wrong with a field, or with several."""
    place, problem = list(error["loc"]), value_problem(error)
    cause = error.get("ctx", {}).get("error")
    if isinstance(cause, InputError) and cause.field:
        for each in cause.errors if isinstance(cause, InputErrors) else (cause,):
            yield InputError(_named(where, [*place, each.field]), each.problem)
        return
    if isinstance(cause, InputError):
        problem = cause.problem
    if error["type"] == "missing":
        about = _table_at(kind, place[:-1])["properties"].get(place[-1], {}).get("description")
        problem = f"is missing; write {about}" if about else problem
    if error["type"] == _UNKNOWN:
        known = {*_table_at(kind, place[:-1])["properties"], *(() if place[1:] else also)}
        problem = f"is unknown; use one of {', '.join(sorted(known))}"
    # Of a wrong entry the list is named: the problem shows the entry itself.
    is_entry = toml and bool(place) and isinstance(place[-1], int)
    place = place[:-1] if is_entry else place
    if toml and error["type"] in ("dataclass_type", "dict_type"):
        problem = f"write [[{place[-1]}]] tables" if is_entry else f"write a table [{place[-1]}]"
    yield InputError(_named(where, place), problem)


def _named(where: str, place: Sequence[Any]) -> str:
    """A place in a document as errors name it: ``objective.metric[1].weight``."""
    parts = (f"[{each + 1}]" if isinstance(each, int) else f".{each}" for each in place)
    return where + "".join(parts)


def _table_at(kind: TypeAdapter[Any], place: Sequence[Any]) -> dict[str, Any]:
    """The JSON schema of a table of a document; ``properties`` are the fields that it may have."""
    whole = kind.json_schema()
    schema = whole
    for each in (None, *place):
        if each is not None:
            named = {} if isinstance(each, int) else schema.get("properties", {})
            inner = "items" if isinstance(each, int) else "additionalProperties"
            schema = named[each] if each in named else schema[inner]
        schema = next((s for s in schema.get("anyOf", ()) if "$ref" in s), schema)
        schema = whole["$defs"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    return dict(schema)


def names_a_file(given: str | Path) -> bool:
    """Whether a file of this name is there; what cannot be a name, as too long a text, is none."""
    try:
        return Path(given).is_file()
    except (OSError, ValueError):
        return False


def finite_number(given: object) -> float | None:
    """A number of a document as a float; None: it is none, not finite, or no float can hold it."""
    if isinstance(given, bool) or not isinstance(given, int | float):
        return None
    try:
        number = float(given)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def find_document(given: str, *, kind: str, shipped: tuple[str, ...], package: str) -> str:
    """The TOML text of a shipped space, workload or objective, or of a user's file.

    The shipped ones are in the folder of the room ``package`` that is called so, in plural.

    Raises:
        InputError: Neither.
    """
    if given in shipped:
        file = files(package).joinpath(f"{kind}s", f"{given}.toml")
        return file.read_text(encoding="utf-8")
    path = Path(given)
    if path.suffix == ".toml" or names_a_file(path):
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise InputError(kind, f"cannot read {given!r}: {reason}") from None
    names = ", ".join(shipped)
    raise InputError(kind, f"{given!r} is not one of {names} or a TOML file")


def packaged_rows(package: str, name: str) -> Iterator[dict[str, str]]:
    """The rows of a CSV file that a package brings, by column."""
    text = files(package).joinpath(name).read_text(encoding="utf-8")
    return csv.DictReader(text.splitlines())


def toml_text(document: Mapping[str, Any], notes: Mapping[str, str] | None = None) -> str:
    """A document of plain values and tables as TOML; ``parse_toml`` reads the same.

    ``notes`` are comments by field, each above it.
    """
    notes = notes or {}

    def lines(table: Mapping[str, Any], title: str) -> Iterator[str]:
        inner = {name: value for name, value in table.items() if isinstance(value, Mapping)}
        for name, value in table.items():
            if name not in inner:
                yield from [f"# {notes[name]}"] if not title and name in notes else []
                # JSON's texts are TOML's, but for one control character.
                text = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
                yield f"{name} = {text}"
        for name, value in inner.items():
            whole = f"{title}.{name}" if title else name
            yield from ["", *([f"# {notes[whole]}"] if whole in notes else []), f"[{whole}]"]
            yield from lines(value, whole)

    return "\n".join(lines(document, "")) + "\n"
