"""The regression watch: each night's default and best against the nights before.

The test is `change_point_watch`; docs/results/watch.md tells how often it alarms without
cause, and how soon it finds a change of which size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from db.nightly.nights import Night
from jobs.regression.watch_environment import Difference, differences
from jobs.regression.watch_series import FITNESS, Series, series_of
from models.change_points.detection import PER_100_NIGHTS, Alarm, detect_changes
from optimizer.objective.objective import SCALE

SCHEMA = 1


@dataclass(frozen=True)
class Amount:
    """A change with its 95% interval.

    Attributes:
        unit: ``percent``; of the fitness and of metrics that are not positive ``absolute``.
    """

    unit: str
    change: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Finding:
    """A change of level in one series.

    Attributes:
        series: Whose.
        alarm: The test's answer; its nights are numbers of ``Watch.nights``.
        amount: How much.
        worse: Whether it is for the worse, by the direction that the objective names.
        differences: What changed in the environment on the nights of the date's interval.
    """

    series: Series
    alarm: Alarm
    amount: Amount
    worse: bool
    differences: tuple[Difference, ...]


@dataclass(frozen=True, eq=False)
class OutlierNight:
    """A single night that stands out, which is no change of level so far."""

    series: Series
    night: int
    distance: Amount
    p: float


@dataclass(frozen=True, eq=False)
class Watch:
    """What the nights of a batch show.

    Attributes:
        nights: The oldest first.
        series: All that were followed.
        findings: In the order of their report.
        outliers: In the order of their nights.
        per_100_nights: The false alarms that were borne, of the whole batch.
        autocorrelation: Of neighbouring nights, that the newest night was judged with.
        tested: How many series the newest night could be judged in.
    """

    nights: tuple[Night, ...]
    series: tuple[Series, ...]
    findings: tuple[Finding, ...]
    outliers: tuple[OutlierNight, ...]
    per_100_nights: float
    autocorrelation: float
    tested: int

    @property
    def worsened(self) -> bool:
        """Whether a change for the worse was found on the newest night."""
        newest = len(self.nights) - 1
        return any(each.worse and each.alarm.reported == newest for each in self.findings)

    def document(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {
            "schema": SCHEMA,
            "nights": [{"batch": n.batch_id, "at": n.at.isoformat()} for n in self.nights],
            "false_alarms_per_100_nights": self.per_100_nights,
            "series": len(self.series),
            "tested": self.tested,
            "autocorrelation": self.autocorrelation,
            "worsened": self.worsened,
            "findings": [self._finding(each) for each in self.findings],
            "outliers": [
                _named(each.series)
                | {"at": self._at(each.night), "p": each.p, **_amount(each.distance)}
                for each in self.outliers
            ],
        }

    def _finding(self, found: Finding) -> dict[str, Any]:
        alarm = found.alarm
        return {
            **_named(found.series),
            "since": self._at(alarm.since),
            "since_low": self._at(alarm.since_low),
            "since_high": self._at(alarm.since_high),
            "reported": self._at(alarm.reported),
            "batch": self.nights[alarm.reported].batch_id,
            "worse": found.worse,
            **_amount(found.amount),
            "nights_before": alarm.size.before,
            "nights_after": alarm.size.after,
            "p": alarm.p,
            "by_chance_per_100_nights": alarm.by_chance,
            "environment": [
                {"at": self._at(d.night), "name": d.name, "before": d.before, "after": d.after}
                for d in found.differences
            ],
        }

    def _at(self, night: int) -> str:
        return self.nights[night].at.isoformat()


def watch(given: Sequence[Night], *, per_100_nights: float = PER_100_NIGHTS) -> Watch:
    """Judges every night by itself and those before it.

    Args:
        given: The nights of one batch, in the order in which they began; a clock that was wrong
            once does not change that.
        per_100_nights: False alarms of the whole batch that are borne in 100 nights.

    Raises:
        ValueError: The rate is not positive.
    """
    series = series_of(given)
    table = np.array([each.values for each in series]).reshape(len(series), len(given))
    watched = detect_changes(table, per_100_nights=per_100_nights)
    return Watch(
        nights=tuple(given),
        series=tuple(series),
        findings=tuple(_found(given, series[alarm.series], alarm) for alarm in watched.alarms),
        outliers=tuple(
            OutlierNight(series[o.series], o.night, _one(series[o.series], o.distance), o.p)
            for o in watched.outliers
        ),
        per_100_nights=per_100_nights,
        autocorrelation=float(watched.autocorrelation[-1]) if given else 0.0,
        tested=int(watched.tested[-1]) if given else 0,
    )


def date_of(at: datetime) -> str:
    """The day of a night, UTC."""
    return at.date().isoformat()


def _found(given: Sequence[Night], series: Series, alarm: Alarm) -> Finding:
    size = alarm.size
    amount = Amount(
        unit_of(series), *(_shown(series, each) for each in (size.change, size.low, size.high))
    )
    better = size.change > 0 if series.direction == "max" else size.change < 0
    changed = differences(given, series.item, alarm.since_low, alarm.since_high)
    return Finding(series, alarm, amount, not better, tuple(changed))


def _one(series: Series, distance: float) -> Amount:
    shown = _shown(series, distance)
    return Amount(unit_of(series), shown, shown, shown)


def unit_of(series: Series) -> str:
    """What a change of the series is told in."""
    return "percent" if series.logarithmic else "absolute"


def _shown(series: Series, difference: float) -> float:
    if series.logarithmic:
        return 100 * math.expm1(min(difference, 700.0))
    if series.metric == FITNESS and series.kind == "best":
        return difference * SCALE
    known = np.isfinite(series.values) & (series.values != 0)
    if not known.any():
        return difference
    return difference * float(series.shown[known][0] / series.values[known][0])


def _named(series: Series) -> dict[str, Any]:
    return {"item": series.item, "of": series.kind, "metric": series.metric}


def _amount(amount: Amount) -> dict[str, Any]:
    return {
        "unit": amount.unit,
        "change": amount.change,
        "low": amount.low,
        "high": amount.high,
    }
