"""The regression watch: each night's default and best against the nights before.

A series follows one metric of one item, of the default or of the best. The test is that of
`models.change_points`; docs/results/watch.md tells how often it alarms without cause, and how soon
it finds a change of which size.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Engine

from db.nightly.nights import Night, night_states, nights_of_batch
from jobs.results.fits import JobCache
from jobs.specification.specification import Specification
from models.change_points import PER_100_NIGHTS, Alarm, Outlier, detect_changes
from optimizer.objective.objective import SCALE
from optimizer.objective.objective_file import objective_from_document
from optimizer.results.document import tested_fitness
from sampler.bench.installed import short_digest
from sampler.workload.metric_table import Direction

Kind = Literal["default", "best", "noise", "machine"]
FITNESS = "fitness"
# What decides about the baseline's figures, and about how good the best can be.
_OF_DEFAULT = (
    "workload", "scale", "confirm_scale", "baseline", "baseline_options", "db_bench", "host_kind",
    "drop_unknown", "column_family",
)  # fmt: skip
# All but what is drawn anew each night, where a space came from, and what is measured beside: a
# setting that jobs learn breaks the series of the best unless it is named here.
_OF_NO_MATTER = {"seed", "shipped_space", "no_price"}
_OF_BEST = tuple(name for name in Specification.model_fields if name not in _OF_NO_MATTER)
_FIELDS: Mapping[Kind, tuple[str, ...]] = {"default": _OF_DEFAULT, "best": _OF_BEST}
_WORDS_ALONE = ("help",)


@dataclass(frozen=True, eq=False)
class Series:
    """One figure of one item through the nights."""

    item: str
    # `default`: the baseline as it was measured. `best`: the night's own winner against the
    # default of the same night, whether or not it was confirmed; nights without a proof have none.
    # Another configuration may win each night, so a change there is one of the gain that tuning
    # finds, not of one configuration. `noise`, `machine`: of a host (``jobs.regression.hosts``).
    kind: Kind
    metric: str  # its name, or `fitness` of the best
    direction: Direction  # which way is better
    logarithmic: bool  # whether `values` are natural logarithms, whose difference is a percentage
    values: NDArray[np.float64]  # shape `(nights,)`; NaN where the night has none
    # Shape `(nights,)`: what a reader knows: the metric's median, the best's change in percent, or
    # its fitness.
    shown: NDArray[np.float64]


def series_of(nights: Sequence[Night]) -> list[Series]:
    """All series, sorted by item, kind and metric as the objective names them.

    A series ends where what was asked for changes (the workload, the budget, ...), and another
    begins: its nights do not measure the same. The oldest night is the first.
    """
    found: list[Series] = []
    for item in sorted({name for night in nights for name in night.items}):
        known = [
            (number, night.items[item].result or {})
            for number, night in enumerate(nights)
            if item in night.items and night.items[item].result is not None
        ]
        for kind, fields in _FIELDS.items():
            keys = [key_of(result["job"], fields) for _, result in known]
            # Runs of nights that asked for the same.
            for _, alike in groupby(zip(keys, known, strict=True), key=itemgetter(0)):
                found += _of_stretch(item, kind, [night for _, night in alike], len(nights))
    return found


_Numbered = list[tuple[int, Mapping[str, Any]]]


def key_of(asked: Mapping[str, Any], fields: tuple[str, ...] = _OF_DEFAULT) -> str:
    """The same text for jobs that asked for the same; by default for the same baseline."""
    # What an earlier version did not know to ask for counts as not asked for.
    return json.dumps([_bare(asked.get(name) or None) for name in fields], sort_keys=True)


def _bare(document: Any) -> Any:
    if isinstance(document, str):  # an OPTIONS file was once read without the ends of its lines
        return document.replace("\r\n", "\n")
    if not isinstance(document, Mapping):
        return document
    return {name: each for name, each in document.items() if name not in _WORDS_ALONE}


def _of_stretch(item: str, kind: Kind, stretch: _Numbered, nights: int) -> list[Series]:
    found = []
    for term in objective_from_document(stretch[0][1]["job"]["objective"]).terms:
        read = _default if kind == "default" else _best
        shown = _row(stretch, nights, lambda result, m=term.metric, of=read: of(result, m))
        if kind == "best":
            with np.errstate(divide="ignore", invalid="ignore"):
                values = np.where(shown > -100, np.log1p(shown / 100), np.nan)
            logarithmic = True
        else:
            values, logarithmic = _scaled(shown)
        found.append(Series(item, kind, term.metric, term.direction, logarithmic, values, shown))
    if kind == "best":
        shown = _row(stretch, nights, lambda result: tested_fitness(result.get("verdict") or {}))
        found.append(Series(item, kind, FITNESS, "max", False, shown / SCALE, shown))
    return [each for each in found if np.isfinite(each.values).any()]


def _row(stretch: _Numbered, nights: int, of: Any) -> NDArray[np.float64]:
    row = np.full(nights, np.nan)
    for number, result in stretch:
        value = of(result)
        if isinstance(value, int | float) and math.isfinite(value):
            row[number] = value
    return row


def _default(result: Mapping[str, Any], metric: str) -> float | None:
    """The median of all of the night's runs of the baseline.

    They are spread over the whole job, those of the proof among them, so this median is steadier
    than that of the proof's alone. Nights count alike: how many runs a night had matters less than
    how nights differ.
    """
    baseline = result["baseline"]
    noise = (baseline.get("noise") or {}).get(metric) or {}
    found: float | None = noise.get("median", baseline["metrics"].get(metric))
    return found


def _best(result: Mapping[str, Any], metric: str) -> float | None:
    """The winner's change in percent, from the proof's pairs.

    Also where the proof was not passed: to leave those nights out would leave out the bad ones.
    """
    verdict = result.get("verdict") or {}
    found: float | None = ((verdict.get("change") or {}).get(metric) or {}).get("percent")
    return found


def _scaled(shown: NDArray[np.float64]) -> tuple[NDArray[np.float64], bool]:
    """Logarithms; where a value is not positive, the values over their usual distance from 0."""
    known = shown[np.isfinite(shown)]
    if (known > 0).all():
        return np.log(shown), True
    usual = float(np.median(np.abs(known))) or float(np.abs(known).max()) or 1.0
    return shown / usual, False


SCHEMA = 1
_DATES = ("since", "since_low", "since_high", "reported")


@dataclass(frozen=True)
class Amount:
    """A change with its 95% interval."""

    unit: str  # `percent`; of the fitness and of metrics that are not positive `absolute`
    change: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class LevelChange:
    """A change of level in one series."""

    series: Series
    alarm: Alarm  # the test's answer; its nights are numbers of `RegressionReport.nights`
    amount: Amount
    worse: bool  # whether it is for the worse, by the direction that the objective names
    # what changed in the environment on the nights of the date's interval
    differences: tuple[EnvironmentDifference, ...]


@dataclass(frozen=True, eq=False)
class OutlierNight:
    """A single night that stands out, which is no change of level so far."""

    series: Series
    night: int
    distance: Amount
    p: float


@dataclass(frozen=True, eq=False)
class RegressionReport:
    """What the nights of a batch show."""

    nights: tuple[Night, ...]  # the oldest first
    series: tuple[Series, ...]  # all that were followed
    findings: tuple[LevelChange, ...]  # in the order of their report
    outliers: tuple[OutlierNight, ...]  # in the order of their nights
    per_100_nights: float  # the false alarms that were borne, of the whole batch
    autocorrelation: float  # of neighbouring nights, that the newest night was judged with
    tested: int  # how many series the newest night could be judged in

    @property
    def found_tonight(self) -> tuple[LevelChange, ...]:
        """What was found on the newest night."""
        newest = len(self.nights) - 1
        return tuple(each for each in self.findings if each.alarm.reported == newest)

    @property
    def worsened(self) -> bool:
        """Whether a change for the worse was found on the newest night."""
        return any(each.worse for each in self.found_tonight)

    @property
    def newest_series(self) -> list[Series]:
        """All series; of one whose settings changed the last stretch, which goes by its name."""
        return list({(each.item, each.kind, each.metric): each for each in self.series}.values())

    def nights_of_level(self, series: Series) -> int:
        """How many nights the newest was judged with, itself included; 0 if it has no value.

        Fewer than ``LEAST_VALUES`` could not be tested.
        """
        tonight = self.found_tonight
        begins = [f.alarm.since for f in self.findings if f.series is series and f not in tonight]
        known = np.isfinite(series.values[max(begins, default=0) :])
        return int(known.sum()) if known[-1] else 0

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
            "findings": [self.finding(each) for each in self.findings],
            "outliers": [
                named(each.series)
                | {"at": self._at(each.night), "p": each.p, **asdict(each.distance)}
                for each in self.outliers
            ],
        }

    def finding(self, found: LevelChange) -> dict[str, Any]:
        """One of the findings, as JSON holds it."""
        alarm = found.alarm
        return {
            **named(found.series),
            **{name: self._at(getattr(alarm, name)) for name in _DATES},
            "batch": self.nights[alarm.reported].batch_id,
            "worse": found.worse,
            **asdict(found.amount),
            "nights_before": alarm.size.before,
            "nights_after": alarm.size.after,
            "p": alarm.p,
            "by_chance_per_100_nights": alarm.by_chance,
            "environment": [self.difference(each) for each in found.differences],
        }

    def difference(self, d: EnvironmentDifference) -> dict[str, Any]:
        """One thing that changed, as JSON holds it."""
        return {"at": self._at(d.night), "name": d.name, "before": d.before, "after": d.after}

    def _at(self, night: int) -> str:
        return self.nights[night].at.isoformat()


def detect_regressions(
    given: Sequence[Night], *, per_100_nights: float = PER_100_NIGHTS
) -> RegressionReport:
    """Judges every night of one batch by itself and those before it.

    The nights are in the order in which they began; a clock that was wrong once does not change
    that. ``per_100_nights`` are the false alarms of the whole batch that are borne in 100 nights.

    Raises:
        ValueError: The rate is not positive.
    """
    return judge_series(given, series_of(given), per_100_nights=per_100_nights)


def judge_series(
    given: Sequence[Night], series: Sequence[Series], *, per_100_nights: float = PER_100_NIGHTS
) -> RegressionReport:
    """The same of series that are at hand, each with a value for each night."""
    table = np.array([each.values for each in series]).reshape(len(series), len(given))
    watched = detect_changes(table, per_100_nights=per_100_nights)
    return RegressionReport(
        nights=tuple(given),
        series=tuple(series),
        findings=tuple(_found(given, series[alarm.series], alarm) for alarm in watched.alarms),
        outliers=tuple(_outlier(series[each.series], each) for each in watched.outliers),
        per_100_nights=per_100_nights,
        autocorrelation=float(watched.autocorrelation[-1]) if given else 0.0,
        tested=int(watched.tested[-1]) if given else 0,
    )


def date_of(at: datetime) -> str:
    """The day of a night, UTC."""
    return at.date().isoformat()


def _found(given: Sequence[Night], series: Series, alarm: Alarm) -> LevelChange:
    size = alarm.size
    amount = _amount(series, size.change, size.low, size.high)
    better = size.change > 0 if series.direction == "max" else size.change < 0
    changed = environment_differences(given, series.item, alarm.since_low, alarm.since_high)
    return LevelChange(series, alarm, amount, not better, tuple(changed))


def _outlier(series: Series, found: Outlier) -> OutlierNight:
    distance = _amount(series, found.distance, found.distance, found.distance)
    return OutlierNight(series, found.night, distance, found.p)


def _amount(series: Series, *differences: float) -> Amount:
    unit = "percent" if series.logarithmic else "absolute"
    return Amount(unit, *(_shown(series, each) for each in differences))


def _shown(series: Series, difference: float) -> float:
    if series.logarithmic:
        return 100 * math.expm1(min(difference, 700.0))
    if series.metric == FITNESS and series.kind == "best":
        return difference * SCALE
    known = np.isfinite(series.values) & (series.values != 0)
    if not known.any():
        return difference
    return difference * float(series.shown[known][0] / series.values[known][0])


def named(series: Series) -> dict[str, Any]:
    """Which series it is, as JSON holds it."""
    return {"item": series.item, "of": series.kind, "metric": series.metric}


@dataclass(frozen=True)
class EnvironmentDifference:
    """One thing that changed."""

    night: int  # the number of the first night that had it so
    name: str  # of what: `kernel`, `rocksdb`, `warnings`, ...
    # before, after: as the results hold it; None where it was not known
    before: Any
    after: Any

    def words(self) -> str:
        """In a few words."""
        if isinstance(self.before, list) and isinstance(self.after, list):
            gone = [f"no longer {_short(e)}" for e in self.before if e not in self.after]
            new = [f"now {_short(each)}" for each in self.after if each not in self.before]
            return f"{self.name}: {', '.join(gone + new) or 'in another order'}"
        was, now = ("unknown" if it is None else it for it in (self.before, self.after))
        return f"{self.name} changed from {was} to {now}"


def _short(value: Any) -> str:
    """An entry of a list; of a build its name, version and the first digits of its SHA-256."""
    if not isinstance(value, Mapping) or "digest" not in value:
        return repr(value)
    told = (value.get("name"), value.get("version"), short_digest(str(value["digest"])))
    return " ".join(str(each) for each in told if each)


def environment_differences(
    nights: Sequence[Night], item: str, low: int, high: int
) -> list[EnvironmentDifference]:
    """What changed for an item on the nights from ``low`` to ``high``, by night and name.

    Each night is compared with the last one before it that measured the item.
    """
    found: list[EnvironmentDifference] = []
    before: Mapping[str, Any] | None = None
    for number, night in enumerate(nights[: high + 1]):
        measured = night.items.get(item)
        if measured is None or measured.result is None:
            continue
        now = _flat(measured.result.get("environment") or {})
        if before is not None and number >= low:
            found += [
                EnvironmentDifference(number, name, was, is_now)
                for name in sorted(before.keys() | now.keys())
                if (was := before.get(name)) != (is_now := now.get(name))
            ]
        before = now
    return found


def _flat(document: Mapping[str, Any], within: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in document.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{within}{name}.")
        else:
            flat[f"{within}{name}"] = value
    return flat


_known = JobCache[RegressionReport]()


def regressions_of_batch(
    engine: Engine, name: str, *, ending: int | None = None
) -> RegressionReport | None:
    """The watch of all nights of a batch that have ended; None where there is none.

    Nights are judged again where one is new or has changed, and only such are read. ``ending``: as
    of ``night_states``.
    """
    states = night_states(engine, name, ending=ending)
    if not states:
        return None

    def judged() -> RegressionReport:
        last = _known.last(engine, name)
        known = () if last is None else last.nights
        return detect_regressions(nights_of_batch(engine, name, states=states, known=known))

    return _known.of(engine, name, tuple(states.items()), judged)
