"""What was gained: how far each metric changed, and what makes the winner's fitness."""

from collections.abc import Mapping, Sequence
from typing import Any

from jobs.charts import chart
from jobs.results.figures import estimate_words, step_words
from optimizer.confirmation.paired_tests import Change
from optimizer.explained import Estimate, Explanation, PathStep
from optimizer.objective.objective import Term

_FARTHEST = 150.0  # percent; an interval that knows nothing would squeeze the others to a line


def changes_chart(
    changes: Mapping[str, Change], terms: Sequence[Term], detectable: Mapping[str, float]
) -> chart.Chart | None:
    """The changes by metric with their intervals; None without one.

    The objective's terms say which way is better. ``detectable`` is by metric the smallest change
    in percent that the proof would have shown.
    """
    if not changes:
        return None
    minimised = {term.metric: term.direction == "min" for term in terms}
    shown = {name: change.shown for name, change in changes.items() if name in minimised}
    # What is sure, and whether it is for the better.
    sure = {name: (side > 0) != minimised[name] for name, side in shown.items() if side}
    colours = {True: "@accent", False: "@second", None: "@dim"}
    points = [
        _point(row, name, change, colours[sure.get(name)])
        for row, (name, change) in enumerate(changes.items())
    ]
    names = list(changes)
    low = min(0.0, *(max(change.low, -_FARTHEST) for change in changes.values()))
    high = max(0.0, *(min(change.high, _FARTHEST) for change in changes.values()))
    room = 0.06 * (high - low) or 1.0
    left, right = low - room, high + room
    # Cut at the plot's edges: a shape beyond them makes the page wider than a phone.
    bands = [
        chart.area(
            x0=max(-detectable[name], left), x1=min(detectable[name], right),
            y0=row - 0.32, y1=row + 0.32,
        )
        for row, name in enumerate(names)
        if name in detectable
    ]  # fmt: skip
    beyond = [n for n, c in changes.items() if c.low < -_FARTHEST or c.high > _FARTHEST]
    told = {
        how: ", ".join(n for n in names if n in minimised and sure.get(n) is good)
        for how, good in (("better", True), ("worse", False), ("not significant", None))
    }
    shaded = " Shaded: changes too small to detect with 80% power."
    return chart.Chart(
        name="changes",
        title="; ".join(f"{those} {how}" for how, those in told.items() if those)
        or "Changes with 95% intervals",
        caption="Dots: mean change over the pairs. Bars: 95% intervals. A change whose interval "
        "includes 0 is not significant; colours allow for the number of metrics."
        + (shaded if bands else "")
        + (f" The interval of {', '.join(beyond)} extends beyond the plot." if beyond else ""),
        traces=points,
        x=chart.axis("change against the baseline, %", zeroline=False, range=[left, right]),
        y=chart.rows_axis(names),
        shapes=[chart.line_at(0.0, across="x", dash="solid"), *bands],
        more={"showlegend": False},
        height=110 + 34 * len(changes),
    )


def _point(row: int, name: str, change: Change, color: str) -> chart.Trace:
    low, high, percent = change.low, change.high, change.percent
    return chart.scatter_trace(
        chart.words(name),
        [(percent, row)],
        error_x=chart.interval_bars([percent], [low], [high], color=color, thickness=2),
        marker={"size": 11, "color": color},
        hovertext=[f"{chart.words(name)}: {percent:+.1f}%, {low:+.1f}% to {high:+.1f}%"],
        hoverinfo="text",
    )


