"""What matters for one metric, by forests of the draws or by models of all trials.

Results of earlier versions have no models: their forests rank.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from jobs.charts import chart
from optimizer.budget.power import p_words
from optimizer.results.learned_document import FORESTS, MODELS

LEAST_R2 = 0.3  # below it the order of a forest is hardly more than chance
_MOST = 10


def held_out(forest: Mapping[str, Any]) -> float | None:
    """R2 on unseen trials: the mean of the folds, for one split may be lucky."""
    known = "r2_cross_validated" if "r2_cross_validated" in forest else "r2"
    value: float | None = forest.get(known)
    return value


def importance_chart(
    metric: str, parameters: Sequence[Mapping[str, Any]], forest: Mapping[str, Any]
) -> chart.Chart | None:
    """The most important parameters for a metric; None where the metric could not be learned.

    ``parameters`` are rows of ``result.json``, ``forest`` is the metric's there.
    """
    rows = [
        (row["name"], row["importance"][metric])
        for row in parameters
        if metric in row["importance"]
    ]
    r2 = held_out(forest)
    if not rows or r2 is None:
        return None
    rows = sorted(rows, key=lambda row: -row[1]["permutation"])[:_MOST]
    spread = [chart.short(each["permutation_std"]) for _, each in rows]
    return _bars_and_diamonds(
        f"importance-{metric}",
        metric,
        [name for name, _ in rows],
        r2,
        caption=f"R2 {r2:.2f} over five folds, {forest.get('trials', 0)} trials. Bars: share "
        "of the forest's decrease in impurity. Diamonds: R2 lost when the values are shuffled, "
        "with one standard deviation.",
        axis="importance",
        bars=("impurity", [each["mdi"] for _, each in rows]),
        diamonds=("permutation", [each["permutation"] for _, each in rows]),
        errors={"type": "data", "array": spread, "color": "@second", "thickness": 1.5},
        said=[f"{chart.words(name)}:" for name, _ in rows],
    )


def by_models(found: Mapping[str, Any]) -> bool:
    """Whether models of all trials rank the parameters, and not forests of the draws."""
    return bool(found.get("ranked_by", FORESTS) == MODELS)


def ranked_r2(found: Mapping[str, Any]) -> dict[str, float | None]:
    """R2 on unseen trials of what ranks the parameters, by metric."""
    return {
        metric: held_out(each)
        for metric, each in found["models" if by_models(found) else "forest"].items()
    }


def forests_r2(found: Mapping[str, Any]) -> dict[str, float | None]:
    """R2 on unseen draws of the forests, by metric."""
    return {metric: held_out(each) for metric, each in found["forest"].items()}


def quality(found: Mapping[str, Any]) -> dict[str, Any]:
    """What reports and pages ask of a ranking's quality.

    ``modelled``: ``by_models``; ``learned``: whether forests say anything, of which those of a few
    draws are shown beside models only if they do; ``unsure``: metrics whose order is hardly more
    than chance; ``least_r2``.
    """
    least = LEAST_R2 if by_models(found) else -math.inf
    forests = forests_r2(found).values()
    return {
        "modelled": by_models(found),
        "learned": any(value is not None and value >= least for value in forests),
        "unsure": [m for m, r2 in ranked_r2(found).items() if r2 is not None and r2 < LEAST_R2],
        "least_r2": LEAST_R2,
    }


def model_effects_chart(
    metric: str, parameters: Sequence[Mapping[str, Any]], model: Mapping[str, Any]
) -> chart.Chart | None:
    """The parameters that make most of a metric's variance; None where none has a share.

    ``parameters`` are rows of ``result.json``, ``model`` is the metric's there.
    """
    found = [
        (row["name"], row["model"][metric])
        for row in parameters
        if row.get("model", {}).get(metric, {}).get("total", 0.0) > 0
    ]
    if not found:
        return None
    found = sorted(found, key=lambda each: -each[1]["total"])[:_MOST]
    rows, r2 = [each for _, each in found], model.get("r2_cross_validated")
    total = [each["total"] for each in rows]
    lows = [min(each["low"], each["total"]) for each in rows]
    highs = [max(each["high"], each["total"]) for each in rows]
    return _bars_and_diamonds(
        f"effects-{metric}",
        metric,
        [name for name, _ in found],
        r2,
        caption=f"{'R2 unknown' if r2 is None else f'R2 {r2:.2f} over five folds'}, "
        f"{model.get('trials', 0)} trials. Share of the variance over the whole space; bars: the "
        "parameter alone, diamonds: with its pairs, and the 95% interval of that.",
        axis="share of the variance",
        bars=("alone", [each["alone"] for each in rows]),
        diamonds=("with its pairs", total),
        errors=chart.interval_bars(total, lows, highs, "@second"),
        said=[f"{chart.words(name)}: {p_words(each['p_holm'])}," for name, each in found],
    )


def _bars_and_diamonds(
    name: str,
    metric: str,
    names: Sequence[str],
    r2: float | None,
    *,
    caption: str,
    axis: str,
    bars: tuple[str, Sequence[float]],
    diamonds: tuple[str, Sequence[float]],
    errors: Mapping[str, Any],
    said: Sequence[str],
) -> chart.Chart:
    """Two figures of each parameter; the order is doubted where R2 is small or unknown."""
    doubt = "R2 is unknown" if r2 is None else f"R2 is {r2:.2f}"
    sure = r2 is not None and r2 >= LEAST_R2
    values = ((value, place) for place, value in enumerate(diamonds[1]))
    told: dict[str, Any] = {
        "hovertext": said,
        "hovertemplate": "%{hovertext} %{x:.3f}<extra></extra>",
    }
    marker = {"color": "@second", "size": 9, "symbol": "diamond"}
    return chart.Chart(
        name=name,
        title=f"{metric}: {names[0]} matters most"
        if sure
        else f"{metric}: do not rely on the order, {doubt}",
        caption=caption,
        traces=[
            chart.bar_trace(*bars, "@soft", **told),
            chart.scatter_trace(diamonds[0], values, error_x=errors, marker=marker, **told),
        ],
        layout={"xaxis": chart.axis(axis, rangemode="tozero"), "yaxis": chart.rows_axis(names)},
        height=140 + 26 * len(names),
    )
