"""Limits: as users write them, whether any figure can keep them, and how a winner kept them."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from optimizer.objective.objective import MOST_RATIO, Limit, Metrics, Objective
from sampler.common.errors import InputError
from sampler.workload.metric_table import format_metric, in_unit_of, result_names

_FIX = "write it like 'rate >= 0.95 baseline' or 'write_p99 <= 200us'"
_LIMIT = re.compile(r"\s*(?P<metric>[^<>=]*[^<>=\s])\s*(?P<sign><=|>=)\s*(?P<bound>[^<>=]*)")
_BOUND = re.compile(
    r"(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)?\s*(?P<unit>.*)", re.ASCII | re.IGNORECASE
)
_BASELINE = re.compile(r"(?P<percent>%)?\s*(?:x|of)?\s*baseline", re.IGNORECASE)


def parse_limit(text: str, *, field: str = "limits") -> Limit:
    """Reads ``METRIC <= BOUND`` or ``METRIC >= BOUND``; both include the bound.

    A bound is a figure, with or without a unit that fits the metric, or a multiple of the
    baseline: ``0.95 baseline``, ``0.95x baseline``, ``95% baseline``. The limit's figures are in
    the unit that the metric is measured in.

    Raises:
        InputError: It is no limit, or its unit is not one of the metric; about ``field``.
    """
    found = _LIMIT.fullmatch(text)
    bound = _BOUND.fullmatch(found["bound"].strip()) if found else None
    if found is None or bound is None:
        raise InputError(field, f"{text!r:.120} is not a limit; {_FIX}")
    metric, unit = found["metric"].strip(), bound["unit"].strip()
    relative = _BASELINE.fullmatch(unit)
    if bound["number"] is None and not (relative and unit.casefold() == "baseline"):
        raise InputError(field, f"{text!r:.120} has no number; {_FIX}")
    side = "at_most" if found["sign"] == "<=" else "at_least"
    if relative:
        ratio = float(bound["number"] or 1) / (100 if relative["percent"] else 1)
        if not 0 < ratio <= MOST_RATIO:
            problem = f"a multiple of the baseline must be above 0 and at most {MOST_RATIO:,.0f}"
            raise InputError(field, f"{text!r:.120}: {problem}")
        return Limit(metric, **{f"{side}_baseline": ratio})
    value = float(bound["number"])
    if unit:
        value = in_unit_of(metric, value, unit, field=field)
    if not math.isfinite(value):
        raise InputError(field, f"{text!r:.120} is too large; {_FIX}")
    return Limit(metric, **{side: value})


def limit_words(limit: Limit) -> str:
    """The limit as ``parse_limit`` reads it, ``and`` between its bounds where it has two."""
    bounds = []
    for sign, figure, multiple in (
        (">=", limit.at_least, limit.at_least_baseline),
        ("<=", limit.at_most, limit.at_most_baseline),
    ):
        if math.isfinite(figure):
            bounds.append(f"{sign} {format_metric(limit.metric, figure)}")
        if multiple is not None:
            bounds.append(f"{sign} {multiple:.12g} baseline")
    return f"{limit.metric} {' and '.join(bounds)}"


def require_possible(limits: Sequence[Limit], *, field: str) -> None:
    """Refuses limits of one metric that contradict each other.

    Figures are compared with figures and multiples of the baseline with multiples; a figure and a
    multiple can only be compared once the baseline is known (``Objective.bounds``).

    Raises:
        InputError: They contradict each other; about ``field``.
    """
    for metric in dict.fromkeys(limit.metric for limit in limits):
        mine = [limit for limit in limits if limit.metric == metric]
        least = max(limit.at_least for limit in mine)
        most = min(limit.at_most for limit in mine)
        if least > most:
            bounds = f">= {format_metric(metric, least)} and <= {format_metric(metric, most)}"
            raise InputError(field, f"no value can be {metric} {bounds}; leave one out")
        least = max(limit.at_least_baseline or -math.inf for limit in mine)
        most = min(limit.at_most_baseline or math.inf for limit in mine)
        if least > most:
            bounds = f">= {least:.12g} and <= {most:.12g} baseline"
            raise InputError(field, f"no value can be {metric} {bounds}; leave one out")


def require_measured(objective: Objective, baseline: Metrics) -> None:
    """Refuses a preference for what the job has not measured.

    Raises:
        InputError: A metric is missing; the field is ``limit`` or ``metric``.
    """
    wanted = [("metric", term.metric) for term in objective.terms]
    wanted += [("limit", limit.metric) for limit in objective.limits]
    for field, metric in wanted:
        if metric not in baseline:
            raise InputError(field, unmeasured_words(metric, baseline))


def unmeasured_words(metric: str, known: Metrics) -> str:
    """What is wrong with a metric that is not known, and what is."""
    return f"the job has not measured {metric!r:.80}; it measured {result_names(known)}"


KEPT, BROKEN, OPEN = "kept", "broken", "not shown"


def kept_words(row: Mapping[str, Any]) -> str:
    """One line on ``KeptLimit.document``: bound in figures, margin, winner's median, runs.

    Rows of jobs of earlier versions have no ``standing``: there the median alone decided.
    """
    at = [row[side] for side in ("at_least", "at_most") if row[side] is not None]
    here = f" (here {' and '.join(map(limit_figure, at))})" if " baseline" in row["limit"] else ""
    if row["value"] is None:
        return f"{row['limit']}{here} is not kept: some runs did not measure it"
    standing = row.get("standing") or (KEPT if row["kept"] else BROKEN)
    how = "is not shown to be kept" if standing == OPEN else f"is {standing}"
    # What is broken is beyond the bound itself, whatever the margin.
    margin = row.get("margin") if standing != BROKEN else None
    within = f" within a margin of {margin:.1f}%" if margin else ""
    sure = f", {row['assured']}" if row.get("assured") else ""
    # Of a limit with a margin, not within that.
    runs = f"{row['runs_kept']} of {row['runs']} runs within {'the bound' if margin else 'it'}"
    return f"{row['limit']}{here} {how}{within}: median {limit_figure(row['value'])}{sure}, {runs}"


def limit_figure(value: float) -> str:
    """A bound, or what is compared with one, as lines on limits tell it."""
    return f"{value:,.0f}" if abs(value) >= 100_000 else f"{value:,.6g}"
