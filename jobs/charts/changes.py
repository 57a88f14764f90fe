"""How far each metric has changed between paired runs, how sure that is, and the runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jobs.charts import chart
from optimizer.objective.objective import Term

_FARTHEST = 150.0  # percent; an interval that knows nothing would squeeze the others to a line


def changes_chart(
    rows: Sequence[tuple[str, Mapping[str, float]]],
    terms: Sequence[Term],
    detectable: Mapping[str, float],
) -> chart.Chart | None:
    """The changes with their intervals; None without a row.

    Args:
        rows: (metric, its ``percent``, ``low``, ``high`` against the baseline).
        terms: Of the objective: they say which way is better.
        detectable: By metric, the smallest change in percent that the proof would have shown.
    """
    if not rows:
        return None
    better = {term.metric: -1 if term.direction == "min" else 1 for term in terms}
    points = [
        _point(row, name, change, better.get(name)) for row, (name, change) in enumerate(rows)
    ]
    names, shown = [name for name, _ in rows], _range(rows)
    return chart.Chart(
        name="changes",
        title=_title(rows, better),
        caption="Dots: mean change of the pairs; bars: 95% intervals. One that crosses 0 may be "
        "noise." + _band_words(detectable, names) + _beyond_words(rows),
        traces=points,
        layout={
            "xaxis": chart.axis("change against the baseline, %", zeroline=False, range=shown),
            "yaxis": chart.rows_axis(names),
            "shapes": [
                chart.line_at(0.0, across="x", dash="solid"),
                *_bands(names, detectable, shown),
            ],
            "showlegend": False,
        },
        height=110 + 34 * len(rows),
    )


def _point(row: int, name: str, change: Mapping[str, float], better: int | None) -> dict[str, Any]:
    low, high, percent = change["low"], change["high"], change["percent"]
    color = _colour(low, high, better)
    return chart.scatter_trace(
        chart.words(name),
        [chart.short(percent)],
        [row],
        error_x=chart.interval_bars([percent], [low], [high], color, 2),
        marker={"size": 11, "color": color},
        hovertext=[f"{chart.words(name)}: {percent:+.1f}%, {low:+.1f}% to {high:+.1f}%"],
        hoverinfo="text",
    )


def _colour(low: float, high: float, better: int | None) -> str:
    if better is None or low <= 0 <= high:
        return "@dim"
    return "@accent" if (low > 0) == (better > 0) else "@second"


def _title(rows: Sequence[tuple[str, Mapping[str, float]]], better: Mapping[str, int]) -> str:
    sure = {
        name: (change["low"] > 0) == (better[name] > 0)
        for name, change in rows
        if name in better and not change["low"] <= 0 <= change["high"]
    }
    parts = [
        ([name for name, good in sure.items() if good], "better"),
        ([name for name, good in sure.items() if not good], "worse"),
        ([n for n, _ in rows if n in better and n not in sure], "not told from noise"),
    ]
    said = [f"{', '.join(names)} {how}" for names, how in parts if names]
    return "; ".join(said) if said else "Changes with their intervals"


def _range(rows: Sequence[tuple[str, Mapping[str, float]]]) -> list[float]:
    low = min(0.0, *(max(change["low"], -_FARTHEST) for _, change in rows))
    high = max(0.0, *(min(change["high"], _FARTHEST) for _, change in rows))
    room = 0.06 * (high - low) or 1.0
    return [low - room, high + room]


def _bands(
    names: Sequence[str], detectable: Mapping[str, float], shown: Sequence[float]
) -> list[dict[str, Any]]:
    """Cut at the plot's edges: a shape beyond them makes the page wider than a phone."""
    left, right = shown
    return [
        chart.area(
            x0=max(-detectable[name], left),
            x1=min(detectable[name], right),
            y0=row - 0.32,
            y1=row + 0.32,
        )
        for row, name in enumerate(names)
        if name in detectable
    ]


def _band_words(detectable: Mapping[str, float], names: Sequence[str]) -> str:
    if not any(name in detectable for name in names):
        return ""
    return " Shaded: changes too small for this proof to show them 8 times in 10."


def _beyond_words(rows: Sequence[tuple[str, Mapping[str, float]]]) -> str:
    beyond = [n for n, c in rows if c["low"] < -_FARTHEST or c["high"] > _FARTHEST]
    return f" The interval of {', '.join(beyond)} goes on beyond the plot." if beyond else ""


def runs_chart(
    name: str, metric: str, unit: str | None, runs: Mapping[str, Sequence[tuple[int, float]]]
) -> chart.Chart | None:
    """What every run gave; None without a run.

    Args:
        name: Of the plot, unique in the page.
        metric: Whose figures they are.
        unit: Theirs; None for a ratio.
        runs: By subject, (round, figure).
    """
    if not any(runs.values()):
        return None
    traces = [
        chart.scatter_trace(
            chart.words(subject),
            [number for number, _ in points],
            [chart.short(value) for _, value in points],
            mode="lines+markers",
            line={"color": color, "width": 1, "dash": "dot"},
            marker={"color": color, "size": 8},
            hovertemplate="round %{x}: %{y}<extra>" + chart.words(subject) + "</extra>",
        )
        for (subject, points), color in zip(runs.items(), chart.SERIES, strict=False)
    ]
    return chart.Chart(
        name=name,
        title=f"{metric}, round by round",
        caption="Each dot is a run. What goes up and down together is the machine.",
        traces=traces,
        layout={
            "xaxis": chart.axis("round", dtick=max(1, max(map(_rounds, runs.values())) // 10)),
            "yaxis": chart.axis(metric + (f", {unit}" if unit else ""), rangemode="tozero"),
        },
        height=280,
    )


def _rounds(points: Sequence[tuple[int, float]]) -> int:
    return max((number for number, _ in points), default=1)
