"""How the Pareto front grew: its hypervolume after each trial."""

from __future__ import annotations

from collections.abc import Sequence

from jobs.charts.chart import Chart, axis, line_at, short, thinned, thinned_words
from optimizer.objective.objective import Term

Growth = Sequence[tuple[int, float]]


def front_growth(growth: Growth, terms: Sequence[Term], last: int) -> Chart | None:
    """The plot of a job.

    Args:
        growth: (trial's number, hypervolume) of each trial that enlarged the front.
        terms: Of the objective.
        last: The number of the job's last trial.

    Returns:
        None with one metric, or where nothing reached the reference.
    """
    if len(terms) < 2 or not growth:
        return None
    number, value = growth[-1]
    shown = thinned(growth)
    return Chart(
        name="front-growth",
        title=f"The front grew until trial {number}, and covers {value:.3g} times what the "
        "baseline covers",
        caption="Hypervolume: how much of all trades between the metrics some configuration meets "
        "or beats, down to twice the baseline where less is better and to 0 where more is; the "
        "baseline alone is 1 (dashed). Single runs, clocks corrected for drift; what breaks a "
        "limit does not count. Noise raises it: the luckiest runs stay."
        + thinned_words(len(shown), len(growth)),
        traces=[_line(shown, last)],
        layout={
            "xaxis": axis("trial", range=[0, last + 1]),
            "yaxis": axis("hypervolume, 1 = baseline", rangemode="tozero"),
            "shapes": [line_at(1.0, dash="dash")],
        },
    )


def _line(growth: Growth, last: int) -> dict[str, object]:
    points = [*growth, (last, growth[-1][1])]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "hypervolume",
        "x": [number for number, _ in points],
        "y": [short(value) for _, value in points],
        "line": {"color": "@accent", "width": 2.5, "shape": "hv"},
        "hovertemplate": "up to trial %{x}: %{y:.3g}<extra></extra>",
    }
