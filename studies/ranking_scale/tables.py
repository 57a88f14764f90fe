"""The tables of docs/results/ranking_scale.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from optimizer.budget.power import p_figure
from optimizer.objective.objective import Objective
from sampler.runner.outcome import TrialState
from studies.ranking_scale.correlation import TOP, Agreement, agreement, top_kept
from studies.ranking_scale.effects import ALPHA, DrawnEffect, StepEffect
from studies.ranking_scale.measured import FITNESS, Measured

# (smaller, larger) with the rounds that are compared; a scale with itself is what noise allows.
Pairing = tuple[Measured, int, Measured, int]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of markdown; all columns but the first are figures."""
    lines = [head, ["---", *("--:" for _ in head[1:])], *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def pairings(scales: Sequence[Measured]) -> list[Pairing]:
    """Each scale with itself where it was measured twice, then each with every larger one."""
    again = [(s, 0, s, 1) for s in scales if s.of("draw", 1)]
    between = [(a, 0, b, 0) for i, a in enumerate(scales) for b in scales[i + 1 :]]
    return [*again, *between]


def pairing_name(pairing: Pairing) -> str:
    """Of a column: ``1/64 to 1``."""
    one, _, other, _ = pairing
    same = one.scale == other.scale
    return f"{one.scale.name} again" if same else f"{one.scale.name} to {other.scale.name}"


def runs_table(scales: Sequence[Measured]) -> str:
    """How many runs of draws ended how, and what one took."""
    head = ["scale", "pairs", "baseline runs", "runs of draws", "done", "cut off", "failed",
            "median s a run", "longest s"]  # fmt: skip
    rows = []
    for each in scales:
        draws = [row for row in each.rows if row.run.kind == "draw"]
        states = Counter(row.state for row in draws)
        well, cut = states[TrialState.DONE], states[TrialState.CENSORED]
        seconds = [row.seconds for row in draws]
        rows.append([
            each.scale.name, f"{each.scale.num:,}", str(len(each.baselines)), str(len(draws)),
            str(well), str(cut), str(len(draws) - well - cut),
            f"{np.median(seconds):.0f}" if seconds else "-",
            f"{max(seconds):.0f}" if seconds else "-",
        ])  # fmt: skip
    return table(head, rows)


def baseline_table(scales: Sequence[Measured], metrics: Sequence[str]) -> str:
    """The baseline at each scale: median, and noise of a single run."""
    head = ["scale", *(metric.upper() for metric in metrics), "fitness", "levels with data"]
    rows = []
    for each in scales:
        cells = []
        for metric in metrics:
            level, noise = each.level.get(metric), each.noise(metric)
            spread = "" if noise is None else f" ({100 * noise:.1f}%)"
            cells.append("-" if level is None else f"{level:,.4g}{spread}")
        own = each.noise(FITNESS)
        cells.append("-" if own is None else f"0 (sd {own:.0f})")
        rows.append([each.scale.name, *cells, levels_words(each)])
    return table(head, rows)


def levels_words(measured: Measured) -> str:
    """The levels that hold data after a run of the baseline, in all of its runs."""
    deepest = {
        max((level for level, size in enumerate(row.levels) if size), default=0)
        for row in measured.baselines
        if row.levels
    }
    return " or ".join(f"0 to {level}" for level in sorted(deepest)) or "-"


def correlation_table(columns: Sequence[Pairing], metrics: Sequence[str]) -> str:
    """Spearman's rank correlation of each metric for each pairing."""
    rows = []
    for metric in (*metrics, FITNESS):
        cells = (_agreement(agreement(*_values(pairing, metric))) for pairing in columns)
        rows.append([metric, *cells])
    return table(["", *map(pairing_name, columns)], rows)


def top_table(columns: Sequence[Pairing], objective: Objective) -> str:
    """How many of the best five stay among the best five, and where the best one comes."""
    rows = []
    up = {term.metric: term.direction == "max" for term in objective.terms} | {FITNESS: True}
    for metric, more_is_better in up.items():
        cells = []
        for pairing in columns:
            kept = top_kept(*_values(pairing, metric), up=more_is_better)
            cells.append("-" if kept is None else f"{kept.both} of {TOP}; {_place(kept.first)}")
        rows.append([metric, *cells])
    return table(["", *map(pairing_name, columns)], rows)


def steps_table(effects: Sequence[StepEffect], scales: Sequence[Measured]) -> str:
    """The change of each metric by each step, by scale; bold where it differs between scales."""
    divisors = [each.scale.divisor for each in scales]
    metrics = list(dict.fromkeys(effect.metric for effect in effects))
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for effect in effects:
        shown = " / ".join(
            f"{effect.percent[d]:+.0f}" if d in effect.percent else "-" for d in divisors
        )
        row = cells.setdefault((effect.option, str(effect.value)), {})
        row[effect.metric] = f"**{shown}**" if effect.changes else shown
    rows = [
        [f"`{option} = {value}`", *(row.get(metric, "-") for metric in metrics)]
        for (option, value), row in cells.items()
    ]
    return table(["", *(metric.upper() for metric in metrics)], rows)


def drawn_table(effects: Sequence[DrawnEffect]) -> str:
    """Options whose value goes with the change between scales, after Holm's correction."""
    rows = [
        [f"`{each.option}`" + ("" if each.level is None else f" = {each.level}"), each.metric,
         f"{each.rho:+.2f}", p_figure(each.p), str(each.count)]
        for each in effects
        if each.p < ALPHA
    ]  # fmt: skip
    return table(["option", "metric", "rho", "p (Holm)", "draws"], rows) if rows else "None."


def _values(pairing: Pairing, metric: str) -> tuple[Mapping[int, float], Mapping[int, float]]:
    one, first, other, second = pairing
    return one.values(metric, first), other.values(metric, second)


def _agreement(found: Agreement | None) -> str:
    return "-" if found is None else f"{found.rho:.2f} [{found.low:.2f}, {found.high:.2f}]"


def _place(number: int) -> str:
    ending = (
        "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    )
    return f"{number}{ending}"
