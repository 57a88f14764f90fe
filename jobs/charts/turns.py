"""The runs of a comparison, one metric in the order of the rounds: noise and drift to the eye."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jobs.charts.chart import SERIES, Chart, axis, short, words


def turns(
    name: str, metric: str, unit: str | None, runs: Mapping[str, Sequence[tuple[int, float]]]
) -> Chart | None:
    """What every run gave.

    Args:
        name: Of the plot, unique in the page.
        metric: Whose figures they are.
        unit: Theirs; None for a ratio.
        runs: By subject, (round, figure).

    Returns:
        The plot; None without a run.
    """
    if not any(runs.values()):
        return None
    traces = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": words(subject),
            "x": [number for number, _ in points],
            "y": [short(value) for _, value in points],
            "line": {"color": color, "width": 1, "dash": "dot"},
            "marker": {"color": color, "size": 8},
            "hovertemplate": "round %{x}: %{y}<extra>" + words(subject) + "</extra>",
        }
        for (subject, points), color in zip(runs.items(), SERIES, strict=False)
    ]
    return Chart(
        name=name,
        title=f"{metric}, round by round",
        caption="Each dot is a run. What goes up and down together is the machine.",
        traces=traces,
        layout={
            "xaxis": axis("round", dtick=max(1, max(map(_rounds, runs.values())) // 10)),
            "yaxis": axis(metric + (f", {unit}" if unit else ""), rangemode="tozero"),
        },
        height=280,
    )


def _rounds(points: Sequence[tuple[int, float]]) -> int:
    return max((number for number, _ in points), default=1)
