"""Objectives as TOML: the shipped ones by name, the user's own, and weights in words."""

from collections.abc import Mapping
from dataclasses import asdict
from math import inf, isfinite
from typing import Any

from pydantic import TypeAdapter

from optimizer.objective.objective import MOST_WEIGHT, Limit, Objective, Term
from sampler.common.documents import find_document, parse_toml, read_document
from sampler.common.errors import InputError
from sampler.workload.metric_table import Direction, better

SHIPPED = ("paper", "waf", "sa", "rate", "pareto", "reading", "stalls")
_DOCUMENT = TypeAdapter(Objective)


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
    return read_document(_DOCUMENT, document, "objective")


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


def limit_document(limit: Limit) -> dict[str, Any]:
    """The ``[[limit]]`` table that defines a limit."""
    return {name: b for name, b in asdict(limit).items() if b not in (None, inf, -inf)}


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
        if not (isfinite(weight) and 0 < weight <= MOST_WEIGHT):
            problem = f"{part.strip()!r:.80}: write a weight above 0, up to {MOST_WEIGHT:,.0f}"
            raise InputError(field, f"{problem}, or leave the metric out")
        if any(name == term.metric for term in terms):
            raise InputError(field, f"names {name!r:.80} twice")
        direction = known.get(name) or better(name)
        if direction is None:
            problem = f"it is not known whether less or more of {name!r:.80} is better"
            names = f"use one of {', '.join(known)}, or " if known else ""
            raise InputError(field, f"{problem}; {names}declare it in an objective file")
        terms.append(Term(name, direction, weight))
    return tuple(terms)


def weights_words(terms: tuple[Term, ...]) -> str:
    """The weights as ``parse_weights`` reads them."""
    return ",".join(f"{term.metric}={term.weight:g}" for term in terms)
