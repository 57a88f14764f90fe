"""Spaces as TOML: the shipped ones by name, and the user's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sampler.common.documents import find_document, read_document, refuse_unknown
from sampler.common.errors import InputError
from sampler.parameters.catalogue import catalogue
from sampler.parameters.parameter import Condition, Parameter, Value, parse_value
from sampler.space.parameter_file import parameter_from_row
from sampler.space.space import Space
from sampler.space.starting_points import baseline_values

SHIPPED = (
    "default", "paper", "universal", "blob", "all", "samsung", "samsung-uncompressed", "reading",
    "warlo",
)  # fmt: skip
_SPACE_FIELDS = {"name", "help", "baseline", "memory_budget", "fixed", "parameter"}


def space_text(given: str) -> str:
    """The TOML text of a shipped space, or of the user's own file.

    Raises:
        InputError: There is none.
    """
    return find_document(given, kind="space", shipped=SHIPPED, package="sampler")


def load_space(given: str) -> Space:
    """A shipped space by name, or the user's own from a TOML file.

    Raises:
        InputError: There is none, or the file is wrong; the message names field and mend.
    """
    return space_from_document(read_document(space_text(given), field=f"--space {given}"))


def space_from_document(document: Mapping[str, Any]) -> Space:
    """Builds a space from a parsed document.

    Raises:
        InputError: A field is unknown, missing, of the wrong type or out of range.
    """
    refuse_unknown(document, _SPACE_FIELDS, "space")
    name = document.get("name")
    if not isinstance(name, str) or not name:
        raise InputError("space.name", "give the space a name")
    rows = document.get("parameter")
    if not isinstance(rows, list) or not rows or not all(isinstance(r, dict) for r in rows):
        raise InputError("space.parameter", "list at least one [[parameter]]")
    parameters = tuple(
        parameter_from_row(row, f"parameter[{i}]") for i, row in enumerate(rows, start=1)
    )
    _refuse_repeats(parameters)
    baseline = document.get("baseline", "library")
    if not isinstance(baseline, str):
        raise InputError("space.baseline", f"{baseline!r} is neither library nor db_bench")
    context = baseline_values(baseline)
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
        baseline=baseline,
        unsearched=frozenset(unsearched),
        memory_budget=memory_budget,
    )
    _check_rules(space)
    return space


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
        known = catalogue()[name]
        fixed[name] = parse_value(known, value, field=f"fixed.{name}")
        if known.is_numeric and float(fixed[name]) < 0 and fixed[name] not in known.special:
            raise InputError(f"fixed.{name}", f"{value!r} is below 0")
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
            if is_floor and least is not None and least + bound.offset > high:
                raise InputError(
                    f"parameter ({parameter.name}).high",
                    f"{high:g} is below the low of {bound.parameter}, {least:g}",
                )
            if not is_floor and most is not None and most + bound.offset < low:
                raise InputError(
                    f"parameter ({parameter.name}).low",
                    f"{low:g} is above what {bound.parameter} allows, {most + bound.offset:g}",
                )


def _check_condition(parameter: Parameter, condition: Condition, space: Space) -> None:
    field = f"parameter ({parameter.name}).active_if"
    if condition.parameter not in space.known:
        name = condition.parameter
        raise InputError(field, f"{name!r} is neither in the space nor in the catalogue")
    # The catalogue's values: a space that leaves some out does not make the condition wrong.
    values = {**space.by_name, **catalogue()}[condition.parameter].values
    for value in condition.values:
        if values and value not in values:
            raise InputError(field, f"{condition.parameter} is never {value!r}")


def _span(parameter: Parameter, space: Space) -> tuple[float | None, float | None]:
    """The least and the most that a parameter can be: its range, or where it stays."""
    if parameter.name in space.by_name:
        return parameter.low, parameter.high
    value = space.start.get(parameter.name)
    if not parameter.is_numeric or value is None or value in parameter.special:
        return None, None
    return float(value), float(value)
