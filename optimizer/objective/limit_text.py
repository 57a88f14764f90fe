"""A limit as users write it, ``write_p99 <= 200us`` or ``rate >= 0.95 baseline``, and as told."""

from __future__ import annotations

import math
import re

from optimizer.objective.objective import MOST_RATIO, Limit
from sampler.common.errors import InputError
from sampler.workload.metric_units import format_metric, in_unit_of

_MEND = "write for example 'rate >= 0.95 baseline' or 'write_p99 <= 200us'"
_LIMIT = re.compile(r"\s*(?P<metric>[^<>=]*[^<>=\s])\s*(?P<sign><=|>=)\s*(?P<bound>[^<>=]*)")
_BOUND = re.compile(
    r"(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)?\s*(?P<unit>.*)",
    re.ASCII | re.IGNORECASE,
)
_BASELINE = re.compile(r"(?P<percent>%)?\s*(?:x|of)?\s*baseline", re.IGNORECASE)


def parse_limit(text: str, *, field: str = "--limit") -> Limit:
    """Reads ``METRIC <= BOUND`` or ``METRIC >= BOUND``; both include the bound.

    A bound is a figure, with or without a unit that fits the metric, or a multiple of the
    baseline: ``0.95 baseline``, ``0.95x baseline``, ``95% baseline``.

    Args:
        text: As the user wrote it.
        field: What to call it when it is wrong.

    Returns:
        The limit, its figures in the unit that the metric is measured in.

    Raises:
        InputError: It is no limit, or its unit is not one of the metric.
    """
    found = _LIMIT.fullmatch(text)
    bound = _BOUND.fullmatch(found["bound"].strip()) if found else None
    if found is None or bound is None:
        raise InputError(field, f"{text!r:.120} is no limit; {_MEND}")
    metric, unit = found["metric"].strip(), bound["unit"].strip()
    relative = _BASELINE.fullmatch(unit)
    if bound["number"] is None and not (relative and unit.casefold() == "baseline"):
        raise InputError(field, f"{text!r:.120} gives no figure; {_MEND}")
    most = found["sign"] == "<="
    if relative:
        ratio = float(bound["number"] or 1) / (100 if relative["percent"] else 1)
        if not 0 < ratio <= MOST_RATIO:
            problem = f"a multiple of the baseline is above 0 and at most {MOST_RATIO:g}"
            raise InputError(field, f"{text!r:.120}: {problem}")
        if most:
            return Limit(metric, at_most_baseline=ratio)
        return Limit(metric, at_least_baseline=ratio)
    value = float(bound["number"])
    if unit:
        value = in_unit_of(metric, value, unit, field=field)
    if not math.isfinite(value):
        raise InputError(field, f"{text!r:.120} is beyond all measure; {_MEND}")
    return Limit(metric, at_most=value) if most else Limit(metric, at_least=value)


def limit_words(limit: Limit) -> str:
    """The limit as ``parse_limit`` reads it, ``and`` between its bounds where it has two."""
    bounds = []
    if math.isfinite(limit.at_least):
        bounds.append(f">= {format_metric(limit.metric, limit.at_least)}")
    if limit.at_least_baseline is not None:
        bounds.append(f">= {limit.at_least_baseline:.12g} baseline")
    if math.isfinite(limit.at_most):
        bounds.append(f"<= {format_metric(limit.metric, limit.at_most)}")
    if limit.at_most_baseline is not None:
        bounds.append(f"<= {limit.at_most_baseline:.12g} baseline")
    return f"{limit.metric} {' and '.join(bounds)}"
