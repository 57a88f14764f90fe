"""The Pareto front: the configurations that no other beats in every metric, and its growth."""

from collections.abc import Collection, Mapping, Sequence
from functools import partial

from jobs.charts import chart
from optimizer.objective.objective import Term, pareto_front

Points = Mapping[int, Mapping[str, float]]


def front_chart(
    points: Points,
    kept: Collection[int],
    numbers: Collection[int],
    terms: Sequence[Term],
    *,
    again: int = 0,
    name: str = "front",
    about: str = "",
) -> chart.Chart | None:
    """All configurations in two metrics; None with one metric, or nothing on the front.

    ``points`` are the metrics of each new configuration that was measured whole, by number;
    ``kept`` are those that keep the limits, ``numbers`` those of the front. The first and the last
    of the terms are drawn; ``about`` says what they are, where they are not the objective's.
    ``again`` runs measured a configuration again; they are in the mean of the first.
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
    shown, crossed = chart.thinned(off), chart.thinned(broken)
    better = " and ".join(
        f"{'lower' if term.direction == 'min' else 'higher'} {term.metric}"
        for term in (terms[0], terms[-1])
    )
    title = f"{len(on)} of {len(on) + len(off):,} configurations are on the Pareto front"
    drawn_words = (
        f"Better is {better}."
        if about
        else f"Of {len(terms)} metrics two are drawn: better is {better}. "
        "What looks beaten here is better in another metric."
    )
    dots = partial(_dots, drawn, across, up)
    return chart.Chart(
        name=name,
        title=f"{about}: {title}" if about else f"{title}: no other is better in all metrics",
        caption=f"Single runs, clocks corrected for drift. {drawn_words}"
        + (f" Crosses: {len(broken):,} that break a limit do not count." if broken else "")
        + chart.again_words(again)
        + chart.thinned_words(len(shown) + len(crossed), len(off) + len(broken)),
        traces=[
            dots(shown, "others", color="@faint", size=6),
            *(
                [dots(crossed, "breaks a limit", color="@faint", size=6, symbol="x")]
                if broken
                else []
            ),
            dots(on, "front", color="@accent", size=9, symbol="diamond"),
        ],
        layout={"xaxis": chart.axis(chart.words(across)), "yaxis": chart.axis(chart.words(up))},
    )


def _dots(
    points: Points, across: str, up: str, numbers: Sequence[int], name: str, **marker: object
) -> chart.Trace:
    places = {number: (points[number][across], points[number][up]) for number in numbers}
    return chart.trial_dots(name, places, "%{text}: %{x:.4g}, %{y:.4g}", **marker)


def front_growth_chart(
    growth: Sequence[tuple[int, float]], terms: Sequence[Term], last: int
) -> chart.Chart | None:
    """How the front grew up to the job's last trial, which has the number ``last``.

    ``growth`` is (trial's number, hypervolume) of each trial that enlarged the front. None with
    one metric, or where nothing reached the reference.
    """
    if len(terms) < 2 or not growth:
        return None
    number, value = growth[-1]
    shown = chart.thinned(growth)
    return chart.Chart(
        name="front-growth",
        title=f"The front grew until trial {number}, and covers {value:.3g} times what the "
        "baseline covers",
        caption="Hypervolume: how much of all trades between the metrics some configuration meets "
        "or beats, down to twice the baseline where less is better and to 0 where more is; the "
        "baseline alone is 1 (dashed). Single runs, clocks corrected for drift; what breaks a "
        "limit does not count. Noise raises it: the luckiest runs stay."
        + chart.thinned_words(len(shown), len(growth)),
        traces=[
            chart.step_line("hypervolume", shown, last, "@accent", "up to trial %{x}: %{y:.3g}")
        ],
        layout={
            "xaxis": chart.axis("trial", range=[0, last + 1]),
            "yaxis": chart.axis("hypervolume, 1 = baseline", rangemode="tozero"),
            "shapes": [chart.line_at(1.0, dash="dash")],
        },
    )


_RATE = Term("rate", "max")
_PAIRS = (
    (_RATE, Term("write_p99", "min"), "Throughput against the 99th percentile of writes"),
    (_RATE, Term("read_p99", "min"), "Throughput against the 99th percentile of reads"),
    (_RATE, Term("update_p99", "min"), "Throughput against the 99th percentile of updates"),
    (Term("cpu_percent", "min"), _RATE, "CPU use against throughput"),
)
_LEAST_POINTS = 3  # fewer show no front


def two_metric_front_charts(
    points: Points, kept: Collection[int], *, again: int = 0
) -> list[chart.Chart]:
    """Throughput against each kind of latency, CPU use against throughput: what was measured.

    Arguments as of ``front_chart``.
    """
    charts = []
    for across, up, about in _PAIRS:
        names = (across.metric, up.metric)
        drawn = {n: found for n, found in points.items() if all(name in found for name in names)}
        if len(drawn) < _LEAST_POINTS:
            continue
        within = {number: drawn[number] for number in drawn if number in kept}
        on = pareto_front(within, (across, up))
        picture = front_chart(
            drawn, within, on, (across, up), again=again,
            name=f"front-{names[0]}-{names[1]}", about=about,
        )  # fmt: skip
        charts += [picture] if picture else []
    return charts
