"""Limits: as users write them, whether any figure can keep them, and whether a winner does.

The medians of the proof's fresh runs decide, as they do for every figure that is reported: with
a limit near the level of a noisy metric a single run beyond it is to be expected. How many runs
keep it is told beside them.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from optimizer.objective.objective import MOST_RATIO, Limit, Metrics, Objective
from sampler.common.errors import InputError
from sampler.workload.metric_units import format_metric, in_unit_of, result_names

_FIX = "write it like 'rate >= 0.95 baseline' or 'write_p99 <= 200us'"
_LIMIT = re.compile(r"\s*(?P<metric>[^<>=]*[^<>=\s])\s*(?P<sign><=|>=)\s*(?P<bound>[^<>=]*)")
_BOUND = re.compile(
    r"(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)?\s*(?P<unit>.*)", re.ASCII | re.IGNORECASE
)
_BASELINE = re.compile(r"(?P<percent>%)?\s*(?:x|of)?\s*baseline", re.IGNORECASE)


def parse_limit(text: str, *, field: str = "--limit") -> Limit:
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


@dataclass(frozen=True)
class KeptLimit:
    """How the winner stands to one limit."""

    limit: Limit  # as it was asked for
    bound: Limit  # in figures alone, by the medians of the baseline's fresh runs
    value: float | None  # the median of the winner's; None where a run lacks the metric
    # How many runs of the winner keep it, multiples of the baseline by the run of the baseline
    # beside it: neighbours in time, on the same host.
    runs_kept: int
    runs: int  # of how many

    @property
    def kept(self) -> bool:
        """Whether the median is within the bound."""
        return self.value is not None and self.bound.holds({self.bound.metric: self.value})

    def document(self) -> dict[str, Any]:
        """As JSON holds it; a side without a bound is null."""
        bounds = {side: getattr(self.bound, side) for side in ("at_most", "at_least")}
        return {
            "limit": limit_words(self.limit),
            "metric": self.limit.metric,
            **{side: value if math.isfinite(value) else None for side, value in bounds.items()},
            "value": self.value,
            "kept": self.kept,
            "runs_kept": self.runs_kept,
            "runs": self.runs,
        }


def limits_kept(
    limits: Sequence[Limit],
    pairs: Sequence[tuple[Metrics, Metrics]],
    medians: tuple[Metrics, Metrics],
) -> tuple[KeptLimit, ...]:
    """How the winner stands to each of the objective's limits.

    ``pairs`` are (baseline's metrics, winner's metrics) of the proof, ``medians`` those of all.
    """
    baseline, winner = medians
    return tuple(
        KeptLimit(
            limit=limit,
            bound=limit.resolved(baseline),
            value=winner.get(limit.metric),
            runs_kept=sum(limit.holds(mine, theirs) for theirs, mine in pairs),
            runs=len(pairs),
        )
        for limit in limits
    )


def kept_words(row: Mapping[str, Any]) -> str:
    """One line on ``KeptLimit.document``: bound in figures, winner's median, share of runs."""
    at = [row[side] for side in ("at_least", "at_most") if row[side] is not None]
    here = f" (here {' and '.join(map(_figure, at))})" if " baseline" in row["limit"] else ""
    if row["value"] is None:
        return f"{row['limit']}{here} is not kept: some runs did not measure it"
    kept = "is kept" if row["kept"] else "is broken"
    runs = f"{row['runs_kept']} of {row['runs']} runs"
    return f"{row['limit']}{here} {kept}: median {_figure(row['value'])}, {runs} within it"


def _figure(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100_000 else f"{value:,.6g}"
