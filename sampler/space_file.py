"""Spaces as TOML: the shipped ones by name, and the user's own.

A ``[[parameter]]`` that the catalogue knows may override any of its fields; one that it does not
know is described whole and goes to the user's own benchmark.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

from sampler.catalogue import catalogue
from sampler.errors import InputError
from sampler.parameter import Condition, Kind, Parameter, Value, parse_value
from sampler.space import Space, default_values

SHIPPED = ("default", "paper", "universal", "blob", "all")
_SPACE_FIELDS = {"name", "help", "baseline", "memory_budget", "fixed", "parameter"}
_PARAMETER_FIELDS = {
    "name", "type", "low", "high", "log", "choices", "default", "special", "quantum",
    "searched", "help", "active_if",
}  # fmt: skip
_KINDS = ("int", "float", "bool", "cat")


def read_document(text: str, *, field: str) -> dict[str, Any]:
    """Parses TOML.

    Raises:
        InputError: It is not TOML.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(field, f"is not TOML: {error}") from None


def shipped_text(name: str) -> str:
    """The TOML text of a shipped space."""
    return files("sampler").joinpath("spaces", f"{name}.toml").read_text(encoding="utf-8")


def find_document(given: str, *, kind: str, shipped: tuple[str, ...], package: str) -> str:
    """The TOML text of a shipped entry or of a user's file.

    Args:
        given: A shipped name, or the path of a TOML file.
        kind: ``space``, ``workload`` or ``objective``.
        shipped: The shipped names.
        package: The room whose folder of the same name (plural) holds them.

    Raises:
        InputError: Neither.
    """
    if given in shipped:
        file = files(package).joinpath(f"{kind}s", f"{given}.toml")
        return file.read_text(encoding="utf-8")
    path = Path(given)
    if path.suffix == ".toml" or path.is_file():
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise InputError(f"--{kind}", f"cannot read {given!r}: {reason}") from None
    names = ", ".join(shipped)
    raise InputError(f"--{kind}", f"{given!r} is neither one of {names} nor a TOML file")


def load_space(given: str) -> Space:
    """A shipped space by name, or the user's own from a TOML file.

    Raises:
        InputError: There is none, or the file is wrong; the message names field and mend.
    """
    text = find_document(given, kind="space", shipped=SHIPPED, package="sampler")
    return space_from_document(read_document(text, field=f"--space {given}"))


def space_from_document(document: Mapping[str, Any]) -> Space:
    """Builds a space from a parsed document.

    Raises:
        InputError: A field is unknown, missing, of the wrong type or out of range.
    """
    _only(document, _SPACE_FIELDS, "space")
    name = document.get("name")
    if not isinstance(name, str) or not name:
        raise InputError("space.name", "give the space a name")
    rows = document.get("parameter")
    if not isinstance(rows, list) or not rows or not all(isinstance(r, dict) for r in rows):
        raise InputError("space.parameter", "list at least one [[parameter]]")
    parameters = tuple(_parameter(row, f"parameter[{i}]") for i, row in enumerate(rows, start=1))
    _refuse_repeats(parameters)
    baseline = document.get("baseline", "library")
    context = default_values(cast(str, baseline))
    context.update({p.name: p.default for p in parameters if p.name not in catalogue()})
    fixed = _fixed(document.get("fixed", {}), parameters)
    memory_budget = document.get("memory_budget", True)
    if not isinstance(memory_budget, bool):
        raise InputError("space.memory_budget", "write true or false")
    unsearched = (
        p.name
        for p, row in zip(parameters, rows, strict=True)
        if not row.get("searched", p.section != "workload")
    )
    space = Space(
        name=name,
        parameters=parameters,
        fixed=fixed,
        context=context,
        baseline=cast(str, baseline),
        unsearched=frozenset(unsearched),
        memory_budget=memory_budget,
    )
    _check_rules(space)
    return space


