"""A preference as a form of sliders gives it, and as the interface takes it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fastapi import Request

from jobs.views.pick import Preference
from optimizer.objective.objective_file import MOST_WEIGHT
from sampler.common.errors import InputError

PREFIX = "weight-"
_ALSO = ("rate", "write_p99", "read_p99", "waf", "sa", "time", "memory", "cpu_percent")
_USUAL_MOST = 5.0


@dataclass(frozen=True)
class Slider:
    """One metric's weight.

    Attributes:
        metric: Its name; ``weight-METRIC`` is the field's.
        weight: As asked for, or that of the objective; 0: it does not count.
        most: The end of the slider.
    """

    metric: str
    weight: float
    most: float

    @property
    def text(self) -> str:
        """The weight as a form has it."""
        return f"{self.weight:g}"


def sliders(
    request: Request, own: Mapping[str, float], known: Mapping[str, float]
) -> tuple[list[Slider], bool]:
    """The sliders of a job, and whether a preference was asked for.

    Args:
        request: Its query has a field for each slider that was moved.
        own: The weights of the job's objective by metric.
        known: The baseline's metrics.

    Raises:
        InputError: A weight is none.
    """
    names = list(dict.fromkeys([*own, *(name for name in _ALSO if name in known)]))
    given = {
        name: _weight(name, request.query_params[PREFIX + name])
        for name in names
        if PREFIX + name in request.query_params
    }
    shown = [
        Slider(name, weight, max(_USUAL_MOST, 2 * own.get(name, 0.0), weight))
        for name in names
        for weight in [given.get(name, 0.0 if given else own.get(name, 0.0))]
    ]
    return shown, bool(given)


def preference_of(shown: Sequence[Slider], limits: str) -> Preference:
    """What the form asks for; its limits are apart by semicolons or lines.

    Raises:
        InputError: Every weight is 0.
    """
    counted = [each for each in shown if each.weight > 0]
    if not counted:
        raise InputError("weights", "every weight is 0; move at least one slider")
    weights = ",".join(f"{each.metric}={each.text}" for each in counted)
    named = [part.strip() for part in limits.replace("\n", ";").split(";")]
    return Preference(weights=weights, limits=[part for part in named if part])


def _weight(name: str, text: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = math.nan
    if not 0 <= weight <= MOST_WEIGHT:
        raise InputError("weights", f"{name}: {text!r:.40} is no number from 0 to {MOST_WEIGHT:g}")
    return weight
