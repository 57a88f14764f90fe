"""What makes the winner's fitness: its terms, and the steps of the path from the baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jobs.charts import chart
from jobs.results.explanation_words import estimate_words, step_words


def contributions_chart(explanation: Mapping[str, Any] | None) -> chart.Chart | None:
    """The path as a waterfall, each bar from where the one before it ends; None without a step."""
    steps = explanation["steps"] if explanation else []
    if not steps:
        return None
    names = [" + ".join(change["name"] for change in step["changes"]) for step in steps]
    measured = ((explanation or {})["measured"] or {}).get("steps", [])
    rows = [*names, "winner"]
    return chart.Chart(
        name="contributions",
        title=_title(names, steps),
        caption="Each bar is one step, on top of those above it, as models of the job's trials "
        "expect it; lines: 95% intervals. One that crosses where its bar begins may be nothing."
        + (" Diamonds: the same steps measured, with their intervals." if measured else ""),
        traces=[_bars(steps), _whole(steps), *_diamonds(steps, measured)],
        layout={
            "xaxis": chart.axis("fitness", zeroline=False),
            "yaxis": chart.rows_axis(rows),
            "shapes": [chart.line_at(0.0, across="x", dash="solid")],
            "showlegend": False,
            "barmode": "overlay",
        },
        height=130 + 28 * len(rows),
    )


def _title(names: Sequence[str], steps: Sequence[Mapping[str, Any]]) -> str:
    sure = [n for n, step in zip(names, steps, strict=True) if step["gain"]["low"] > 0]
    if not sure:
        return "Of no step alone are the models sure that it gains"
    return f"Surely gained by {', '.join(sure[:3])}" + (" and more" if len(sure) > 3 else "")


def _begins(steps: Sequence[Mapping[str, Any]]) -> list[float]:
    return [0.0, *(step["fitness"]["expected"] for step in steps[:-1])]


def _bars(steps: Sequence[Mapping[str, Any]]) -> chart.Trace:
    gains = [step["gain"] for step in steps]
    return chart.bar_trace(
        "expected",
        [chart.short(gain["expected"]) for gain in gains],
        range(len(steps)),
        [_colour(gain) for gain in gains],
        base=[chart.short(begin) for begin in _begins(steps)],
        error_x=_errors(gains, "@dim"),
        hovertext=[
            f"{chart.words(step_words(step), 200)}: {estimate_words(step['gain'])}"
            for step in steps
        ],
        hoverinfo="text",
    )


def _whole(steps: Sequence[Mapping[str, Any]]) -> chart.Trace:
    total = steps[-1]["fitness"]
    return chart.bar_trace(
        "winner",
        [chart.short(total["expected"])],
        [len(steps)],
        "@third",
        error_x=_errors([total], "@dim"),
        hovertext=[f"the winner: {estimate_words(total)}"],
        hoverinfo="text",
    )


def _diamonds(
    steps: Sequence[Mapping[str, Any]], measured: Sequence[Mapping[str, Any] | None]
) -> list[chart.Trace]:
    """The measured gains, each set where its bar begins."""
    found = [(place, each["fitness"]) for place, each in enumerate(measured) if each]
    if not found:
        return []
    begins = _begins(steps)
    return [
        chart.scatter_trace(
            "measured",
            [chart.short(begins[place] + gain["expected"]) for place, gain in found],
            [place for place, _ in found],
            error_x=_errors([gain for _, gain in found], "@second"),
            marker={"color": "@second", "symbol": "diamond", "size": 10},
            hovertext=[f"measured: {estimate_words(gain)}" for _, gain in found],
            hoverinfo="text",
        )
    ]


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
    """The terms of the fitness, which add up to it; None without a term.

    Args:
        names: The metrics of the objective.
        proven: By metric, the term in the proof's fresh runs.
        found: The same in the one run of the search; empty where it is not known.
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
                [
                    *(chart.short(terms[name]) if name in terms else None for name in shown),
                    chart.short(sum(terms.values())),
                ],
                range(len(rows)),
                color,
                hovertext=[f"{chart.words(row)}" for row in rows],
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
