"""docs/results/real_coverage.md: every figure out of the runs that are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from optimizer.confirmation.paired_change import differences_of, interval_of_mean
from optimizer.confirmation.proof import fitness_by_pair
from optimizer.objective.objective import Objective
from optimizer.objective.objective_file import load_objective
from sampler.parameters.parameter import Value

FITNESS = "fitness"
_RARE = 0.01
Pair = tuple[Mapping[str, float], Mapping[str, float]]


@dataclass(frozen=True)
class Held:
    """How the intervals of one metric did.

    Attributes:
        metric: Its name, or ``fitness``.
        change: What all pairs together say: percent, of the fitness its value.
        half: Half of a confirmation's interval, the median over all; in the same unit.
        held: How many intervals hold what all other confirmations say.
        times: Of how many.
        low, high: 95% binomial interval (Clopper and Pearson) of the share that hold it.
    """

    metric: str
    change: float
    half: float
    held: int
    times: int
    low: float
    high: float


def write_page(
    out: Path,
    command: str,
    changed: Mapping[str, Value],
    rows: Sequence[Mapping[str, Any]],
    size: int,
) -> str:
    """Writes the page, and returns what to say of it."""
    pairs = pairs_of(rows)
    times = len(pairs) // size
    if times < 3:
        return f"{len(pairs)} pairs are too few for a page: three confirmations of {size}"
    found = coverage(load_objective("paper"), pairs, size)
    settings = ", ".join(f"`{name}` = {value}" for name, value in changed.items())
    lines = [
        "# How often a confirmation is right, with the real `db_bench`",
        "",
        f"`{command}`, {rows[-1]['ended'][:10]}, {rows[-1]['host']}, workload "
        f"`{rows[-1]['workload']}`.",
        "",
        f"One configuration ({settings}) is confirmed {times} times against the default, as a job "
        f"does it: {size} pairs of fresh runs, Student's t on logarithms of ratios; who goes "
        "first takes turns, where a job draws it for every second pair. Nobody knows its true "
        "change. Each interval is held against the mean of all other confirmations, which is "
        "itself uncertain: a 95% interval holds that in "
        f"{100 * expected(times):.1f}% of cases.",
        "",
        "| metric | change | half an interval | hold it | of | share | 95% interval |",
        "|---|--:|--:|--:|--:|--:|--:|",
        *map(_line, found),
        "",
    ]
    out.write_text("\n".join(lines), encoding="utf-8")
    return f"{out} tells of {times} confirmations"


def pairs_of(rows: Sequence[Mapping[str, Any]]) -> list[Pair]:
    """(baseline, changed) by pair; those that lack a side are left out."""
    sides: dict[int, dict[str, Mapping[str, float]]] = {}
    for row in rows:
        sides.setdefault(row["pair"], {})[row["side"]] = row["metrics"]
    return [(p["baseline"], p["changed"]) for _, p in sorted(sides.items()) if len(p) == 2]


def coverage(objective: Objective, pairs: Sequence[Pair], size: int) -> list[Held]:
    """Of each metric of an objective, and of the fitness.

    Args:
        objective: The paper's, say.
        pairs: (baseline, changed), in the order of measurement.
        size: How many make a confirmation; what is left over at the end is not used.
    """
    groups = [pairs[i : i + size] for i in range(0, len(pairs) - size + 1, size)]
    found = [
        _held(
            term.metric,
            [differences_of([(a[term.metric], b[term.metric]) for a, b in g])[0] for g in groups],
            lambda value: 100 * float(np.expm1(value)),
        )
        for term in objective.terms
    ]
    fitness = [fitness_by_pair(objective, group) for group in groups]
    return [*found, _held(FITNESS, fitness, float)]


def too_few(found: Sequence[Held]) -> tuple[str, ...]:
    """The metrics whose intervals hold so seldom as one table in a hundred would show."""
    return tuple(
        row.metric
        for row in found
        if binomtest(row.held, row.times, expected(row.times), alternative="less").pvalue < _RARE
    )


def expected(times: int) -> float:
    """How often a 95% interval holds the mean of the others, which has noise of its own."""
    from scipy.stats import norm

    wide = float(norm.ppf(0.975)) / np.sqrt(1 + 1 / (times - 1))
    return float(norm.cdf(wide) - norm.cdf(-wide))


def _held(metric: str, groups: Sequence[NDArray[np.float64]], shown: Any) -> Held:
    means = np.array([group.mean() for group in groups])
    held, halves = 0, []
    for place, group in enumerate(groups):
        mean, half, _ = interval_of_mean(group)
        held += abs(float(np.delete(means, place).mean()) - mean) <= half
        halves.append(shown(half))
    share = binomtest(held, len(groups)).proportion_ci(method="exact")
    whole = shown(float(means.mean()))
    return Held(metric, whole, float(np.median(halves)), held, len(groups), share.low, share.high)


def _line(row: Held) -> str:
    unit = "" if row.metric == FITNESS else "%"
    digits = 0 if row.metric == FITNESS else 2
    return (
        f"| {row.metric} | {row.change:+.{digits}f}{unit} | {row.half:.{digits}f}{unit} "
        f"| {row.held} | {row.times} | {100 * row.held / row.times:.1f}% "
        f"| {100 * row.low:.1f}% to {100 * row.high:.1f}% |"
    )
