"""The Pareto front: the configurations that no other beats in every metric."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from jobs.charts.chart import Chart, Trace, again_words, axis, short, thinned, thinned_words, words
from optimizer.objective import Term
from optimizer.trial import Purpose, Trial


def front(
    trials: Sequence[Trial], numbers: Collection[int], terms: Sequence[Term], *, again: int = 0
) -> Chart | None:
    """All configurations in two metrics, those of the front in colour.

    Args:
        trials: By number.
        numbers: Of the front.
        terms: Of the objective; the first and the last are drawn.
        again: How many runs measured a configuration again; they are in the mean of the first.

    Returns:
        The plot; None with one metric, or nothing measured.
    """
    if len(terms) < 2:
        return None
    across, up = terms[0].metric, terms[-1].metric
    points = [
        t for t in trials
        if t.purpose is Purpose.CANDIDATE and t.done and across in t.metrics and up in t.metrics
    ]  # fmt: skip
    if not points:
        return None
    on = [t for t in points if t.number in numbers]
    off = [t for t in points if t.number not in numbers]
    shown = thinned(off)
    goal = "lower" if terms[0].direction == "min" else "higher"
    aim = "higher" if terms[-1].direction == "max" else "lower"
    return Chart(
        name="front",
        title=f"{len(on)} of {len(points):,} configurations are on the Pareto front: no other is "
        "better in all metrics",
        caption=f"Single runs. Of {len(terms)} metrics two are drawn: better is {goal} {across} "
        f"and {aim} {up}. What looks beaten here is better in another metric."
        + again_words(again)
        + thinned_words(len(shown), len(off)),
        traces=[
            _dots(shown, across, up, "others", {"color": "@faint", "size": 6}),
            _dots(on, across, up, "front", {"color": "@accent", "size": 9, "symbol": "diamond"}),
        ],
        layout={"xaxis": axis(words(across)), "yaxis": axis(words(up))},
    )


def _dots(
    trials: Sequence[Trial], across: str, up: str, name: str, marker: dict[str, object]
) -> Trace:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [short(t.metrics[across]) for t in trials],
        "y": [short(t.metrics[up]) for t in trials],
        "text": [f"trial {t.number}" for t in trials],
        "hovertemplate": "%{text}: %{x:.4g}, %{y:.4g}<extra></extra>",
        "marker": marker,
    }
