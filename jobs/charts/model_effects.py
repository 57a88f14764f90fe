"""What matters for one metric by the model of a guided search: variance shares, with doubt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jobs.charts.chart import Chart, axis, rows_axis, short, words
from jobs.charts.importance import LEAST_R2

_MOST = 10


def model_effects(
    metric: str, parameters: Sequence[Mapping[str, Any]], model: Mapping[str, Any]
) -> Chart | None:
    """The parameters that make most of a metric's variance.

    Args:
        metric: Its name.
        parameters: Rows of ``result.json``.
        model: Of the metric there, under ``models``.

    Returns:
        The plot; None where no parameter has a share.
    """
    found = [(row["name"], row["model"][metric]) for row in parameters
             if row.get("model", {}).get(metric, {}).get("total", 0.0) > 0]  # fmt: skip
    if not found:
        return None
    found = sorted(found, key=lambda each: -each[1]["total"])[:_MOST]
    names, rows = [name for name, _ in found], [each for _, each in found]
    places, r2 = list(range(len(rows))), model.get("r2_cross_validated")
    said = [f"{words(name)}: p = {each['p_holm']:.2g}" for name, each in found]
    sure = r2 is not None and r2 >= LEAST_R2
    doubt = "R2 is unknown" if r2 is None else f"R2 is {r2:.2f}"
    return Chart(
        name=f"effects-{metric}",
        title=f"{metric}: {names[0]} matters most"
        if sure
        else f"{metric}: do not rely on the order, {doubt}",
        caption=f"{'R2 unknown' if r2 is None else f'R2 {r2:.2f} over five folds'}, "
        f"{model.get('trials', 0)} trials. Share of the variance over the whole space; bars: the "
        "parameter alone, diamonds: with its pairs, and the 95% interval of that.",
        traces=[
            {
                "type": "bar",
                "orientation": "h",
                "name": "alone",
                "y": places,
                "x": [short(each["alone"]) for each in rows],
                "hovertext": said,
                "hovertemplate": "%{hovertext}, %{x:.3f}<extra></extra>",
                "marker": {"color": "@soft"},
            },
            {
                "type": "scatter",
                "mode": "markers",
                "name": "with its pairs",
                "y": places,
                "x": [short(each["total"]) for each in rows],
                "error_x": {
                    "type": "data",
                    "symmetric": False,
                    "array": [short(max(each["high"] - each["total"], 0.0)) for each in rows],
                    "arrayminus": [short(max(each["total"] - each["low"], 0.0)) for each in rows],
                    "color": "@second",
                    "thickness": 1.5,
                },
                "hovertext": said,
                "hovertemplate": "%{hovertext}, %{x:.3f}<extra></extra>",
                "marker": {"color": "@second", "size": 9, "symbol": "diamond"},
            },
        ],
        layout={
            "xaxis": axis("share of the variance", rangemode="tozero"),
            "yaxis": rows_axis(names),
        },
        height=140 + 26 * len(rows),
    )
