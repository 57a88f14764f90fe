"""Of what the fitness is made: each metric's part, in the proof and when it was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jobs.charts.chart import Chart, axis, line_at, rows_axis, short, words


def fitness_terms(
    names: Sequence[str], proven: Mapping[str, float], found: Mapping[str, float]
) -> Chart | None:
    """The terms of the fitness, which add up to it.

    Args:
        names: The metrics of the objective.
        proven: By metric, the term in the proof's fresh runs.
        found: The same in the one run of the search; empty where it is not known.

    Returns:
        The plot; None without a term.
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
    return Chart(
        name="terms",
        title=title,
        caption="Each term is 1000 times the relative gain of its metric times its weight; they "
        "add up to the fitness. What a single run promised is drawn beside what was proven.",
        traces=[
            {
                "type": "bar",
                "orientation": "h",
                "name": label,
                "y": list(range(len(rows))),
                "x": [
                    *(short(terms[name]) if name in terms else None for name in shown),
                    short(sum(terms.values())),
                ],
                "marker": {"color": color},
                "hovertext": [f"{words(row)}" for row in rows],
                "hovertemplate": "%{hovertext}: %{x:.0f}<extra></extra>",
            }
            for label, terms, color in series
        ],
        layout={
            "barmode": "group",
            "xaxis": axis("term, thousandths of the baseline", zeroline=False),
            "yaxis": rows_axis(rows),
            "shapes": [line_at(0.0, across="x", dash="solid")],
        },
        height=150 + 42 * len(rows),
    )