def _only(row: Mapping[str, Any], known: set[str], where: str) -> None:
    for key in row:
        if key not in known:
            raise InputError(f"{where}.{key}", f"is unknown; known are {', '.join(sorted(known))}")


def _parameter(row: Mapping[str, Any], where: str) -> Parameter:
    _only(row, _PARAMETER_FIELDS, where)
    name = row.get("name")
    if not isinstance(name, str) or not name.isidentifier():
        raise InputError(f"{where}.name", "give the parameter a name of letters, digits and _")
    known = catalogue().get(name)
    where = f"{where} ({name})"
    parameter = _overridden(known, row, where) if known else _described(name, row, where)
    _check_range(parameter, where)
    return parameter


def _described(name: str, row: Mapping[str, Any], where: str) -> Parameter:
    """A parameter that only the user's own benchmark knows."""
    kind = row.get("type")
    if kind is None:
        raise InputError(
            f"{where}.name",
            f"{name!r} is not in the catalogue (see `rocktune space --catalogue`); "
            "for a benchmark of your own describe it with type, low and high, or choices",
        )
    if kind not in _KINDS:
        raise InputError(f"{where}.type", f"{kind!r} is not one of {', '.join(_KINDS)}")
    blank = Parameter(
        name=name, section="command", kind=cast(Kind, kind), default=0, default_db_bench=0
    )
    if kind in ("int", "float") and ("low" not in row or "high" not in row):
        raise InputError(f"{where}.low", "give low and high")
    if kind == "cat" and not row.get("choices"):
        raise InputError(f"{where}.choices", "give at least one choice")
    parameter = _overridden(blank, {**row, "default": 0, "special": []}, where, default=False)
    fallback = parameter.values[0] if parameter.values else parameter.low
    default = parse_value(parameter, row.get("default", fallback), field=f"{where}.default")
    special = tuple(
        parse_value(parameter, value, field=f"{where}.special")
        for value in _list(row.get("special", []), f"{where}.special")
    )
    return replace(parameter, default=default, default_db_bench=default, special=special)


def _list(value: object, field: str) -> list[Any]:
    if not isinstance(value, list):
        raise InputError(field, "write a list")
    return value


def _overridden(
    parameter: Parameter, row: Mapping[str, Any], where: str, *, default: bool = True
) -> Parameter:
    changes: dict[str, Any] = {}
    for end in ("low", "high"):
        if end in row:
            if not parameter.is_numeric:
                raise InputError(f"{where}.{end}", f"a {parameter.kind} parameter has no range")
            changes[end] = parse_value(parameter, row[end], field=f"{where}.{end}")
    if "log" in row:
        if not isinstance(row["log"], bool):
            raise InputError(f"{where}.log", "write true or false")
        changes["log"] = row["log"]
    if "quantum" in row:
        changes["quantum"] = _positive(row["quantum"], f"{where}.quantum")
    if "choices" in row:
        changes["choices"] = _choices(parameter, row["choices"], where)
    if "help" in row:
        changes["help"] = str(row["help"])
    if not isinstance(row.get("searched", True), bool):
        raise InputError(f"{where}.searched", "write true or false")
    if row.get("type", parameter.kind) != parameter.kind:
        raise InputError(f"{where}.type", f"{parameter.name} is of type {parameter.kind}")
    if "active_if" in row:
        changes["active_if"] = _conditions(row["active_if"], f"{where}.active_if")
    if "low" in changes or "high" in changes:
        changes["quantum"] = _fitting_quantum(parameter, changes)
    changed = replace(parameter, **changes)
    if default and "special" in row:
        given = _list(row["special"], f"{where}.special")
        special = tuple(parse_value(changed, v, field=f"{where}.special") for v in given)
        changed = replace(changed, special=special)
    if default and "default" in row:
        value = parse_value(changed, row["default"], field=f"{where}.default")
        changed = replace(changed, default=value, default_db_bench=value)
    return changed


