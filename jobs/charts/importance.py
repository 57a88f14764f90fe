"""What matters for one metric, by the forest and the process of all trials, and how surely.

Results of earlier versions have no models: forests of their draws rank.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jobs.charts import chart
from jobs.results.ranking_words import (
    LEAST_R2,
    anova_words,
    by_models,
    disagreement_words,
    held_out,
    rank_interval,
    ranked_r2,
    ranks_anova,
    reliable,
    share_cells,
    shown_first,
    trust_words,
)
from optimizer.budget.power import p_words

_MOST = 10


def importance_chart(
    metric: str, parameters: Sequence[Mapping[str, Any]], forest: Mapping[str, Any]
) -> chart.Chart | None:
    """The most important parameters for a metric; None where the metric could not be learned.

    ``parameters`` are rows of ``result.json``, ``forest`` is the metric's there.
    """
    told = [(row["name"], row["importance"].get(metric)) for row in parameters]
    rows, r2 = [each for each in told if each[1]], held_out(forest)
    if not rows or r2 is None:
        return None
    rows = sorted(rows, key=lambda row: -row[1]["permutation"])[:_MOST]
    spread = [chart.short(each["permutation_std"]) for _, each in rows]
    return _bars_and_diamonds(
        f"importance-{metric}",
        metric,
        rows,
        r2,
        caption=f"R2 {r2:.2f} over five folds, {forest.get('trials', 0)} trials. Bars: share "
        "of the forest's decrease in impurity. Diamonds: R2 lost when the values are shuffled, "
        "with one standard deviation.",
        axis="importance",
        bars=("impurity", "mdi"),
        diamonds=("permutation", "permutation"),
        errors={"type": "data", "array": spread, "color": "@second", "thickness": 1.5},
        said=lambda _: ":",
    )


def forests_r2(found: Mapping[str, Any]) -> dict[str, float | None]:
    """R2 on unseen trials of the forests, by metric."""
    return {metric: held_out(each) for metric, each in found["forest"].items()}


def ranking_content(found: Mapping[str, Any]) -> dict[str, Any]:
    """What reports and pages both tell of a ranking: its shares, and how far to trust them.

    ``of_all``: whether forests know all trials, and not, as in an earlier version, the draws
    alone; ``learned``: whether forests say anything; those of a few draws are shown beside models
    only if they do; ``unsure``: metrics whose order is hardly more than chance.
    """
    least = LEAST_R2 if by_models(found) and "shown_first" not in found else -math.inf
    forests = forests_r2(found).values()
    return {
        "modelled": by_models(found),
        "of_all": bool(found.get("shown_first")),
        "learned": any(value is not None and value >= least for value in forests),
        "unsure": [m for m, r2 in ranked_r2(found).items() if r2 is not None and r2 < LEAST_R2],
        "least_r2": LEAST_R2,
        "cells": share_cells(found),
        "trust": trust_words(found),
        "disagreement": disagreement_words(found),
        "anova_words": anova_words(found),
        "anova_ranks": ranks_anova(found),
        "sampling": found.get("sampling") or {},
    }


# By model: the name of its chart, its part of a parameter's row, what is drawn, what is said of
# each besides.
_SHARES: Mapping[str, tuple[str, str, str, Callable[[Mapping[str, Any]], str]]] = {
    "process": (
        "effects",
        "model",
        "Share of the variance over the whole space. Bars: the parameter alone. Diamonds: "
        "with its pairs, and the 95% interval.",
        lambda each: p_words(each["p_holm"]),
    ),
    "forest": (
        "forest",
        "importance",
        "Functional analysis of variance of the forest. Bars: the parameter alone. Diamonds: "
        "with its pairs, and the 95% interval over resampled trials.",
        lambda each: f"impurity {each['mdi']:.2f}",
    ),
}


def shares_chart(
    by: str, metric: str, parameters: Sequence[Mapping[str, Any]], model: Mapping[str, Any]
) -> chart.Chart | None:
    """The parameters that make most of a metric's variance; None where none has a share.

    By the ``process`` or the ``forest`` of all trials. ``parameters`` are rows of
    ``result.json``, ``model`` is the metric's there.
    """
    kind, part, what, also = _SHARES[by]
    shares = [(row["name"], row.get(part, {}).get(metric, {})) for row in parameters]
    found = [each for each in shares if each[1].get("total", 0.0) > 0]
    if not found:
        return None
    rows = sorted(found, key=lambda each: -each[1]["total"])[:_MOST]
    ends = ([each[end] for _, each in rows] for end in ("total", "low", "high"))
    r2 = model.get("r2_cross_validated")
    return _bars_and_diamonds(
        f"{kind}-{metric}",
        f"{metric}, by the {by}",
        rows,
        r2,
        caption=f"{'R2 unknown' if r2 is None else f'R2 {r2:.2f} over five folds'}, "
        f"{model.get('trials', 0)} trials. {what}",
        axis="share of the variance",
        bars=("alone", "alone"),
        diamonds=("with its pairs", "total"),
        errors=chart.interval_bars(*ends, color="@second"),
        said=lambda each: f": {also(each)},",
    )


def shares_charts(
    found: Mapping[str, Any], parameters: Sequence[Mapping[str, Any]]
) -> list[chart.Chart]:
    """Of each metric the shares by the model that is shown first, then those by the other."""
    charts = []
    for metric, model in found.get("models", {}).items():
        pair = [
            shares_chart("process", metric, parameters, model),
            shares_chart("forest", metric, parameters, found["forest"].get(metric, {})),
        ]
        charts += pair[::-1] if shown_first(found, metric) == "forest" else pair
    return chart.drawable(charts)


def _bars_and_diamonds(
    name: str,
    subject: str,
    rows: Sequence[tuple[str, Mapping[str, Any]]],
    r2: float | None,
    *,
    caption: str,
    axis: str,
    bars: tuple[str, str],
    diamonds: tuple[str, str],
    errors: Mapping[str, Any],
    said: Callable[[Mapping[str, Any]], str],
) -> chart.Chart:
    """Two figures of each parameter; the order is doubted where R2 is small or unknown.

    ``bars`` and ``diamonds`` are each a title, and the name of the figure in a row.
    """
    names = [name for name, _ in rows]
    doubt = "R2 is unknown" if r2 is None else f"R2 is {r2:.2f}"
    sure = r2 is not None and r2 >= LEAST_R2
    points = [(each[diamonds[1]], place) for place, (_, each) in enumerate(rows)]
    hover = [f"{chart.words(name)}{said(each)}" for name, each in rows]
    told: dict[str, Any] = {
        "hovertext": hover,
        "hovertemplate": "%{hovertext} %{x:.3f}<extra></extra>",
    }
    marker = {"color": "@second", "size": 9, "symbol": "diamond"}
    return chart.Chart(
        name=name,
        title=f"{subject}: {names[0]} is most important"
        if sure
        else f"{subject}: do not rely on the order, {doubt}",
        caption=caption,
        traces=[
            chart.bar_trace(bars[0], [each[bars[1]] for _, each in rows], "@soft", **told),
            chart.scatter_trace(diamonds[0], points, error_x=errors, marker=marker, **told),
        ],
        x=chart.axis(axis, rangemode="tozero"),
        y=chart.rows_axis(names),
        height=140 + 26 * len(names),
    )


def stability_chart(
    parameters: Sequence[Mapping[str, Any]], metrics: Sequence[str]
) -> chart.Chart | None:
    """Rank intervals of the most important parameters for the first four metrics.

    ``parameters`` are rows of ``result.json``, the most important first. None where no rank was
    resampled.
    """
    rows = list(parameters[:_MOST])
    drawn = [m for m in metrics if any(rank_interval(row, m) for row in rows)]
    drawn = drawn[: len(chart.SERIES)]
    if not drawn:
        return None
    steady = sum(any(reliable(row, metric) for metric in drawn) for row in rows)
    return chart.Chart(
        name="stability",
        title=f"Stable in the top five of a metric: {steady} of the first {len(rows)}"
        if steady
        else "No parameter is stable in the top five of any metric",
        caption="95% intervals of the rank, by the model that ranks. A short line is a stable "
        "rank, a long one an uncertain rank.",
        traces=[_intervals(rows, m, i, len(drawn)) for i, m in enumerate(drawn)],
        x=chart.axis("rank (1: most important)", range=[0, len(parameters) + 1]),
        y=chart.rows_axis([row["name"] for row in rows]),
        height=140 + 38 * len(rows),
    )


def _intervals(rows: Sequence[Mapping[str, Any]], metric: str, place: int, of: int) -> chart.Trace:
    points: list[tuple[float | None, float | None]] = []
    said: list[str | None] = []
    for index, row in enumerate(rows):
        within = rank_interval(row, metric)
        if within is None:
            continue
        low, high = within
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
    ("top_k_overlap", "share of the top that is kept", "@accent"),
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
        title=f"The ranking rests on {draws} random configurations{of}",
        caption="Agreement of rankings from resampled configurations, by their number; 1: the "
        "same ranking.",
        traces=[_line(curve, *line) for line in _LINES],
        x=chart.axis("random configurations", rangemode="tozero"),
        y=chart.axis("agreement", range=[-0.05, 1.05]),
        height=300,
    )


def _line(curve: list[Mapping[str, Any]], key: str, name: str, color: str) -> chart.Trace:
    points = [point for point in curve if point.get(key) is not None]
    # The interval is that of the first line; see `result.json`.
    ends: list[list[Any]] = [[p.get(end) for p in points] for end in (key, "low", "high")]
    drawn: dict[str, Any] = {}
    if key == _LINES[0][0] and points and not any(None in each for each in ends):
        drawn = {"error_y": chart.interval_bars(*ends, color=color, thickness=1)}
    return chart.scatter_trace(
        name,
        [(point["draws"], point[key]) for point in points],
        mode="lines+markers",
        line={"color": color},
        hover="%{x} random configurations: %{y:.2f}",
        **drawn,
    )