def runs_chart(
    name: str, metric: str, unit: str | None, runs: Mapping[str, Sequence[tuple[int, float]]]
) -> chart.Chart | None:
    """What every run gave, by subject as (round, figure); None without a run."""
    if not any(runs.values()):
        return None
    traces = [
        chart.scatter_trace(
            chart.words(subject),
            points,
            mode="lines+markers",
            line={"color": color, "width": 1, "dash": "dot"},
            marker={"color": color, "size": 8},
            hover="round %{x}: %{y}",
            extra=chart.words(subject),
        )
        for (subject, points), color in zip(runs.items(), chart.SERIES, strict=False)
    ]
    last = max(number for points in runs.values() for number, _ in points)
    return chart.Chart(
        name=name,
        title=f"{metric} by round",
        caption="Each dot is a run. If all lines rise and fall together, the machine changed.",
        traces=traces,
        x=chart.axis("round", dtick=max(1, last // 10)),
        y=chart.axis(metric + (f", {unit}" if unit else ""), rangemode="tozero"),
        height=280,
    )


def contributions_chart(explanation: Explanation) -> chart.Chart | None:
    """The path as a waterfall, each bar from where the one before it ends; None without a step."""
    steps = explanation.steps
    if not steps:
        return None
    measured = explanation.measured.steps if explanation.measured else []
    names = [" + ".join(change.name for change in step.changes) for step in steps]
    sure = [n for n, step in zip(names, steps, strict=True) if step.gain.low > 0]
    rows = [*names, "winner"]
    return chart.Chart(
        name="contributions",
        title=f"Significant predicted gain: {', '.join(sure[:3])}" + ", ..." * (len(sure) > 3)
        if sure
        else "No single step has a significant predicted gain",
        caption="Each bar is one step on top of those above, as predicted by models of the job's "
        "trials. Lines: 95% intervals. A gain whose interval includes the "
        "start of its bar is not significant."
        + (" Diamonds: the same steps measured, with their intervals." if measured else ""),
        traces=_traces(steps, [each.fitness if each else None for each in measured]),
        x=chart.axis("fitness", zeroline=False),
        y=chart.rows_axis(rows),
        shapes=[chart.line_at(0.0, across="x", dash="solid")],
        more={"showlegend": False, "barmode": "overlay"},
        height=130 + 28 * len(rows),
    )


def _traces(steps: Sequence[PathStep], measured: Sequence[Estimate | None]) -> list[chart.Trace]:
    """A bar for each step, one for all of them, and the measured gains where their bars begin."""
    gains, total = [step.gain for step in steps], steps[-1].fitness
    begins = [0.0, *(step.fitness.expected for step in steps[:-1])]
    told = [chart.words(step_words(step), 200) for step in steps]
    bars = chart.bar_trace(
        "expected",
        [gain.expected for gain in gains],
        [_colour(gain) for gain in gains],
        base=[chart.short(begin) for begin in begins],
        **_hover(gains, told, "@dim"),
    )
    whole = chart.bar_trace(
        "winner", [total.expected], "@third", **_hover([total], ["the winner"], "@dim")
    ) | {"y": [len(steps)]}
    found = [(place, each) for place, each in enumerate(measured) if each]
    if not found:
        return [bars, whole]
    diamonds = chart.scatter_trace(
        "measured",
        [(begins[place] + gain.expected, place) for place, gain in found],
        marker={"color": "@second", "symbol": "diamond", "size": 10},
        **_hover([gain for _, gain in found], ["measured"] * len(found), "@second"),
    )
    return [bars, whole, diamonds]


def _hover(estimates: Sequence[Estimate], names: Sequence[str], color: str) -> dict[str, Any]:
    """The intervals of estimates, and what is told of each."""
    ends = zip(*((each.expected, each.low, each.high) for each in estimates), strict=True)
    words = (estimate_words(each) for each in estimates)
    return {
        "error_x": chart.interval_bars(*ends, color=color),
        "hovertext": [f"{name}: {said}" for name, said in zip(names, words, strict=True)],
        "hoverinfo": "text",
    }


def _colour(gain: Estimate) -> str:
    if gain.low <= 0 <= gain.high:
        return "@soft"
    return "@accent" if gain.low > 0 else "@second"


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
        f"{most} contributes {proven[most]:+z.0f} to the fitness of {total:.0f}"
        if total > 0
        else f"In the proof the terms add up to {total:.0f}: nothing was gained"
    )
    series = [("proof: means of the paired runs", proven, "@accent")]
    if found:
        series.append(("search: the single run that found it", found, "@soft"))
    rows = [*shown, "fitness"]
    return chart.Chart(
        name="terms",
        title=title,
        caption="Each term is 1000 times the relative gain of its metric times its weight. The "
        "terms add up to the fitness. The single run of the search is drawn next to the proof.",
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
        x=chart.axis("contribution to the fitness", zeroline=False),
        y=chart.rows_axis(rows),
        shapes=[chart.line_at(0.0, across="x", dash="solid")],
        more={"barmode": "group"},
        height=150 + 42 * len(rows),
    )
