"""How far each metric has changed between paired runs, how sure that is, and the runs."""

from collections.abc import Mapping, Sequence
from typing import Any

from jobs.charts import chart
from optimizer.objective.objective import Term

_FARTHEST = 150.0  # percent; an interval that knows nothing would squeeze the others to a line
Changes = Sequence[tuple[str, Mapping[str, float]]]
"""(metric, its ``percent``, ``low``, ``high`` against the baseline)."""


def changes_chart(
    rows: Changes, terms: Sequence[Term], detectable: Mapping[str, float]
) -> chart.Chart | None:
    """The changes with their intervals; None without a row.

    The objective's terms say which way is better. ``detectable`` is by metric the smallest change
    in percent that the proof would have shown.
    """
    if not rows:
        return None
    minimised = {term.metric: term.direction == "min" for term in terms}
    # What is sure, and whether it is for the better.
    sure = {
        name: (change["low"] > 0) != minimised[name]
        for name, change in rows
        if name in minimised and not change["low"] <= 0 <= change["high"]
    }
    colours = {True: "@accent", False: "@second", None: "@dim"}
    points = [
        _point(row, name, change, colours[sure.get(name)])
        for row, (name, change) in enumerate(rows)
    ]
    names, shown = [name for name, _ in rows], _range(rows)
    bands = _bands(names, detectable, shown)
    beyond = [n for n, c in rows if c["low"] < -_FARTHEST or c["high"] > _FARTHEST]
    groups = [
        ([name for name, good in sure.items() if good], "better"),
        ([name for name, good in sure.items() if not good], "worse"),
        (
            [name for name in names if name in minimised and name not in sure],
            "not told from noise",
        ),
    ]
    said = "; ".join(f"{', '.join(group)} {how}" for group, how in groups if group)
    return chart.Chart(
        name="changes",
        title=said or "Changes with their intervals",
        caption="Dots: mean change of the pairs; bars: 95% intervals. One that crosses 0 may be "
        "noise."
        + (
            " Shaded: changes too small for this proof to show them 8 times in 10."
            if bands
            else ""
        )
        + (f" The interval of {', '.join(beyond)} goes on beyond the plot." if beyond else ""),
        traces=points,
        layout={
            "xaxis": chart.axis("change against the baseline, %", zeroline=False, range=shown),
            "yaxis": chart.rows_axis(names),
            "shapes": [chart.line_at(0.0, across="x", dash="solid"), *bands],
            "showlegend": False,
        },
        height=110 + 34 * len(rows),
    )


def _point(row: int, name: str, change: Mapping[str, float], color: str) -> chart.Trace:
    low, high, percent = change["low"], change["high"], change["percent"]
    return chart.scatter_trace(
        chart.words(name),
        [(percent, row)],
        error_x=chart.interval_bars([percent], [low], [high], color, 2),
        marker={"size": 11, "color": color},
        hovertext=[f"{chart.words(name)}: {percent:+.1f}%, {low:+.1f}% to {high:+.1f}%"],
        hoverinfo="text",
    )


def _range(rows: Changes) -> list[float]:
    low = min(0.0, *(max(change["low"], -_FARTHEST) for _, change in rows))
    high = max(0.0, *(min(change["high"], _FARTHEST) for _, change in rows))
    room = 0.06 * (high - low) or 1.0
    return [low - room, high + room]


def _bands(
    names: Sequence[str], detectable: Mapping[str, float], shown: Sequence[float]
) -> list[dict[str, Any]]:
    """Cut at the plot's edges: a shape beyond them makes the page wider than a phone."""
    left, right = shown
    reaches = [(row, detectable[name]) for row, name in enumerate(names) if name in detectable]
    return [
        chart.area(x0=max(-reach, left), x1=min(reach, right), y0=row - 0.32, y1=row + 0.32)
        for row, reach in reaches
    ]


def runs_chart(
    name: str, metric: str, unit: str | None, runs: Mapping[str, Sequence[tuple[int, float]]]
) -> chart.Chart | None:
    """What every run gave, by subject as (round, figure); None without a run."""
    if not any(runs.values()):
        return None
    traces = [
        chart.scatter_trace(
            chart.words(subject),
            points,
            mode="lines+markers",
            line={"color": color, "width": 1, "dash": "dot"},
            marker={"color": color, "size": 8},
            hover="round %{x}: %{y}",
            extra=chart.words(subject),
        )
        for (subject, points), color in zip(runs.items(), chart.SERIES, strict=False)
    ]
    last = max(number for points in runs.values() for number, _ in points)
    return chart.Chart(
        name=name,
        title=f"{metric}, round by round",
        caption="Each dot is a run. What goes up and down together is the machine.",
        traces=traces,
        layout={
            "xaxis": chart.axis("round", dtick=max(1, last // 10)),
            "yaxis": chart.axis(metric + (f", {unit}" if unit else ""), rangemode="tozero"),
        },
        height=280,
    )
