"""Fronts of two metrics, whatever the objective: throughput, latency, CPU use."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from jobs.charts.chart import Chart
from jobs.charts.front import Points, front
from optimizer.objective.objective import Term, pareto_front

_LATENCIES = {"write_p99": "writes", "read_p99": "reads", "update_p99": "updates"}
_LEAST_POINTS = 3  # fewer show no front


def fronts_of_two(points: Points, kept: Collection[int], *, again: int = 0) -> list[Chart]:
    """Throughput against the 99th percentile of each kind of latency, CPU use against throughput.

    Args:
        points: The metrics of each new configuration that was measured whole, by number.
        kept: Those that keep the limits.
        again: How many runs measured a configuration again.

    Returns:
        The plots whose metrics were measured.
    """
    charts = []
    for across, up, about in _pairs():
        names = (across.metric, up.metric)
        drawn = {n: found for n, found in points.items() if all(name in found for name in names)}
        if len(drawn) < _LEAST_POINTS:
            continue
        within = {number: drawn[number] for number in drawn if number in kept}
        on = pareto_front(within, (across, up))
        chart = front(
            drawn, within, on, (across, up), again=again,
            name=f"front-{names[0]}-{names[1]}", about=about,
        )  # fmt: skip
        charts += [chart] if chart else []
    return charts


def _pairs() -> Iterator[tuple[Term, Term, str]]:
    rate = Term("rate", "max")
    for metric, what in _LATENCIES.items():
        yield rate, Term(metric, "min"), f"Throughput against the 99th percentile of {what}"
    yield Term("cpu_percent", "min"), rate, "CPU use against throughput"
