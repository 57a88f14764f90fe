"""A preference as users write it, ``waf=2,sa=1,rate=1``: the terms of an objective."""

from __future__ import annotations

import math
from collections.abc import Mapping

from optimizer.objective.objective import Direction, Term
from optimizer.objective.objective_file import MOST_WEIGHT
from sampler.common.errors import InputError
from sampler.workload.metric_units import metric_unit

_MEND = "write for example waf=2,sa=1,rate=1"
_LOWERED_RATIOS = ("waf", "waf_with_wal", "sa")


def parse_weights(
    text: str, known: Mapping[str, Direction], *, field: str = "--weights"
) -> tuple[Term, ...]:
    """Reads ``METRIC=WEIGHT,METRIC=WEIGHT``; a metric alone weighs 1.

    Args:
        text: As the user wrote it.
        known: Which way is better of the job's own metrics; of others their unit tells.
        field: What to call it when it is wrong.

    Raises:
        InputError: It is no list of weights, a metric is named twice, or nobody knows which way
            it is better.
    """
    terms: list[Term] = []
    for part in text.split(","):
        name, equals, given = (each.strip() for each in part.partition("="))
        if not name:
            raise InputError(field, f"{text!r:.120} names no metric; {_MEND}")
        try:
            weight = float(given) if equals else 1.0
        except ValueError:
            raise InputError(field, f"{part.strip()!r:.80} has no weight; {_MEND}") from None
        if not (math.isfinite(weight) and 0 < weight <= MOST_WEIGHT):
            problem = f"{part.strip()!r:.80}: a weight is above 0 and at most {MOST_WEIGHT:.0f}"
            raise InputError(field, f"{problem}; leave out what does not count")
        if any(name == term.metric for term in terms):
            raise InputError(field, f"names {name!r:.80} twice")
        direction = known.get(name) or _direction(name)
        if direction is None:
            problem = f"which way {name!r:.80} is better is not known"
            raise InputError(field, f"{problem}; an objective's file can say it (--objective)")
        terms.append(Term(name, direction, weight))
    return tuple(terms)


def weights_words(terms: tuple[Term, ...]) -> str:
    """The weights as ``parse_weights`` reads them."""
    return ",".join(f"{term.metric}={term.weight:g}" for term in terms)


def _direction(metric: str) -> Direction | None:
    unit = metric_unit(metric)
    if unit is None:
        return "min" if metric in _LOWERED_RATIOS else None
    return "max" if unit == "ops/s" else "min"