def _fitting_quantum(parameter: Parameter, changes: Mapping[str, Any]) -> int:
    """The parameter's step, made finer where the user's own ends do not lie on it."""
    quantum = changes.get("quantum", parameter.quantum)
    if parameter.kind != "int":
        return cast(int, quantum)
    ends = [int(changes[end]) for end in ("low", "high") if end in changes]
    return math.gcd(quantum, *ends) or 1


def _positive(value: object, field: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InputError(field, "write a whole number of at least 1")
    return value


def _choices(parameter: Parameter, given: object, where: str) -> tuple[tuple[Value, str], ...]:
    values = _list(given, f"{where}.choices")
    if parameter.kind != "cat" or not values:
        raise InputError(f"{where}.choices", "only a cat parameter has choices, at least one")
    if parameter.section == "command":
        if not all(isinstance(value, str) for value in values):
            raise InputError(f"{where}.choices", "write texts, each in quotes")
        return tuple((value, value) for value in dict.fromkeys(values))
    written = dict(parameter.choices)
    chosen = [parse_value(parameter, v, field=f"{where}.choices") for v in values]
    return tuple((value, written[value]) for value in dict.fromkeys(chosen))


def _conditions(given: object, field: str) -> tuple[Condition, ...]:
    if not isinstance(given, dict):
        raise InputError(field, 'write a table such as {compression_type = ["zstd", "zlib"]}')
    return tuple(
        Condition(name, tuple(values if isinstance(values, list) else [values]))
        for name, values in given.items()
    )


def _check_range(parameter: Parameter, where: str) -> None:
    low, high = parameter.low, parameter.high
    if low is None or high is None:
        return
    if low > high:
        raise InputError(f"{where}.low", f"{low:g} is above high, {high:g}; swap them")
    if parameter.log and low <= 0:
        raise InputError(f"{where}.low", f"{low:g} must be above 0 where log = true")


def _refuse_repeats(parameters: tuple[Parameter, ...]) -> None:
    seen: set[str] = set()
    for parameter in parameters:
        if parameter.name in seen:
            raise InputError(f"parameter ({parameter.name})", "is listed twice")
        seen.add(parameter.name)


def _fixed(given: object, parameters: tuple[Parameter, ...]) -> dict[str, Value]:
    if not isinstance(given, dict):
        raise InputError("space.fixed", "write a table [fixed] of parameter = value")
    tuned = {parameter.name for parameter in parameters}
    fixed: dict[str, Value] = {}
    for name, value in given.items():
        if name not in catalogue():
            raise InputError(f"fixed.{name}", "is not in the catalogue")
        if name in tuned:
            raise InputError(f"fixed.{name}", "is also a [[parameter]]; choose one")
        fixed[name] = parse_value(catalogue()[name], value, field=f"fixed.{name}")
    return fixed


def _check_rules(space: Space) -> None:
    """Ranges of parameters that bound each other must leave room, whatever is drawn."""
    assert space.decided_order is not None  # refuses circles
    for parameter in space.parameters:
        for condition in parameter.active_if:
            if condition.parameter not in space.known:
                raise InputError(
                    f"parameter ({parameter.name}).active_if",
                    f"{condition.parameter!r} is neither in the space nor in the catalogue",
                )
        floor, ceiling = parameter.floor, parameter.ceiling
        if floor and parameter.high is not None and floor.parameter in space.by_name:
            other = space.by_name[floor.parameter]
            if other.low is not None and other.low + floor.offset > parameter.high:
                raise InputError(
                    f"parameter ({parameter.name}).high",
                    f"{parameter.high:g} is below the low of {other.name}, {other.low:g}",
                )
        if ceiling and parameter.low is not None and ceiling.parameter in space.by_name:
            other = space.by_name[ceiling.parameter]
            if other.high is not None and other.high + ceiling.offset < parameter.low:
                raise InputError(
                    f"parameter ({parameter.name}).low",
                    f"{parameter.low:g} is above what {other.name} allows, "
                    f"{other.high + ceiling.offset:g}",
                )
