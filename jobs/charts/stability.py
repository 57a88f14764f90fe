"""How far the ranks can be trusted: their intervals over resampled trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jobs.charts.chart import SERIES, Chart, Trace, axis, rows_axis, words

_MOST = 10


def stability(parameters: Sequence[Mapping[str, Any]], metrics: Sequence[str]) -> Chart | None:
    """Rank intervals of the most important parameters, one line for each metric.

    Args:
        parameters: Rows of ``result.json``, the most important first.
        metrics: In the order of the objective; the first four are drawn.

    Returns:
        The plot; None where no rank was resampled.
    """
    rows = list(parameters[:_MOST])
    drawn = [m for m in metrics if any("rank_low" in r["importance"].get(m, {}) for r in rows)]
    drawn = drawn[: len(SERIES)]
    if not drawn:
        return None
    steady = [
        row["name"]
        for row in rows
        if any(row["importance"].get(m, {}).get("rank_high", 99) <= 5 for m in drawn)
    ]
    return Chart(
        name="stability",
        title=f"Surely among the five most important for a metric: {len(steady)} of the "
        f"{len(rows)} first"
        if steady
        else "No parameter is surely among the five most important for any metric",
        caption="95% intervals of the rank, by the decrease in impurity, over bootstrap resamples "
        "of the drawn trials. Short lines at the left are knowledge, long ones are guesses.",
        traces=[_intervals(rows, m, i, len(drawn)) for i, m in enumerate(drawn)],
        layout={
            "xaxis": axis("rank (1: most important)", range=[0, len(parameters) + 1]),
            "yaxis": rows_axis([row["name"] for row in rows]),
        },
        height=140 + 38 * len(rows),
    )


def _intervals(rows: Sequence[Mapping[str, Any]], metric: str, place: int, of: int) -> Trace:
    x: list[float | None] = []
    y: list[float | None] = []
    said: list[str | None] = []
    for index, row in enumerate(rows):
        found = row["importance"].get(metric, {})
        if "rank_low" not in found:
            continue
        low, high = found["rank_low"], found["rank_high"]
        level = index + (place - (of - 1) / 2) * 0.8 / of
        text = f"{words(row['name'])}, {words(metric)}: rank {low:.0f} to {high:.0f}"
        x += [low, high, None]  # None parts the lines
        y += [level, level, None]
        said += [text, text, None]
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": words(metric),
        "x": x,
        "y": y,
        "hovertext": said,
        "hoverinfo": "text",
        "line": {"color": SERIES[place], "width": 3},
        "marker": {"color": SERIES[place], "size": 5},
    }
