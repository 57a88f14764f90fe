"""The Pareto front: the configurations that no other beats in every metric."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from jobs.charts.chart import Chart, Trace, again_words, axis, short, thinned, thinned_words, words
from optimizer.objective.objective import Term

Points = Mapping[int, Mapping[str, float]]
_DIAMOND = {"color": "@accent", "size": 9, "symbol": "diamond"}
_CROSS = {"color": "@faint", "size": 6, "symbol": "x"}


def front(
    points: Points,
    kept: Collection[int],
    numbers: Collection[int],
    terms: Sequence[Term],
    *,
    again: int = 0,
    name: str = "front",
    about: str = "",
) -> Chart | None:
    """All configurations in two metrics, those of the front in colour.

    Args:
        points: The metrics of each new configuration that was measured whole, by number.
        kept: Those that keep the limits.
        numbers: Those of the front.
        terms: Of the objective; the first and the last are drawn.
        again: How many runs measured a configuration again; they are in the mean of the first.
        name: Of the plot.
        about: What the two metrics are, where they are not the objective's.

    Returns:
        The plot; None with one metric, or nothing on the front.
    """
    if len(terms) < 2:
        return None
    across, up = terms[0].metric, terms[-1].metric
    drawn = {n: found for n, found in points.items() if across in found and up in found}
    on = [n for n in drawn if n in numbers]
    if not on:
        return None
    off = [n for n in drawn if n in kept and n not in on]
    broken = [n for n in drawn if n not in kept]
    shown, crossed = thinned(off), thinned(broken)
    goal = "lower" if terms[0].direction == "min" else "higher"
    aim = "higher" if terms[-1].direction == "max" else "lower"
    title = f"{len(on)} of {len(on) + len(off):,} configurations are on the Pareto front"
    drawn_words = (
        f"Better is {goal} {across} and {aim} {up}."
        if about
        else f"Of {len(terms)} metrics two are drawn: better is {goal} {across} "
        f"and {aim} {up}. What looks beaten here is better in another metric."
    )
    return Chart(
        name=name,
        title=f"{about}: {title}" if about else f"{title}: no other is better in all metrics",
        caption=f"Single runs, clocks corrected for drift. {drawn_words}"
        + (f" Crosses: {len(broken):,} that break a limit do not count." if broken else "")
        + again_words(again)
        + thinned_words(len(shown) + len(crossed), len(off) + len(broken)),
        traces=[
            _dots(drawn, shown, across, up, "others", {"color": "@faint", "size": 6}),
            *([_dots(drawn, crossed, across, up, "breaks a limit", _CROSS)] if broken else []),
            _dots(drawn, on, across, up, "front", _DIAMOND),
        ],
        layout={"xaxis": axis(words(across)), "yaxis": axis(words(up))},
    )


def _dots(
    points: Points,
    numbers: Sequence[int],
    across: str,
    up: str,
    name: str,
    marker: Mapping[str, object],
) -> Trace:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [short(points[number][across]) for number in numbers],
        "y": [short(points[number][up]) for number in numbers],
        "text": [f"trial {number}" for number in numbers],
        "hovertemplate": "%{text}: %{x:.4g}, %{y:.4g}<extra></extra>",
        "marker": dict(marker),
    }
