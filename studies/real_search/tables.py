"""The tables of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from studies.real_search.summary import Interval, Winner, ahead, change_of, interval_of

Row = Mapping[str, Any]
# Of two seeds the interval of a ratio may reach from nothing to a million: it tells nothing.
LEAST_SEEDS = 3


def winners_table(groups: Mapping[str, Sequence[Winner]], metrics: Sequence[str]) -> str:
    """Each strategy's winners against the baseline: fitness and changes, mean over seeds."""
    head = ["strategy", "seeds", "fitness", *(name.upper() for name in metrics), "memory"]
    rows = []
    for name, group in groups.items():
        changes = [
            interval_words(change_of([w.ratios[metric] for w in group]), "+.1f", "%")
            for metric in (*metrics, "memory")
        ]
        fitness = interval_words(interval_of([w.fitness for w in group]), ",.0f")
        rows.append([name, str(len(group)), fitness, *changes])
    return table(head, rows)


def seeds_table(groups: Mapping[str, Sequence[Winner]]) -> str:
    """The fitness of every winner."""
    seeds = sorted({winner.seed for group in groups.values() for winner in group})
    rows = []
    for name, group in groups.items():
        at = {winner.seed: f"{winner.fitness:,.0f}" for winner in group}
        rows.append([name, *(at.get(seed, "-") for seed in seeds)])
    return table(["strategy", *(f"seed {seed}" for seed in seeds)], rows)


def scatter_table(scatters: Mapping[int, Mapping[str, float]], metrics: Sequence[str]) -> str:
    """How noisy the machine was during each seed, by metric."""
    rows = [
        [
            metric.upper(),
            *(f"{of[metric]:.1f}%" if metric in of else "-" for of in scatters.values()),
        ]
        for metric in metrics
    ]
    return table(["metric", *(f"seed {seed}" for seed in scatters)], rows)


def ahead_table(groups: Mapping[str, Sequence[Winner]], one: str) -> str:
    """By how much one strategy is ahead of every other, seed by seed beside each other."""
    found = [winner for group in groups.values() for winner in group]
    rows = []
    for other in groups:
        differences = ahead(found, one, other)
        if other != one and differences:
            rows.append([other, *lead_cells(differences)])
    return table([f"{one} less", "fitness", "better on seeds"], rows)


def lead_cells(differences: Sequence[float]) -> list[str]:
    """How far one is ahead of another in fitness, and in how many of the seeds; at least one."""
    better = sum(difference > 0 for difference in differences)
    mean = interval_words(interval_of(differences), "+,.0f")
    return [mean, f"{better} of {len(differences)}"]


def along_table(
    found: Mapping[str, Sequence[Sequence[float | None]]], marks: Sequence[str]
) -> str:
    """What each strategy had come to at each of the marks: the mean over its seeds.

    Of a mark at which a seed had nothing yet no mean is told.
    """
    rows = []
    for name, seeds in found.items():
        cells = []
        for at in zip(*seeds, strict=True):
            values = [value for value in at if value is not None]
            whole = len(values) == len(seeds)
            cells.append(interval_words(interval_of(values), ",.0f") if whole else "-")
        rows.append([name, *cells])
    return table(["strategy", *marks], rows)


def cost_table(groups: Mapping[str, Sequence[Winner]], trials: Mapping[str, Sequence[Row]]) -> str:
    """What proposals and runs took, and how much of what a winner was chosen for was luck."""
    head = [
        "strategy",
        "seconds per proposal",
        "of the processor",
        "longest",
        "seconds per run",
        "cut off",
        "failed",
        "fitness it was chosen for",
    ]
    rows = []
    for name, mine in trials.items():
        new = [row for row in mine if row["purpose"] == "candidate"]
        states = [row["state"] for row in new]
        chosen = [w.chosen_at for w in groups.get(name, ()) if w.chosen_at is not None]
        rows.append(
            [
                name,
                f"{np.mean([row['wall'] for row in new]):.3f}",
                f"{np.mean([row['processor'] for row in new]):.3f}",
                f"{max(row['wall'] for row in new):.3f}",
                f"{np.mean([row['bench_seconds'] for row in new]):.2f}",
                f"{states.count('censored')} of {len(new)}",
                str(len(new) - states.count("censored") - states.count("done")),
                f"{np.mean(chosen):,.0f}" if chosen else "-",
            ]
        )
    return table(head, rows)


def interval_words(found: Interval, form: str, unit: str = "") -> str:
    """A mean with its interval; [-] with fewer than ``LEAST_SEEDS``."""
    mean = f"{format(found.mean, form)}{unit}"
    if found.seeds < LEAST_SEEDS or found.low is None or found.high is None:
        return f"{mean} [-]"
    return f"{mean} [{format(found.low, form)}, {format(found.high, form)}]"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Of Markdown, the first column to the left."""
    rule = ["---", *["--:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, rule, *rows])
