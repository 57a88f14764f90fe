"""Objectives as TOML: the shipped ones by name, and the user's own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from optimizer.objective import Limit, Objective, Term
from sampler.documents import find_document, read_document, refuse_unknown
from sampler.errors import InputError

SHIPPED = ("paper", "waf", "sa", "rate", "pareto")
_MOST_WEIGHT = 1e6
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
        InputError: There is none, or the file is wrong; the message names field and mend.
    """
    text = objective_text(given)
    return objective_from_document(read_document(text, field=f"--objective {given}"))


def objective_from_document(document: Mapping[str, Any]) -> Objective:
    """Builds an objective from a parsed document.

    Raises:
        InputError: A field is unknown, missing, of the wrong type or out of range.
    """
    refuse_unknown(document, _FIELDS, "objective")
    name = document.get("name")
    if not isinstance(name, str) or not name:
        raise InputError("objective.name", "give the objective a name")
    pareto = document.get("pareto", False)
    if not isinstance(pareto, bool):
        raise InputError("objective.pareto", "write true or false")
    terms = tuple(_term(row, f"metric[{i}]") for i, row in _rows(document, "metric"))
    if not terms:
        raise InputError("objective.metric", "list at least one [[metric]]")
    if len({term.metric for term in terms}) < len(terms):
        raise InputError("objective.metric", "lists a metric twice")
    limits = tuple(_limit(row, f"limit[{i}]") for i, row in _rows(document, "limit"))
    return Objective(name, terms, limits, pareto, str(document.get("help", "")))


def objective_document(objective: Objective) -> dict[str, Any]:
    """The document that defines an objective: the inverse of ``objective_from_document``."""
    metrics = [
        {"name": term.metric, "direction": term.direction, "weight": term.weight}
        for term in objective.terms
    ]
    limits = [
        {"metric": limit.metric}
        | ({"at_most": limit.at_most} if math.isfinite(limit.at_most) else {})
        | ({"at_least": limit.at_least} if math.isfinite(limit.at_least) else {})
        for limit in objective.limits
    ]
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
    if not 0 < weight <= _MOST_WEIGHT:
        raise InputError(f"{where}.weight", f"{weight:g} is not above 0 and at most 1000000")
    return Term(name, direction, weight)


def _limit(row: Mapping[str, Any], where: str) -> Limit:
    refuse_unknown(row, ("metric", "at_most", "at_least"), where)
    metric = row.get("metric")
    if not isinstance(metric, str) or not metric:
        raise InputError(f"{where}.metric", "name the metric")
    if "at_most" not in row and "at_least" not in row:
        raise InputError(f"{where}.at_most", "give at_most or at_least")
    most = _number(row["at_most"], f"{where}.at_most") if "at_most" in row else math.inf
    least = _number(row["at_least"], f"{where}.at_least") if "at_least" in row else -math.inf
    if least > most:
        raise InputError(f"{where}.at_least", f"{least:g} is above at_most, {most:g}")
    return Limit(metric, most, least)


def _number(given: object, field: str) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or not math.isfinite(given):
        raise InputError(field, f"{given!r} is not a finite number")
    return float(given)
