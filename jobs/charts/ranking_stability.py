"""How far a ranking can be trusted: intervals of the ranks, and how they settled draw by draw."""

from collections.abc import Mapping, Sequence
from typing import Any

from jobs.charts import chart

_MOST = 10


def stability_chart(
    parameters: Sequence[Mapping[str, Any]], metrics: Sequence[str]
) -> chart.Chart | None:
    """Rank intervals of the most important parameters for the first four metrics.

    ``parameters`` are rows of ``result.json``, the most important first. None where no rank was
    resampled.
    """
    rows = list(parameters[:_MOST])
    drawn = [m for m in metrics if any("rank_low" in r["importance"].get(m, {}) for r in rows)]
    drawn = drawn[: len(chart.SERIES)]
    if not drawn:
        return None
    steady = [
        row["name"]
        for row in rows
        if any(row["importance"].get(m, {}).get("rank_high", 99) <= 5 for m in drawn)
    ]
    return chart.Chart(
        name="stability",
        title=f"Surely among the five most important for a metric: {len(steady)} of the "
        f"{len(rows)} first"
        if steady
        else "No parameter is surely among the five most important for any metric",
        caption="95% intervals of the rank by the forest, over bootstrap resamples of its trials. "
        "Short lines at the left are knowledge, long ones are guesses.",
        traces=[_intervals(rows, m, i, len(drawn)) for i, m in enumerate(drawn)],
        layout={
            "xaxis": chart.axis("rank (1: most important)", range=[0, len(parameters) + 1]),
            "yaxis": chart.rows_axis([row["name"] for row in rows]),
        },
        height=140 + 38 * len(rows),
    )


def _intervals(rows: Sequence[Mapping[str, Any]], metric: str, place: int, of: int) -> chart.Trace:
    points: list[tuple[float | None, float | None]] = []
    said: list[str | None] = []
    for index, row in enumerate(rows):
        found = row["importance"].get(metric, {})
        if "rank_low" not in found:
            continue
        low, high = found["rank_low"], found["rank_high"]
        level = index + (place - (of - 1) / 2) * 0.8 / of
        text = f"{chart.words(row['name'])}, {chart.words(metric)}: rank {low:.0f} to {high:.0f}"
        points += [(low, level), (high, level), (None, None)]  # None parts the lines
        said += [text, text, None]
    return chart.scatter_trace(
        chart.words(metric),
        points,
        mode="lines+markers",
        hovertext=said,
        hoverinfo="text",
        line={"color": chart.SERIES[place], "width": 3},
        marker={"color": chart.SERIES[place], "size": 5},
    )


_LINES = (
    ("top_k_overlap", "share of the top that stays", "@accent"),
    ("kendall_tau", "rank correlation, Kendall's tau", "@second"),
)


def sampling_chart(found: Mapping[str, Any]) -> chart.Chart | None:
    """``sampling`` of result.json over the number of draws; None with fewer than two points."""
    curve = [point for point in found.get("curve") or [] if point.get("draws") is not None]
    if len(curve) < 2:
        return None
    draws, planned = found.get("draws", curve[-1]["draws"]), found.get("planned")
    of = f" of at most {planned}" if planned else ""
    return chart.Chart(
        name="sampling",
        title=f"The ranking rests on {draws} draws{of}",
        caption="How much of the ranking stays when the draws are resampled, by how many there "
        "were; 1 is all of it.",
        traces=[_line(curve, *line) for line in _LINES],
        layout={
            "xaxis": chart.axis("draws", rangemode="tozero"),
            "yaxis": chart.axis("agreement", range=[-0.05, 1.05]),
        },
        height=300,
    )


def _line(curve: list[Mapping[str, Any]], key: str, name: str, color: str) -> chart.Trace:
    points = [point for point in curve if point.get(key) is not None]
    # The interval is that of the first line; see `result.json`.
    ends = [(p.get("low"), p.get("high")) for p in points] if key == _LINES[0][0] else []
    drawn: dict[str, Any] = {}
    if ends and all(low is not None and high is not None for low, high in ends):
        values = [point[key] for point in points]
        lows = [min(low, value) for (low, _), value in zip(ends, values, strict=True)]
        highs = [max(high, value) for (_, high), value in zip(ends, values, strict=True)]
        drawn = {"error_y": chart.interval_bars(values, lows, highs, color, 1)}
    return chart.scatter_trace(
        name,
        [(point["draws"], point[key]) for point in points],
        mode="lines+markers",
        line={"color": color},
        hover="%{x} draws: %{y:.2f}",
        **drawn,
    )
