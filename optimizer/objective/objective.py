"""What is better: the paper's fitness by default, weights and limits of one's own.

Limits: as users write them, whether any figure can keep them, and how a winner kept them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, TypeVar

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field

from sampler.common.documents import Finite, Switch, Text
from sampler.common.errors import InputError
from sampler.workload.metric_table import (
    METRICS,
    Direction,
    format_metric,
    in_unit_of,
    result_names,
    shown_in,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from models import Floats

Metrics = Mapping[str, float]  # by name, each in its own unit
Number = TypeVar("Number", float, "Floats")
SCALE = 1000.0
MOST_RATIO = 1e6  # of a limit to the baseline
MOST_WEIGHT = 1e6
MOST_GAIN = 1e4  # of a term
Ratio = Annotated[Finite, Field(gt=0, le=MOST_RATIO)]
_PARTIAL, _BROKEN = 1e13, 1e15  # far below any fitness that can be measured


@dataclass(frozen=True)
class Term:
    """One metric of the fitness: which way is better, and how much it weighs."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    metric: Annotated[Text, Field(alias="name")]
    direction: Annotated[Direction, Field(description="min or max")]
    weight: Annotated[Finite, Field(gt=0, le=MOST_WEIGHT)] = 1.0

    def gain(self, value: Number, baseline: float) -> Number:
        """The relative change against the baseline, positive when better; see ``gain_of``."""
        return self.gain_of((value - baseline) / (abs(baseline) or 1.0))

    def gain_of(self, change: Number) -> Number:
        """What a relative change gains (0.1: 10% more): of one measurement or of an array."""
        # A baseline near 0 gives infinity.
        if isinstance(change, float):
            clipped = max(-MOST_GAIN, min(change, MOST_GAIN))
        else:
            clipped = change.clip(-MOST_GAIN, MOST_GAIN)
        return clipped if self.direction == "max" else -clipped


@dataclass(frozen=True)
class Limit:
    """A metric that must stay at or within a bound, whatever the fitness."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    metric: Text
    at_most: Finite = math.inf  # at_most, at_least: in the metric's own unit
    at_least: Finite = -math.inf
    # at_most_baseline, at_least_baseline: multiples of the baseline's figure (0.95 is 95% of it);
    # None: the baseline does not matter.
    at_most_baseline: Ratio | None = None
    at_least_baseline: Ratio | None = None

    @property
    def bounds(self) -> tuple[Limit, ...]:
        """Its bounds apart, as limits of one bound each."""
        sides = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "metric"}
        return tuple(
            Limit(self.metric, **{side: bound})
            for side, bound in sides.items()
            if bound is not None and math.isfinite(bound)
        )

    @property
    def is_floor(self) -> bool:
        """Whether it has a least value, so that more of the metric is better."""
        return self.at_least_baseline is not None or math.isfinite(self.at_least)

    @property
    def figure(self) -> float:
        """Of a limit of one bound: the bound, or how many times the baseline's figure it is."""
        multiple = self.at_least_baseline or self.at_most_baseline
        return multiple or (self.at_least if self.is_floor else self.at_most)

    @property
    def beside_baseline(self) -> bool:
        """Whether a bound is a multiple of the baseline's figure."""
        return self.at_most_baseline is not None or self.at_least_baseline is not None

    def resolved(self, baseline: Metrics) -> Limit:
        """The same limit in figures alone; of bounds on the same side the tighter one.

        Where the baseline lacks the metric nothing can keep a multiple of it.
        """
        if not self.beside_baseline:
            return self
        level = baseline.get(self.metric)
        most, least = self.at_most, self.at_least
        if self.at_most_baseline is not None:
            most = min(most, -math.inf if level is None else self.at_most_baseline * level)
        if self.at_least_baseline is not None:
            least = max(least, math.inf if level is None else self.at_least_baseline * level)
        return Limit(self.metric, most, least)

    def holds(self, metrics: Metrics, baseline: Metrics = MappingProxyType({})) -> bool:
        """Whether a measurement keeps the limit; one that lacks the metric does not."""
        bound, value = self.resolved(baseline), metrics.get(self.metric)
        return value is not None and bound.at_least <= value <= bound.at_most


def _each_once(terms: tuple[Term, ...]) -> tuple[Term, ...]:
    if not terms:
        raise InputError("", "list at least one [[metric]]")
    if len({term.metric for term in terms}) < len(terms):
        raise InputError("", "lists a metric twice")
    return terms


def _bounded(limit: Limit) -> Limit:
    """A limit of a document, which has a bound, and none below another."""
    bounds = {bound.name: getattr(limit, bound.name) for bound in fields(limit)[1:]}
    if not limit.bounds:
        raise InputError("at_most", f"give one of {', '.join(bounds)}")
    for kind in ("", "_baseline"):
        most, least = bounds[f"at_most{kind}"], bounds[f"at_least{kind}"]
        if least is not None and most is not None and least > most:
            raise InputError(f"at_least{kind}", f"{least:g} is above at_most{kind}, {most:g}")
    return limit


