"""What matters for one metric: importance by impurity and by permutation, with its spread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jobs.charts.chart import Chart, axis, rows_axis, short, words

LEAST_R2 = 0.3  # below it the order of a forest is hardly more than chance
_MOST = 10


def held_out(forest: Mapping[str, Any]) -> float | None:
    """R2 on unseen trials: the mean of the folds, for one split may be lucky."""
    known = "r2_cross_validated" if "r2_cross_validated" in forest else "r2"
    value: float | None = forest.get(known)
    return value


def importance(
    metric: str, parameters: Sequence[Mapping[str, Any]], forest: Mapping[str, Any]
) -> Chart | None:
    """The most important parameters for a metric.

    Args:
        metric: Its name.
        parameters: Rows of ``result.json``.
        forest: Of the metric there: ``r2_cross_validated``, ``trials``.

    Returns:
        The plot; None where the metric could not be learned.
    """
    rows = [(row["name"], row["importance"][metric]) for row in parameters
            if metric in row["importance"]]  # fmt: skip
    r2 = held_out(forest)
    if not rows or r2 is None:
        return None
    rows = sorted(rows, key=lambda row: -row[1]["permutation"])[:_MOST]
    names = [name for name, _ in rows]
    places = list(range(len(rows)))
    return Chart(
        name=f"importance-{metric}",
        title=f"{metric}: {names[0]} matters most"
        if r2 >= LEAST_R2
        else f"{metric}: do not rely on the order, R2 is {r2:.2f}",
        caption=f"R2 {r2:.2f} over five folds, {forest.get('trials', 0)} trials. Bars: share "
        "of the forest's decrease in impurity. Diamonds: R2 lost when the values are shuffled, "
        "with one standard deviation.",
        traces=[
            {
                "type": "bar",
                "orientation": "h",
                "name": "impurity",
                "y": places,
                "x": [short(each["mdi"]) for _, each in rows],
                "hovertext": [words(name) for name in names],
                "hovertemplate": "%{hovertext}: %{x:.3f}<extra></extra>",
                "marker": {"color": "@soft"},
            },
            {
                "type": "scatter",
                "mode": "markers",
                "name": "permutation",
                "y": places,
                "x": [short(each["permutation"]) for _, each in rows],
                "error_x": {
                    "type": "data",
                    "array": [short(each["permutation_std"]) for _, each in rows],
                    "color": "@second",
                    "thickness": 1.5,
                },
                "hovertext": [words(name) for name in names],
                "hovertemplate": "%{hovertext}: %{x:.3f}<extra></extra>",
                "marker": {"color": "@second", "size": 9, "symbol": "diamond"},
            },
        ],
        layout={
            "xaxis": axis("importance", rangemode="tozero"),
            "yaxis": rows_axis(names),
        },
        height=140 + 26 * len(rows),
    )
