"""The tables and plots of docs/results/memory.md, with every figure out of the archived trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sampler.common.byte_size import format_bytes
from studies.memory_front.front import (
    Found,
    best_within,
    expected_best,
    explored,
    memory_front,
)
from studies.memory_front.plot import Point, Series, memory_plot
from studies.reproduction.study import Study
from studies.reproduction.tables import chance, figure, table

METRICS = ("waf", "sa", "time", "rate", "write_p99", "memory", "peak_rss")
_DRAWN = ("waf", "sa", "time", "rate")


def multiple_of(study: Study) -> float:
    """A job's budget as a multiple of the baseline's memory."""
    return (study.archive.specification.memory or 0.0) / own_memory(study)


def own_memory(study: Study) -> float:
    """The baseline's memory in bytes."""
    return float(study.result["baseline"]["metrics"]["memory"])


def proof_table(studies: Mapping[str, Study]) -> str:
    """What the fresh runs say of each job's winner."""
    head = ["job", "budget", "runs", "fitness of the proof", "95% interval", "p", "proven",
            "best single run"]  # fmt: skip
    rows = []
    for name, study in studies.items():
        verdict = study.result["verdict"]
        budget = format_bytes(study.archive.specification.memory or 0)
        single = max((f.fitness for f in explored({name: study})), default=None)
        cells = ["-"] * 4
        if verdict:
            middle = (verdict["low"] + verdict["high"]) / 2
            interval = f"{verdict['low']:,.0f} to {verdict['high']:,.0f}"
            said = "yes" if verdict["confirmed"] else "no"
            cells = [f"{middle:,.0f}", interval, chance(verdict["p"]), said]
        rows.append([f"`{name}`", budget, f"{len(study.trials)}", *cells, figure(single)])
    return table(head, rows)


def change_table(studies: Mapping[str, Study]) -> str:
    """Each metric's change against the baseline, with its 95% interval, a column a job."""
    known = {
        name: s.result["verdict"]["change"] for name, s in studies.items() if s.result["verdict"]
    }
    if not known:
        return "No job is proven yet."
    rows = []
    for metric in METRICS:
        if all(metric in change for change in known.values()):
            cells = (_interval(change[metric]) for change in known.values())
            rows.append([metric, *cells])
    return table(["metric", *(f"`{name}`" for name in known)], rows)


def _interval(change: Mapping[str, float]) -> str:
    percent, low, high = change["percent"], change["low"], change["high"]
    return f"{percent:+.1f}%" if low == high else f"{percent:+.1f}% [{low:+.1f}, {high:+.1f}]"


def front_table(found: Sequence[Found], level: float, multiples: Sequence[float]) -> str:
    """The best single run within each budget, whichever job made it.

    Args:
        found: All explored configurations.
        level: The baseline's memory in bytes.
        multiples: Of it.
    """
    rows = []
    for multiple in multiples:
        best = best_within(found, multiple * level)
        count = sum(each.memory <= multiple * level for each in found)
        if best:
            used, where = format_bytes(int(best.memory)), f"{best.trial} of `{best.job}`"
            rows.append([f"{multiple:g}x", f"{count}", figure(best.fitness), used, where])
    return table(["within", "configurations", "best fitness", "its memory", "trial"], rows)


def budget_table(
    guided: Sequence[float], draws: Sequence[float], counts: Sequence[int] = (25, 50, 66, 100, 172)
) -> str:
    """Best single run after so many configurations at the default's memory.

    Args:
        guided: Fitness in the order of a job's trials.
        draws: Fitness of random draws of the same space and load.
        counts: Numbers of configurations.
    """
    rows = []
    for count in sorted({*counts, len(guided), len(draws)} - {0}):
        mine = max(guided[:count]) if count <= len(guided) else None
        theirs = expected_best(draws, count) if count <= len(draws) else None
        rows.append([f"{count:,}", figure(mine), figure(theirs)])
    return table(["configurations", "the search", "random draws, mean"], rows)


def recorded_table(draws: Sequence[tuple[int, float]], level: int) -> str:
    """The best recorded draw within multiples of the default's write buffers.

    Args:
        draws: (bytes of write buffers, fitness).
        level: The default's write buffers in bytes.
    """
    rows = []
    for multiple in (1, 2, 4, 8, None):
        within = [f for buffers, f in draws if multiple is None or buffers <= multiple * level]
        name = "any" if multiple is None else f"{multiple}x"
        rows.append([name, f"{len(within)}", figure(max(within, default=None))])
    return table(["write buffers", "draws", "best fitness"], rows)


def fitness_plot(studies: Mapping[str, Study], found: Sequence[Found], level: float) -> str:
    """The proofs with their intervals, and the front of single runs."""
    points = [
        Point(multiple_of(study), (v["low"] + v["high"]) / 2, v["low"], v["high"])
        for study in studies.values()
        if (v := study.result["verdict"])
    ]
    steps = [
        (each.memory / level, each.fitness) for each in memory_front(found) if each.fitness > 0
    ]
    return memory_plot(
        "Fitness against memory", "fitness, 0 is the default",
        [Series("proof: fresh pairs, 95% interval", points), Series("best single run", (), steps)],
    )  # fmt: skip


def change_plot(studies: Mapping[str, Study]) -> str:
    """The four metrics' changes with their intervals."""
    series = []
    for metric in _DRAWN:
        points = [
            Point(multiple_of(study), c["percent"], c["low"], c["high"])
            for study in studies.values()
            if (v := study.result["verdict"]) and (c := v["change"].get(metric))
        ]
        series.append(Series(metric.upper(), points))
    return memory_plot("Change of each metric against the default", "percent", series)