@dataclass(frozen=True)
class Objective:
    """Eq. 2 of Jin et al. (JIPS 2022) over chosen metrics, each term with a weight.

    ``fitness = 1000 * sum of weight * relative gain``: 0 is the baseline, higher is better. A term
    of a metric to be raised is unbounded, one of a metric to be lowered is at most its weight, so
    the terms are always shown beside the sum.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    name: Text
    terms: Annotated[tuple[Term, ...], Field(alias="metric"), AfterValidator(_each_once)]
    limits: Annotated[
        tuple[Annotated[Limit, AfterValidator(_bounded)], ...], Field(alias="limit")
    ] = ()
    pareto: Switch = False
    help: Annotated[str, BeforeValidator(str)] = ""

    @property
    def metrics(self) -> tuple[str, ...]:
        """All that it asks for, each once: of its terms, then of its limits."""
        asked = [term.metric for term in self.terms] + [limit.metric for limit in self.limits]
        return tuple(dict.fromkeys(asked))

    @property
    def named(self) -> dict[str, Direction]:
        """The metrics that a verdict may name as gain or cost, by which way is better.

        Those of the terms and the limits; then those that every verdict names, as far as measured.
        """
        ways = {term.metric: term.direction for term in self.terms}
        for limit in self.limits:
            ways.setdefault(limit.metric, "max" if limit.is_floor else "min")
        for name in shown_in("verdict"):
            ways.setdefault(name, METRICS[name].better or "min")
        return ways

    def weighted(self, gains: Mapping[str, Number]) -> dict[str, Number]:
        """What each term that has a gain adds to the fitness: 1000 * weight * gain (Eq. 2)."""
        return {
            term.metric: SCALE * term.weight * gains[term.metric]
            for term in self.terms
            if term.metric in gains
        }

    def gains(self, metrics: Metrics, baseline: Metrics) -> dict[str, float]:
        """What each term adds to the fitness of a measurement; those that can be computed."""
        return self.weighted(
            {
                term.metric: term.gain(metrics[term.metric], baseline[term.metric])
                for term in self.terms
                if term.metric in metrics and term.metric in baseline
            }
        )

    def gains_of_changes(self, changes: Metrics) -> dict[str, float]:
        """What each term adds to the fitness where its metric changes by so many percent."""
        known = [term for term in self.terms if term.metric in changes]
        return self.weighted({t.metric: t.gain_of(changes[t.metric] / 100) for t in known})

    def fitness(self, metrics: Metrics, baseline: Metrics) -> float | None:
        """The fitness; None where a metric is missing."""
        gains = self.gains(metrics, baseline)
        return sum(gains.values()) if len(gains) == len(self.terms) else None

    def fitness_of_many(self, metrics: Mapping[str, Floats], baseline: Metrics) -> Floats:
        """The fitness of many measurements at once, to the last digit that of ``fitness``.

        Of each term's metric it takes an array, a value a measurement, and returns one of that
        shape: NaN where a metric is NaN, that is missing.
        """
        import numpy as np

        with np.errstate(over="ignore"):
            gains = {
                term.metric: term.gain(metrics[term.metric], baseline.get(term.metric, math.nan))
                for term in self.terms
            }
        return self._summed(gains)

    def fitness_of_changes(self, changes: Mapping[str, Floats]) -> Floats:
        """The fitness where metrics differ by such ratios from the baseline's (0.1: 10% more)."""
        return self._summed({t.metric: t.gain_of(changes[t.metric]) for t in self.terms})

    def _summed(self, gains: Mapping[str, Floats]) -> Floats:
        import numpy as np

        return np.asarray(sum(self.weighted(gains).values()), dtype=np.float64)

    def bounds(self, baseline: Metrics) -> tuple[Limit, ...]:
        """Every limit in figures alone (``metric``, ``at_most``, ``at_least``), in their order."""
        return tuple(limit.resolved(baseline) for limit in self.limits)

    def admissible(self, metrics: Metrics, baseline: Metrics) -> bool:
        """Whether every limit holds, multiples of the baseline by the one that is given."""
        return all(limit.holds(metrics) for limit in self.bounds(baseline))

    def kept_limits(self, metrics: Mapping[str, Floats], baseline: Metrics) -> NDArray[np.bool_]:
        """Which limits many measurements keep: a row a limit, each of the shape of a metric."""
        import numpy as np

        kept = np.ones((len(self.limits), *next(iter(metrics.values())).shape), dtype=np.bool_)
        for row, limit in enumerate(self.bounds(baseline)):
            values = metrics[limit.metric]
            kept[row] = (values >= limit.at_least) & (values <= limit.at_most)
        return kept

    def rank_value(self, metrics: Metrics, baseline: Metrics) -> float:
        """A number to sort measurements by, broken limits and partial ones at the end.

        A trial that was cut off has bounds for some terms and nothing for others; counting the
        missing as no gain, they are sorted among themselves, below all whole measurements.
        """
        fitness = self.fitness(metrics, baseline)
        if fitness is None:
            return min(sum(self.gains(metrics, baseline).values()), 0.0) - _PARTIAL
        return fitness if self.admissible(metrics, baseline) else fitness - _BROKEN


def pareto_front(points: Mapping[int, Metrics], terms: tuple[Term, ...]) -> list[int]:
    """The keys of the measurements that no other is at least as good as in every term."""
    import numpy as np

    keys = [k for k, metrics in points.items() if all(t.metric in metrics for t in terms)]
    if not keys:
        return []
    signs = [1.0 if term.direction == "max" else -1.0 for term in terms]
    values = np.array([[points[key][term.metric] for term in terms] for key in keys]) * signs
    # Best first in the first term: whatever beats a point stands before it, or is on the front.
    kept: list[int] = []
    for place in np.lexsort(tuple(-values.T[::-1])).tolist():
        front, mine = values[kept], values[place]
        if not ((front >= mine).all(axis=1) & (front > mine).any(axis=1)).any():
            kept.append(place)
    return [keys[place] for place in sorted(kept)]


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


def limit_figure(value: float) -> str:
    """A bound, or what is compared with one, as lines on limits tell it."""
    return f"{value:,.0f}" if abs(value) >= 100_000 else f"{value:,.6g}"
