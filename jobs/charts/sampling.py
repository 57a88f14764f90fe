"""Whether there were draws enough: how the ranking settled as they came in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jobs.charts.chart import Chart, Trace, axis, short

_LINES = (
    ("top_k_overlap", "share of the top that stays", "@accent"),
    ("kendall_tau", "rank correlation, Kendall's tau", "@second"),
)


def sampling(found: Mapping[str, Any]) -> Chart | None:
    """Stability of the ranking over the number of draws.

    Args:
        found: ``sampling`` of ``result.json``: ``draws``, ``planned``, ``why``, ``curve``.

    Returns:
        The plot; None with fewer than two points.
    """
    curve = [point for point in found.get("curve") or [] if point.get("draws") is not None]
    if len(curve) < 2:
        return None
    draws, planned = found.get("draws", curve[-1]["draws"]), found.get("planned")
    of = f" of at most {planned}" if planned else ""
    return Chart(
        name="sampling",
        title=f"The ranking rests on {draws} draws{of}",
        caption="How much of the ranking stays when the draws are resampled, by how many there "
        "were; 1 is all of it.",
        traces=[_line(curve, *line) for line in _LINES],
        layout={
            "xaxis": axis("draws", rangemode="tozero"),
            "yaxis": axis("agreement", range=[-0.05, 1.05]),
        },
        height=300,
    )


def _line(curve: list[Mapping[str, Any]], key: str, name: str, color: str) -> Trace:
    points = [point for point in curve if point.get(key) is not None]
    # The interval is that of the first line; see `result.json`.
    ends = [(p.get("low"), p.get("high")) for p in points] if key == _LINES[0][0] else []
    bars = {}
    if ends and all(low is not None and high is not None for low, high in ends):
        bars = {
            "error_y": {
                "type": "data",
                "symmetric": False,
                "array": [short(max(p["high"] - p[key], 0.0)) for p in points],
                "arrayminus": [short(max(p[key] - p["low"], 0.0)) for p in points],
                "color": color,
                "thickness": 1,
            }
        }
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "x": [point["draws"] for point in points],
        "y": [short(point[key]) for point in points],
        "line": {"color": color},
        "hovertemplate": "%{x} draws: %{y:.2f}<extra></extra>",
        **bars,
    }
