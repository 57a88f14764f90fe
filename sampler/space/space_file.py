"""Spaces as TOML: the shipped ones by name, and the user's own."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, TypeAdapter

from sampler.common.documents import Switch, Text, find_document, parse_toml, read_document
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
_MOST_MULTIPLES = 10_000
_KINDS: Mapping[str, Kind] = {"int": "int", "float": "float", "bool": "bool", "cat": "cat"}


def _identifier(name: str) -> str:
    if not name.isidentifier():
        raise InputError("", f"{name!r:.80} is not a name of letters, digits and _")
    return name


_Help = Annotated[str, BeforeValidator(str)]
_KNOWN = ConfigDict(extra="forbid")


@dataclass(frozen=True, kw_only=True)
class _Row:
    """A [[parameter]] as it is written: of one in the catalogue, what differs from that."""

    __pydantic_config__ = _KNOWN

    name: Annotated[Text, AfterValidator(_identifier), Field(description="the parameter's name")]
    type: Any = None
    low: Any = None
    high: Any = None
    log: Switch | None = None
    choices: list[Any] | None = None
    default: Any = None
    special: list[Any] | None = None
    quantum: Annotated[int, Field(strict=True, ge=1)] | None = None
    searched: Switch | None = None
    help: _Help = ""
    active_if: dict[str, Any] | None = None
    sweep: list[Any] | None = None


@dataclass(frozen=True, kw_only=True)
class _Document:
    """A space as it is written."""

    __pydantic_config__ = _KNOWN

    name: Annotated[Text, Field(description="the space's name")]
    help: _Help = ""
    baseline: Text = "library"
    memory_budget: Switch = True
    fixed: dict[str, Any] = field(default_factory=dict)
    parameter: Annotated[list[_Row], Field(min_length=1, description="at least one [[parameter]]")]


_DOCUMENT = TypeAdapter(_Document)


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
    given = read_document(_DOCUMENT, document, "space")
    parameters = tuple(
        _parameter(row, f"space.parameter[{i}] ({row.name})")
        for i, row in enumerate(given.parameter, start=1)
    )
    twice = [name for name, count in Counter(p.name for p in parameters).items() if count > 1]
    if twice:
        raise InputError(f"space.parameter ({twice[0]})", "is listed twice")
    context = baseline_values(given.baseline)
    context.update({p.name: p.default for p in parameters if p.name not in catalogue()})
    unsearched = (
        parameter.name
        for parameter, row in zip(parameters, given.parameter, strict=True)
        if not (parameter.section != "workload" if row.searched is None else row.searched)
    )
    space = Space(
        name=given.name,
        parameters=parameters,
        fixed=_fixed(given.fixed, parameters),
        context=context,
        baseline=given.baseline,
        unsearched=frozenset(unsearched),
        memory_budget=given.memory_budget,
    )
    _check_rules(space)
    return space


def _fixed(given: Mapping[str, Any], parameters: tuple[Parameter, ...]) -> dict[str, Value]:
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


def _parameter(row: _Row, where: str) -> Parameter:
    known = catalogue().get(row.name)
    parameter = _overridden(known, row, where) if known else _described(row, where)
    _check_range(parameter, where)
    return replace(parameter, sweep=_sweep(parameter, row.sweep, f"{where}.sweep"))


def _described(row: _Row, where: str) -> Parameter:
    if row.type is None:
        raise InputError(
            f"{where}.name",
            f"{row.name!r} is not in the catalogue (see the space `all`); "
            "for a benchmark of your own describe it with type, low and high, or choices",
        )
    kind = _KINDS.get(str(row.type))
    if kind is None:
        raise InputError(f"{where}.type", f"{row.type!r} is not one of {', '.join(_KINDS)}")
    blank = Parameter(name=row.name, section="command", kind=kind, default=0, default_db_bench=0)
    if kind in ("int", "float") and (row.low is None or row.high is None):
        raise InputError(f"{where}.low", "give low and high")
    if kind == "cat" and not row.choices:
        raise InputError(f"{where}.choices", "give at least one choice")
    parameter = _overridden(blank, row, where)
    low, high = parameter.low, parameter.high
    if row.default is None:
        first = parameter.values[0] if low is None else low
        parameter = replace(parameter, default=first, default_db_bench=first)
    default = parameter.default
    inside = low is None or high is None or low <= float(default) <= high
    if not inside and default not in parameter.special:
        raise InputError(f"{where}.default", f"{default!r} is neither in the range nor special")
    return parameter


def _values(parameter: Parameter, given: Iterable[object], field: str) -> tuple[Value, ...]:
    return tuple(parse_value(parameter, value, field=field) for value in given)


def _overridden(parameter: Parameter, row: _Row, where: str) -> Parameter:
    if row.type not in (None, parameter.kind):
        raise InputError(f"{where}.type", f"{parameter.name} is of type {parameter.kind}")
    changes: dict[str, Any] = {}
    for end, value in (("low", row.low), ("high", row.high)):
        if value is not None:
            if not parameter.is_numeric:
                raise InputError(f"{where}.{end}", f"a {parameter.kind} parameter has no range")
            changes[end] = parse_value(parameter, value, field=f"{where}.{end}")
    ends = [int(end) for end in changes.values()] if parameter.kind == "int" else []
    if row.choices is not None:
        changes["choices"] = _choices(parameter, row.choices, f"{where}.choices")
    if row.active_if is not None:
        changes["active_if"] = tuple(
            Condition(name, tuple(values if isinstance(values, list) else [values]))
            for name, values in row.active_if.items()
        )
    # Finer where the user's own ends do not lie on it.
    quantum = math.gcd(row.quantum or parameter.quantum, *ends) or 1
    changed = replace(
        parameter,
        log=parameter.log if row.log is None else row.log,
        quantum=quantum if ends else row.quantum or parameter.quantum,
        help=row.help or parameter.help,
        **changes,
    )
    if row.special is not None:
        special = _values(changed, row.special, f"{where}.special")
        changed = replace(changed, special=special)
    if row.default is not None:
        value = parse_value(changed, row.default, field=f"{where}.default")
        changed = replace(changed, default=value, default_db_bench=value)
    return changed


def _choices(parameter: Parameter, values: list[Any], field: str) -> tuple[tuple[Value, str], ...]:
    if parameter.kind != "cat" or not values:
        raise InputError(field, "only a cat parameter has choices, and at least one")
    if parameter.section == "command":
        if not all(isinstance(value, str) for value in values):
            raise InputError(field, "write strings, each in quotes")
        return tuple((value, value) for value in dict.fromkeys(values))
    written = dict(parameter.choices)
    chosen = _values(parameter, values, field)
    return tuple((value, written[value]) for value in dict.fromkeys(chosen))


def _sweep(parameter: Parameter, given: list[Any] | None, field: str) -> tuple[Value, ...]:
    if given is None:
        return ()
    values = _values(parameter, given, field)
    if not values:
        raise InputError(field, "list at least one value, or leave it out")
    for value, written in zip(values, given, strict=True):
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
