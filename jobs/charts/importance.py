"""What matters for one metric, by the forest and the process of all trials, and how surely.

Results of earlier versions have no models: forests of their draws rank.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jobs.charts import chart
from optimizer.budget.power import p_words
from optimizer.results.ranking import (
    LEAST_R2,
    MetricImportance,
    Model,
    ParameterImportance,
    ParameterRanking,
    Quality,
    Sampling,
)

_MOST = 10


def importance_charts(ranking: ParameterRanking) -> list[chart.Chart]:
    """Impurity and permutation importance, of each metric that a forest could learn."""
    rows = ranking.sorted_by(None)
    return chart.drawable(importance_chart(m, rows, each) for m, each in ranking.forest.items())


def importance_chart(
    metric: str, parameters: Sequence[ParameterImportance], forest: Quality
) -> chart.Chart | None:
    """The most important parameters for a metric; None where the metric could not be learned."""
    told = [(row.name, found) for row in parameters if (found := row.importance.get(metric))]
    r2 = forest.held_out
    if not told or r2 is None:
        return None
    rows = sorted(told, key=lambda row: -(row[1].permutation or 0.0))[:_MOST]
    spread = [chart.short(each.permutation_std or 0.0) for _, each in rows]
    return _bars_and_diamonds(
        f"importance-{metric}",
        metric,
        rows,
        r2,
        caption=f"R2 {r2:.2f} over five folds, {forest.trials} trials. Bars: share "
        "of the forest's decrease in impurity. Diamonds: R2 lost when the values are shuffled, "
        "with one standard deviation.",
        axis="importance",
        bars=("impurity", lambda each: each.mdi),
        diamonds=("permutation", lambda each: each.permutation),
        errors={"type": "data", "array": spread, "color": "@second", "thickness": 1.5},
        said=lambda _: ":",
    )


# By model: the name of its chart, what is drawn, what is said of each parameter besides.
_SHARES: Mapping[Model, tuple[str, str, Callable[[MetricImportance], str]]] = {
    "process": (
        "effects",
        "Share of the variance over the whole space. Bars: the parameter alone. Diamonds: "
        "with its pairs, and the 95% interval.",
        lambda each: p_words(each.p_holm),
    ),
    "forest": (
        "forest",
        "Functional analysis of variance of the forest. Bars: the parameter alone. Diamonds: "
        "with its pairs, and the 95% interval over resampled trials.",
        lambda each: f"impurity {each.mdi or 0.0:.2f}",
    ),
}


def shares_chart(
    by: Model, metric: str, parameters: Sequence[ParameterImportance], model: Quality
) -> chart.Chart | None:
    """The parameters that make most of a metric's variance to a model; None without a share."""
    kind, what, also = _SHARES[by]
    shares = [(row.name, found) for row in parameters if (found := row.by(by, metric))]
    rows = sorted((each for each in shares if (each[1].total or 0.0) > 0), key=_least)[:_MOST]
    if not rows:
        return None
    ends = (
        [value or 0.0 for value in each]
        for each in zip(*((e.total, e.low, e.high) for _, e in rows), strict=True)
    )
    r2 = model.r2_cross_validated
    return _bars_and_diamonds(
        f"{kind}-{metric}",
        f"{metric}, by the {by}",
        rows,
        r2,
        caption=f"{'R2 unknown' if r2 is None else f'R2 {r2:.2f} over five folds'}, "
        f"{model.trials} trials. {what}",
        axis="share of the variance",
        bars=("alone", lambda each: each.alone),
        diamonds=("with its pairs", lambda each: each.total),
        errors=chart.interval_bars(*ends, color="@second"),
        said=lambda each: f": {also(each)},",
    )


def _least(row: tuple[str, MetricImportance]) -> float:
    return -(row[1].total or 0.0)


def shares_charts(ranking: ParameterRanking) -> list[chart.Chart]:
    """Of each metric the shares by the model that is shown first, then those by the other."""
    charts, rows = [], ranking.sorted_by(None)
    for metric, model in ranking.models.items():
        pair = [
            shares_chart("process", metric, rows, model),
            shares_chart("forest", metric, rows, ranking.forest.get(metric, Quality())),
        ]
        charts += pair[::-1] if ranking.first(metric) == "forest" else pair
    return chart.drawable(charts)


_Figure = Callable[[MetricImportance], float | None]


