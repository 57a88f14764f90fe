"""Parallel coordinates: where in the space the best configurations lie.

Drawn as ordinary lines: Plotly's own kind needs a graphics processor and prints blank. The axes
lie across, so that long names fit on a narrow screen.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from jobs.charts.chart import Chart, Trace, scatter_trace, text_at, words
from jobs.results.figures import figure
from optimizer.trials.trial import Purpose, Trial
from sampler.common.byte_size import format_bytes
from sampler.parameters.parameter import Value

_MOST, _BEST, _AXES = 200, 15, 8
_WIDE = 20.0  # numbers that span more than this factor are placed by their logarithm


def parallel_chart(
    trials: Sequence[Trial],
    fitness: Mapping[int, float],
    names: Sequence[str],
    *,
    byte_sized: frozenset[str] = frozenset(),
) -> Chart | None:
    """At most 200 configurations as lines through the first eight parameters that vary.

    ``names`` are parameters, the most important first; values of the ``byte_sized`` are bytes.
    None with fewer than two configurations or axes.
    """
    candidates = [t for t in trials if t.purpose is Purpose.CANDIDATE and t.number in fitness]
    order = sorted(candidates, key=lambda trial: -fitness[trial.number])
    best, rest = order[:_BEST], order[_BEST:]
    step = max(1, -(-len(rest) // (_MOST - _BEST)))
    others = rest[::step]
    scales = [
        scale
        for name in names
        if (scale := _scale(name, [t.features.get(name) for t in candidates])) is not None
    ][:_AXES]
    if len(candidates) < 2 or len(scales) < 2:
        return None
    shown = len(best) + len(others)
    axis = {"line": {"color": "@line", "width": 1}, "layer": "below"}
    return Chart(
        name="parallel",
        title=f"Where the {len(best)} best of {len(candidates):,} configurations lie",
        caption=f"Each line is a configuration; the {len(best)} best stand out, the very best is "
        "thick. Where they meet on an axis, the value matters; where they spread, it hardly does."
        + (f" {shown} of {len(candidates):,} are drawn." if shown < len(candidates) else ""),
        traces=[
            _lines(others, scales, "others", {"color": "@faint", "width": 1}),
            _lines(best[1:], scales, f"best {len(best)}", {"color": "@accent", "width": 1.5}),
            _lines(best[:1], scales, "very best", {"color": "@second", "width": 3.5}),
        ],
        layout={
            "xaxis": {"range": [-0.04, 1.04], "visible": False},
            "yaxis": {"range": [len(scales) - 0.55, -0.6], "visible": False},
            "annotations": _labels(scales, byte_sized),
            "shapes": [
                {**axis, "type": "line", "x0": 0, "x1": 1, "y0": row, "y1": row}
                for row in range(len(scales))
            ],
        },
        height=110 + 62 * len(scales),
    )


class _Scale:
    """Places the values of one parameter from 0 to 1."""

    def __init__(self, name: str, values: Sequence[Value]) -> None:
        self.name = name
        numbers = [float(v) for v in values if isinstance(v, int | float)]
        named = len(numbers) < len(values) or all(isinstance(v, bool) for v in values)
        self.choices = sorted({str(v) for v in values}) if named else []
        self.low, self.high = (0.0, 0.0) if named else (min(numbers), max(numbers))
        self.log = self.low > 0 and self.high / self.low > _WIDE

    def __call__(self, value: Value | None) -> float | None:
        """Its place; None where the parameter was not active."""
        if value is None:
            return None
        if self.choices:
            return round(self.choices.index(str(value)) / (len(self.choices) - 1), 4)
        number, low, high = float(value), self.low, self.high
        if self.log:
            number, low, high = math.log(number), math.log(low), math.log(high)
        return round((number - low) / (high - low), 4)


def _scale(name: str, values: Sequence[Value | None]) -> _Scale | None:
    """None where there are not two values to tell apart."""
    known = [v for v in values if v is not None and v == v]
    return _Scale(name, known) if len({str(v) for v in known}) > 1 else None


def _lines(
    trials: Sequence[Trial], scales: Sequence[_Scale], name: str, line: Mapping[str, Any]
) -> Trace:
    points: list[tuple[float | None, int | None]] = []
    for trial in trials:
        points += [
            (scale(trial.features.get(scale.name)), row) for row, scale in enumerate(scales)
        ]
        points.append((None, None))
    return scatter_trace(
        name, points, mode="lines", line=line, hoverinfo="skip", connectgaps=False
    )


def _labels(scales: Sequence[_Scale], byte_sized: frozenset[str]) -> list[dict[str, Any]]:
    """Above each axis its name, below its ends the least and the greatest value."""
    labels = []
    for row, scale in enumerate(scales):
        low, high = _ends(scale, scale.name in byte_sized)
        many = scale.choices[1:-1]
        title = words(scale.name, 38) + (f" ({len(many) + 2} values)" if many else "")
        above: dict[str, Any] = {"yanchor": "bottom", "yshift": 3, "bgcolor": "@veil"}
        below: dict[str, Any] = {"yanchor": "top", "yshift": -3, "bgcolor": "@veil"}
        labels += [
            text_at(f"<b>{title}</b>", 0.5, row, "@ink", xanchor="center", **above),
            text_at(low, 0.0, row, xanchor="left", **below),
            text_at(high, 1.0, row, xanchor="right", **below),
        ]
    return labels


def _ends(scale: _Scale, is_bytes: bool) -> tuple[str, str]:
    if scale.choices:
        return words(scale.choices[0], 14), words(scale.choices[-1], 14)
    said = format_bytes if is_bytes else figure
    return said(scale.low), said(scale.high)
