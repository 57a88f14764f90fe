"""What makes the winner's fitness: its terms, and the steps of the path from the baseline."""

from collections.abc import Mapping, Sequence
from typing import Any

from jobs.charts import chart
from jobs.results.explanation_words import estimate_words, step_words


def contributions_chart(explanation: Mapping[str, Any] | None) -> chart.Chart | None:
    """The path as a waterfall, each bar from where the one before it ends; None without a step."""
    if not explanation or not explanation["steps"]:
        return None
    steps = explanation["steps"]
    measured = (explanation["measured"] or {}).get("steps", [])
    names = [" + ".join(change["name"] for change in step["changes"]) for step in steps]
    sure = [n for n, step in zip(names, steps, strict=True) if step["gain"]["low"] > 0]
    rows = [*names, "winner"]
    return chart.Chart(
        name="contributions",
        title=f"Surely gained by {', '.join(sure[:3])}" + (" and more" if len(sure) > 3 else "")
        if sure
        else "Of no step alone are the models sure that it gains",
        caption="Each bar is one step, on top of those above it, as models of the job's trials "
        "expect it; lines: 95% intervals. One that crosses where its bar begins may be nothing."
        + (" Diamonds: the same steps measured, with their intervals." if measured else ""),
        traces=_traces(steps, measured),
        layout={
            "xaxis": chart.axis("fitness", zeroline=False),
            "yaxis": chart.rows_axis(rows),
            "shapes": [chart.line_at(0.0, across="x", dash="solid")],
            "showlegend": False,
            "barmode": "overlay",
        },
        height=130 + 28 * len(rows),
    )


def _traces(
    steps: Sequence[Mapping[str, Any]], measured: Sequence[Mapping[str, Any] | None]
) -> list[chart.Trace]:
    """A bar for each step, one for all of them, and the measured gains where their bars begin."""
    gains, total = [step["gain"] for step in steps], steps[-1]["fitness"]
    begins = [0.0, *(step["fitness"]["expected"] for step in steps[:-1])]
    bars = chart.bar_trace(
        "expected",
        [gain["expected"] for gain in gains],
        [_colour(gain) for gain in gains],
        base=[chart.short(begin) for begin in begins],
        error_x=_errors(gains, "@dim"),
        hovertext=[
            f"{chart.words(step_words(step), 200)}: {estimate_words(step['gain'])}"
            for step in steps
        ],
        hoverinfo="text",
    )
    whole = chart.bar_trace(
        "winner",
        [total["expected"]],
        "@third",
        error_x=_errors([total], "@dim"),
        hovertext=[f"the winner: {estimate_words(total)}"],
        hoverinfo="text",
    ) | {"y": [len(steps)]}
    found = [(place, each["fitness"]) for place, each in enumerate(measured) if each]
    if not found:
        return [bars, whole]
    diamonds = chart.scatter_trace(
        "measured",
        [(begins[place] + gain["expected"], place) for place, gain in found],
        error_x=_errors([gain for _, gain in found], "@second"),
        marker={"color": "@second", "symbol": "diamond", "size": 10},
        hovertext=[f"measured: {estimate_words(gain)}" for _, gain in found],
        hoverinfo="text",
    )
    return [bars, whole, diamonds]


def _errors(estimates: Sequence[Mapping[str, float]], color: str) -> dict[str, Any]:
    expected, low, high = ([each[n] for each in estimates] for n in ("expected", "low", "high"))
    return chart.interval_bars(expected, low, high, color)


def _colour(gain: Mapping[str, float]) -> str:
    if gain["low"] <= 0 <= gain["high"]:
        return "@soft"
    return "@accent" if gain["low"] > 0 else "@second"


def fitness_terms_chart(
    names: Sequence[str], proven: Mapping[str, float], found: Mapping[str, float]
) -> chart.Chart | None:
    """The terms of the fitness by metric, which add up to it; None without a term.

    ``proven`` are those in the proof's fresh runs, ``found`` those in the one run of the search,
    empty where they are not known.
    """
    if not proven:
        return None
    shown = [name for name in names if name in proven]
    total = sum(proven.values())
    most = max(shown, key=lambda name: proven[name])
    title = (
        f"{most} gives {proven[most]:+z.0f} of the fitness of {total:.0f}"
        if total > 0
        else f"In the proof the terms add up to {total:.0f}: nothing was gained"
    )
    series = [("proof: medians of fresh runs", proven, "@accent")]
    if found:
        series.append(("search: the one run that found it", found, "@soft"))
    rows = [*shown, "fitness"]
    return chart.Chart(
        name="terms",
        title=title,
        caption="Each term is 1000 times the relative gain of its metric times its weight; they "
        "add up to the fitness. What a single run promised is drawn beside what was proven.",
        traces=[
            chart.bar_trace(
                label,
                [*(terms.get(name) for name in shown), sum(terms.values())],
                color,
                hovertext=[chart.words(row) for row in rows],
                hovertemplate="%{hovertext}: %{x:.0f}<extra></extra>",
            )
            for label, terms, color in series
        ],
        layout={
            "barmode": "group",
            "xaxis": chart.axis("term, thousandths of the baseline", zeroline=False),
            "yaxis": chart.rows_axis(rows),
            "shapes": [chart.line_at(0.0, across="x", dash="solid")],
        },
        height=150 + 42 * len(rows),
    )
