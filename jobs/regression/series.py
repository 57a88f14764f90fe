"""The series that a regression watch follows: one for each item, each metric, default and best."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from db.nightly.nights import Night
from jobs.results.best_words import tested_fitness
from jobs.specification.specification import Specification
from optimizer.objective.objective import SCALE, Direction
from optimizer.objective.objective_file import objective_from_document

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
