"""Objectives as TOML: the shipped ones by name, the user's own, and weights in words."""

import math
from collections.abc import Mapping
from typing import Any

from optimizer.objective.objective import MOST_RATIO, Limit, Objective, Term
from sampler.common.documents import (
    find_document,
    finite_number,
    name_in,
    parse_toml,
    refuse_unknown,
    switch_in,
)
from sampler.common.errors import InputError
from sampler.workload.metric_table import Direction, better

SHIPPED = ("paper", "waf", "sa", "rate", "pareto", "reading", "stalls")
MOST_WEIGHT = 1e6
_BOUNDS = ("at_most", "at_least", "at_most_baseline", "at_least_baseline")
_FIELDS = ("name", "help", "pareto", "metric", "limit")


def objective_text(given: str) -> str:
    """The TOML text of a shipped objective, or of the user's own file.

    Raises:
        InputError: There is none.
    """
    return find_document(given, kind="objective", shipped=SHIPPED, package="optimizer")


def load_objective(given: str) -> Objective:
    """A shipped objective by name, or the user's own from a TOML file.

    Raises:
        InputError: There is none, or the file is wrong; the message names field and fix.
    """
    text = objective_text(given)
    return objective_from_document(parse_toml(text, field=f"objective {given}"))


def objective_from_document(document: Mapping[str, Any]) -> Objective:
    """Builds an objective from a parsed document.

    Raises:
        InputError: A field is unknown, missing, of the wrong type or out of range.
    """
    refuse_unknown(document, _FIELDS, "objective")
    name = name_in(document, "objective")
    pareto = switch_in(document, "pareto", "objective", default=False)
    terms = tuple(_term(row, f"objective.metric[{i}]") for i, row in _rows(document, "metric"))
    if not terms:
        raise InputError("objective.metric", "list at least one [[metric]]")
    if len({term.metric for term in terms}) < len(terms):
        raise InputError("objective.metric", "lists a metric twice")
    limits = tuple(_limit(row, f"objective.limit[{i}]") for i, row in _rows(document, "limit"))
    return Objective(name, terms, limits, pareto, str(document.get("help", "")))


def limits_asked(document: Mapping[str, Any]) -> list[Limit]:
    """The limits in a stored objective's document."""
    return [Limit(**row) for row in document.get("limit", [])]


def objective_document(objective: Objective) -> dict[str, Any]:
    """The document that defines an objective: the inverse of ``objective_from_document``."""
    metrics = [
        {"name": term.metric, "direction": term.direction, "weight": term.weight}
        for term in objective.terms
    ]
    limits = [limit_document(limit) for limit in objective.limits]
    head = {"name": objective.name, "help": objective.help, "pareto": objective.pareto}
    return head | {"metric": metrics} | ({"limit": limits} if limits else {})


def _rows(document: Mapping[str, Any], key: str) -> list[tuple[int, Mapping[str, Any]]]:
    rows = document.get(key, [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError(f"objective.{key}", f"write [[{key}]] tables")
    return list(enumerate(rows, start=1))


def _term(row: Mapping[str, Any], where: str) -> Term:
    refuse_unknown(row, ("name", "direction", "weight"), where)
    name = row.get("name")
    if not isinstance(name, str) or not name:
        raise InputError(f"{where}.name", "name the metric")
    direction = row.get("direction")
    if direction not in ("min", "max"):
        raise InputError(f"{where}.direction", f"{direction!r} is neither min nor max")
    weight = _number(row.get("weight", 1.0), f"{where}.weight")
    if not 0 < weight <= MOST_WEIGHT:
        problem = f"{weight:g} is out of range, above 0 to {MOST_WEIGHT:,.0f}"
        raise InputError(f"{where}.weight", problem)
    return Term(name, direction, weight)


def limit_document(limit: Limit) -> dict[str, Any]:
    """The ``[[limit]]`` table that defines a limit."""
    bounds = {name: getattr(limit, name) for name in _BOUNDS}
    given = {name: b for name, b in bounds.items() if b is not None and math.isfinite(b)}
    return {"metric": limit.metric, **given}


def _limit(row: Mapping[str, Any], where: str) -> Limit:
    refuse_unknown(row, ("metric", *_BOUNDS), where)
    metric = row.get("metric")
    if not isinstance(metric, str) or not metric:
        raise InputError(f"{where}.metric", "name the metric")
    if not set(_BOUNDS) & row.keys():
        raise InputError(f"{where}.at_most", f"give one of {', '.join(_BOUNDS)}")
    given = {name: _number(row[name], f"{where}.{name}") for name in _BOUNDS if name in row}
    for name in ("at_most_baseline", "at_least_baseline"):
        if not 0 < given.get(name, 1) <= MOST_RATIO:
            problem = f"{given[name]:g} is out of range, above 0 to {MOST_RATIO:,.0f}"
            raise InputError(f"{where}.{name}", f"{problem} (0.95 is 95% of the baseline)")
    for kind in ("", "_baseline"):
        most, least = f"at_most{kind}", f"at_least{kind}"
        if given.get(least, -math.inf) > given.get(most, math.inf):
            problem = f"{given[least]:g} is above {most}, {given[most]:g}"
            raise InputError(f"{where}.{least}", problem)
    return Limit(metric, **given)


def _number(given: object, field: str) -> float:
    number = finite_number(given)
    if number is None:
        raise InputError(field, f"{given!r:.80} is not a finite number")
    return number


_FIX = "write it like waf=2,sa=1,rate=1"


def parse_weights(
    text: str, known: Mapping[str, Direction], *, field: str = "weights"
) -> tuple[Term, ...]:
    """Reads ``METRIC=WEIGHT,METRIC=WEIGHT``; a metric alone weighs 1.

    ``known`` says which way is better of the job's own metrics; of others their unit tells.

    Raises:
        InputError: It is no list of weights, a metric is named twice, or nobody knows which way it
            is better; about ``field``.
    """
    terms: list[Term] = []
    for part in text.split(","):
        name, equals, given = (each.strip() for each in part.partition("="))
        if not name:
            raise InputError(field, f"{text!r:.120} names no metric; {_FIX}")
        try:
            weight = float(given) if equals else 1.0
        except ValueError:
            raise InputError(field, f"{part.strip()!r:.80} has no valid weight; {_FIX}") from None
        if not (math.isfinite(weight) and 0 < weight <= MOST_WEIGHT):
            problem = f"{part.strip()!r:.80}: write a weight above 0, up to {MOST_WEIGHT:,.0f}"
            raise InputError(field, f"{problem}, or leave the metric out")
        if any(name == term.metric for term in terms):
            raise InputError(field, f"names {name!r:.80} twice")
        direction = known.get(name) or better(name)
        if direction is None:
            problem = f"it is not known whether less or more of {name!r:.80} is better"
            raise InputError(field, f"{problem}; declare it in an objective file")
        terms.append(Term(name, direction, weight))
    return tuple(terms)


def weights_words(terms: tuple[Term, ...]) -> str:
    """The weights as ``parse_weights`` reads them."""
    return ",".join(f"{term.metric}={term.weight:g}" for term in terms)
