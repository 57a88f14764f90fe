"""Spaces as TOML: the shipped ones by name, and the user's own."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, cast

from sampler.common.documents import find_document, name_in, parse_toml, refuse_unknown, switch_in
from sampler.common.errors import InputError
from sampler.rocksdb.parameters import Condition, Kind, Parameter, Value, catalogue, parse_value
from sampler.space.space import Space
from sampler.space.starting_points import baseline_values

SHIPPED = (
    "default", "paper", "universal", "blob", "all", "samsung", "samsung-uncompressed", "reading",
    "warlo",
)  # fmt: skip
# The TOML text of a shipped space, or of the user's own file: see ``find_document``.
space_text = partial(find_document, kind="space", shipped=SHIPPED, package="sampler")
_SPACE_FIELDS = {"name", "help", "baseline", "memory_budget", "fixed", "parameter"}
_FIELDS = {
    "name", "type", "low", "high", "log", "choices", "default", "special", "quantum",
    "searched", "help", "active_if", "sweep",
}  # fmt: skip
_MOST_MULTIPLES = 10_000
_KINDS = ("int", "float", "bool", "cat")


def load_space(given: str) -> Space:
    """A shipped space by name, or the user's own from a TOML file.

    Raises:
        InputError: There is none, or the file is wrong; the message names field and fix.
    """
    return space_from_document(parse_toml(space_text(given), field=f"space {given}"))


def space_from_document(document: Mapping[str, Any]) -> Space:
    """Builds a space from a parsed document.

    Raises:
        InputError: A field is unknown, missing, of the wrong type or out of range.
    """
    refuse_unknown(document, _SPACE_FIELDS, "space")
    name = name_in(document, "space")
    rows = document.get("parameter")
    if not isinstance(rows, list) or not rows or not all(isinstance(r, dict) for r in rows):
        raise InputError("space.parameter", "list at least one [[parameter]]")
    parameters = tuple(
        _parameter(row, f"space.parameter[{i}]") for i, row in enumerate(rows, start=1)
    )
    twice = [name for name, count in Counter(p.name for p in parameters).items() if count > 1]
    if twice:
        raise InputError(f"space.parameter ({twice[0]})", "is listed twice")
    baseline = document.get("baseline", "library")
    if not isinstance(baseline, str):
        raise InputError("space.baseline", f"{baseline!r} is neither library nor db_bench")
    context = baseline_values(baseline)
    context.update({p.name: p.default for p in parameters if p.name not in catalogue()})
    fixed = _fixed(document.get("fixed", {}), parameters)
    memory_budget = switch_in(document, "memory_budget", "space", default=True)
    listed = zip(parameters, rows, strict=True)
    unsearched = (p.name for p, row in listed if not row.get("searched", p.section != "workload"))
    space = Space(
        name=name,
        parameters=parameters,
        fixed=fixed,
        context=context,
        baseline=baseline,
        unsearched=frozenset(unsearched),
        memory_budget=memory_budget,
    )
    _check_rules(space)
    return space


def _fixed(given: object, parameters: tuple[Parameter, ...]) -> dict[str, Value]:
    if not isinstance(given, dict):
        raise InputError("space.fixed", "write a table [fixed] of parameter = value")
    tuned = {parameter.name for parameter in parameters}
    fixed: dict[str, Value] = {}
    for name, value in given.items():
        if name not in catalogue():
            raise InputError(
                f"space.fixed.{name}", "is not in the catalogue (see the space `all`)"
            )
        if name in tuned:
            raise InputError(f"space.fixed.{name}", "is also a [[parameter]]; choose one")
        known = catalogue()[name]
        fixed[name] = parse_value(known, value, field=f"space.fixed.{name}")
        if known.is_numeric and float(fixed[name]) < 0 and fixed[name] not in known.special:
            raise InputError(f"space.fixed.{name}", f"{value!r} is below the minimum of 0")
    return fixed


def _check_rules(space: Space) -> None:
    """Ranges of parameters that bound each other must leave room, whatever is drawn."""
    assert space.decided_order is not None  # refuses circles
    for parameter in space.parameters:
        for condition in parameter.active_if:
            _check_condition(parameter, condition, space)
    for parameter in space.known.values():
        low, high = _span(parameter, space)
        for bound, is_floor in ((parameter.floor, True), (parameter.ceiling, False)):
            if bound is None or low is None or high is None:
                continue
            least, most = _span(space.known[bound.parameter], space)
            at, whose = f"space.parameter ({parameter.name})", bound.parameter
            if is_floor and least is not None and least + bound.offset > high:
                raise InputError(f"{at}.high", f"{high:g} is below the low of {whose}, {least:g}")
            if not is_floor and most is not None and (limit := most + bound.offset) < low:
                raise InputError(f"{at}.low", f"{low:g} is above what {whose} allows, {limit:g}")


def _check_condition(parameter: Parameter, condition: Condition, space: Space) -> None:
    field = f"space.parameter ({parameter.name}).active_if"
    if condition.parameter not in space.known:
        name = condition.parameter
        raise InputError(field, f"{name!r} is neither in the space nor in the catalogue")
    # The catalogue's values: a space that leaves some out does not make the condition wrong.
    values = {**space.by_name, **catalogue()}[condition.parameter].values
    for value in condition.values:
        if values and value not in values:
            raise InputError(field, f"{condition.parameter} has no value {value!r}")


def _span(parameter: Parameter, space: Space) -> tuple[float | None, float | None]:
    if parameter.name in space.by_name:
        return parameter.low, parameter.high
    value = space.start.get(parameter.name)
    if not parameter.is_numeric or value is None or value in parameter.special:
        return None, None
    return float(value), float(value)


def _parameter(row: Mapping[str, Any], where: str) -> Parameter:
    refuse_unknown(row, _FIELDS, where)
    name = row.get("name")
    if not isinstance(name, str) or not name.isidentifier():
        raise InputError(f"{where}.name", "give the parameter a name of letters, digits and _")
    known = catalogue().get(name)
    where = f"{where} ({name})"
    parameter = _overridden(known, row, where) if known else _described(name, row, where)
    _check_range(parameter, where)
    return replace(parameter, sweep=_sweep(parameter, row, f"{where}.sweep"))


def _described(name: str, row: Mapping[str, Any], where: str) -> Parameter:
    kind = row.get("type")
    if kind is None:
        raise InputError(
            f"{where}.name",
            f"{name!r} is not in the catalogue (see the space `all`); "
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
    parameter = _overridden(blank, row, where)
    low, high = parameter.low, parameter.high
    if "default" not in row:
        first = parameter.values[0] if low is None else low
        parameter = replace(parameter, default=first, default_db_bench=first)
    default = parameter.default
    inside = low is None or high is None or low <= float(default) <= high
    if not inside and default not in parameter.special:
        raise InputError(f"{where}.default", f"{default!r} is neither in the range nor special")
    return parameter


def _list(value: object, field: str) -> list[Any]:
    if not isinstance(value, list):
        raise InputError(field, "write a list")
    return value


def _values(parameter: Parameter, given: object, field: str) -> tuple[Value, ...]:
    return tuple(parse_value(parameter, value, field=field) for value in _list(given, field))


def _overridden(parameter: Parameter, row: Mapping[str, Any], where: str) -> Parameter:
    changes: dict[str, Any] = {}
    for end in ("low", "high"):
        if end in row:
            if not parameter.is_numeric:
                raise InputError(f"{where}.{end}", f"a {parameter.kind} parameter has no range")
            changes[end] = parse_value(parameter, row[end], field=f"{where}.{end}")
    changes["log"] = switch_in(row, "log", where, default=parameter.log)
    if "quantum" in row:
        quantum = row["quantum"]
        if isinstance(quantum, bool) or not isinstance(quantum, int) or quantum < 1:
            raise InputError(f"{where}.quantum", "write a whole number of at least 1")
        changes["quantum"] = quantum
    if "choices" in row:
        changes["choices"] = _choices(parameter, row["choices"], where)
    changes["help"] = str(row.get("help", parameter.help))
    switch_in(row, "searched", where, default=True)
    if row.get("type", parameter.kind) != parameter.kind:
        raise InputError(f"{where}.type", f"{parameter.name} is of type {parameter.kind}")
    if "active_if" in row:
        if not isinstance(row["active_if"], dict):
            problem = 'write a table such as {compression_type = ["zstd", "zlib"]}'
            raise InputError(f"{where}.active_if", problem)
        changes["active_if"] = tuple(
            Condition(name, tuple(values if isinstance(values, list) else [values]))
            for name, values in row["active_if"].items()
        )
    ends = [int(changes[end]) for end in ("low", "high") if end in changes]
    if ends and parameter.kind == "int":  # finer where the user's own ends do not lie on it
        quantum = changes.get("quantum", parameter.quantum)
        changes["quantum"] = math.gcd(quantum, *ends) or 1
    changed = replace(parameter, **changes)
    if "special" in row:
        special = _values(changed, row["special"], f"{where}.special")
        changed = replace(changed, special=special)
    if "default" in row:
        value = parse_value(changed, row["default"], field=f"{where}.default")
        changed = replace(changed, default=value, default_db_bench=value)
    return changed


def _choices(parameter: Parameter, given: object, where: str) -> tuple[tuple[Value, str], ...]:
    values = _list(given, f"{where}.choices")
    if parameter.kind != "cat" or not values:
        raise InputError(f"{where}.choices", "only a cat parameter has choices, and at least one")
    if parameter.section == "command":
        if not all(isinstance(value, str) for value in values):
            raise InputError(f"{where}.choices", "write strings, each in quotes")
        return tuple((value, value) for value in dict.fromkeys(values))
    written = dict(parameter.choices)
    chosen = _values(parameter, values, f"{where}.choices")
    return tuple((value, written[value]) for value in dict.fromkeys(chosen))


def _sweep(parameter: Parameter, row: Mapping[str, Any], field: str) -> tuple[Value, ...]:
    if "sweep" not in row:
        return ()
    values = _values(parameter, row["sweep"], field)
    if not values:
        raise InputError(field, "list at least one value, or leave it out")
    for value, written in zip(values, row["sweep"], strict=True):
        if not _possible(parameter, value):
            raise InputError(field, f"{written!r} is not a value of {parameter.name} in the space")
    return tuple(dict.fromkeys(values))


def _possible(parameter: Parameter, value: Value) -> bool:
    if not parameter.is_numeric:
        return value in parameter.values
    if value in parameter.special or parameter.low is None or parameter.high is None:
        return True
    number = float(value)
    inside = parameter.low <= number <= parameter.high
    return inside and (parameter.kind != "int" or number % parameter.quantum == 0)


def _check_range(parameter: Parameter, where: str) -> None:
    low, high = parameter.low, parameter.high
    if low is None or high is None:
        return
    if low > high:
        raise InputError(f"{where}.low", f"{low:g} is above high, {high:g}; swap them")
    if parameter.multiple_of and high > _MOST_MULTIPLES:
        most = f"{_MOST_MULTIPLES} multiples of {parameter.multiple_of}"
        raise InputError(f"{where}.high", f"{high:g} is above the maximum of {most}")
    if parameter.kind == "int":
        quantum = parameter.quantum
        if math.ceil(low / quantum) > math.floor(high / quantum):
            raise InputError(f"{where}.quantum", f"no multiple of {quantum} lies in the range")
    if parameter.log and low <= 0:
        raise InputError(f"{where}.low", f"{low:g} must be above 0 where log = true")