def _bars_and_diamonds(
    name: str,
    subject: str,
    rows: Sequence[tuple[str, MetricImportance]],
    r2: float | None,
    *,
    caption: str,
    axis: str,
    bars: tuple[str, _Figure],
    diamonds: tuple[str, _Figure],
    errors: Mapping[str, Any],
    said: Callable[[MetricImportance], str],
) -> chart.Chart:
    """Two figures of each parameter, each with its title; a small or unknown R2 is told."""
    names = [name for name, _ in rows]
    doubt = "R2 is unknown" if r2 is None else f"R2 is {r2:.2f}"
    sure = r2 is not None and r2 >= LEAST_R2
    points = [(diamonds[1](each), place) for place, (_, each) in enumerate(rows)]
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
            chart.bar_trace(bars[0], [bars[1](each) for _, each in rows], "@soft", **told),
            chart.scatter_trace(diamonds[0], points, error_x=errors, marker=marker, **told),
        ],
        x=chart.axis(axis, rangemode="tozero"),
        y=chart.rows_axis(names),
        height=140 + 26 * len(names),
    )


def stability_chart(
    parameters: Sequence[ParameterImportance],
    metrics: Sequence[str],
    by: str = "by the model that ranks",
) -> chart.Chart | None:
    """Rank intervals of the most important parameters, sorted, for the first four metrics.

    None where no rank was resampled.
    """
    rows = list(parameters[:_MOST])
    drawn = [m for m in metrics if any(row.rank_interval(m) for row in rows)]
    drawn = drawn[: len(chart.SERIES)]
    if not drawn:
        return None
    steady = sum(any(row.is_reliable(metric) for metric in drawn) for row in rows)
    return chart.Chart(
        name="stability",
        title=f"Stable in the top five of a metric: {steady} of the first {len(rows)}"
        if steady
        else "No parameter is stable in the top five of any metric",
        caption=f"95% intervals of the rank, {by}. A short line is a stable rank, a long one an "
        "uncertain rank.",
        traces=[_intervals(rows, m, i, len(drawn)) for i, m in enumerate(drawn)],
        x=chart.axis("rank (1: most important)", range=[0, len(parameters) + 1]),
        y=chart.rows_axis([row.name for row in rows]),
        height=140 + 38 * len(rows),
    )


def _intervals(
    rows: Sequence[ParameterImportance], metric: str, place: int, of: int
) -> chart.Trace:
    points: list[tuple[float | None, float | None]] = []
    said: list[str | None] = []
    for index, row in enumerate(rows):
        within = row.rank_interval(metric)
        if within is None:
            continue
        low, high = within
        level = index + (place - (of - 1) / 2) * 0.8 / of
        text = f"{chart.words(row.name)}, {chart.words(metric)}: rank {low:.0f} to {high:.0f}"
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


def sampling_chart(sampling: Sampling | None) -> chart.Chart | None:
    """Agreement of rankings over the number of draws; None with fewer than two points."""
    curve = [each for each in sampling.curve if each.draws is not None] if sampling else []
    if sampling is None or len(curve) < 2:
        return None
    of = f" of at most {sampling.planned}" if sampling.planned else ""
    draws = curve[-1].draws if sampling.draws is None else sampling.draws
    kept = [each for each in curve if each.top_k_overlap is not None]
    # The interval is that of the overlap.
    ends = [(each.top_k_overlap, each.low, each.high) for each in kept]
    known = [(value, low, high) for value, low, high in ends
             if value is not None and low is not None and high is not None]  # fmt: skip
    bars = (
        {"error_y": chart.interval_bars(*zip(*known, strict=True), color="@accent", thickness=1)}
        if known and len(known) == len(kept)
        else {}
    )
    overlap = [(each.draws, each.top_k_overlap) for each in kept]
    tau = [(each.draws, each.kendall_tau) for each in curve if each.kendall_tau is not None]
    return chart.Chart(
        name="sampling",
        title=f"The ranking rests on {draws} random configurations{of}",
        caption="Agreement of rankings from resampled configurations, by their number; 1: the "
        "same ranking.",
        traces=[
            _agreement("share of the top that is kept", overlap, "@accent", **bars),
            _agreement("rank correlation, Kendall's tau", tau, "@second"),
        ],
        x=chart.axis("random configurations", rangemode="tozero"),
        y=chart.axis("agreement", range=[-0.05, 1.05]),
        height=300,
    )


def _agreement(
    name: str, points: Sequence[tuple[Any, Any]], color: str, **more: Any
) -> chart.Trace:
    return chart.scatter_trace(
        name,
        points,
        mode="lines+markers",
        line={"color": color},
        hover="%{x} random configurations: %{y:.2f}",
        **more,
    )
