"""The page of the comparison, made from the raw results and what is known of the functions."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from sampler.machine.machine import fingerprint
from studies.arguments import FORMER_NAME
from studies.search.best import Effort
from studies.search.functions import Known
from studies.search.results import Result
from studies.search.summary import Group, groups_of
from studies.search.tables import cost_table, functions_table, share_table

_WHAT = (
    "No RocksDB is involved: strategies are run on functions learned from recorded runs, where "
    "the truth is known. `load`: 661 random draws of a load, 30 options, no limit on memory; "
    "`paper` and `default`: the archived jobs of [reproduction.md](reproduction.md), with the "
    "memory budget of the default in `default`; threads, which `paper` leaves to the users, stay "
    "at 1; `mixed` and `overwrite`: draws of the space `default` under the workloads "
    "`mixed-quick` and `overwrite-quick`, with the same budget, see "
    "[recorded](../recorded/README.md); `null`: no option matters, space and noise are those of "
    "`load`. What is after the slash learned the function: gradient boosting or a random "
    "forest. Of the strategies `smac` and `genetic` alone learn with trees (random forests); "
    "`forest` is guided by Gaussian processes, see [searching](../explanation/searching.md)."
)
_HOW = (
    "A trial's outcome is the truth times one of the residuals of the default's recorded runs "
    "(all metrics of a run together; clocks corrected for drift, which the functions do not "
    "have); it is taken to be the same everywhere, for only the default was measured often. A "
    "trial that takes the problem's cutoff times the baseline's time is cut off as in a job. The "
    "baseline is measured first and again at intervals, with the same noise, and not counted. "
    "Judged is what the strategy recommends after so many evaluations, without noise: by its own "
    "word where it has one, else the best measured. Configurations that were cut off when they "
    "were recorded taught time and rate by their bounds, and nothing of bytes. Seconds per "
    "proposal are longer where something else kept the machine busy meanwhile."
)


def write_page(
    out: Path,
    command: str,
    results: Sequence[Result],
    known: Mapping[str, Known],
    effort: Effort,
) -> str:
    """Writes the page; returns it.

    Args:
        out: The page's path without its ending.
        command: What was called last.
        results: All raw results; those of functions that have changed since are left out.
        known: By function, in the order of the page.
        effort: Of the search for the best that exists.
    """
    groups = groups_of(results, {name: found.digest for name, found in known.items()})
    kept = sum(len(runs) for group in groups for runs in group.runs.values())
    machine = fingerprint(Path())
    parts = [
        "# Strategies on recorded problems",
        f"`{command}`, {datetime.now(UTC).date()}, {machine['cpu']}, {machine['cores']} cores, "
        f"{machine['system']}, Python {platform.python_version()}. Runs of earlier calls are "
        f"kept and not made again: {kept} runs are in the tables, "
        f"{len(results) - kept} of functions that have changed since are not. {_WHAT} "
        f"{FORMER_NAME}",
        _HOW,
        "## The functions",
        "R2 is of logarithms, by five-fold cross-validation over configurations. The best that "
        f"exists is the best that a search of the noiseless function found in "
        f"{effort.evaluations:,} evaluations, or a run beyond it: a truer one may exist. Noise "
        "is the standard deviation of the logarithm.",
        functions_table(known),
    ]
    for group in groups:
        parts += _section(group, known[group.function].best.fitness)
    text = "\n\n".join([*parts, ""])
    out.with_suffix(".md").write_text(text, encoding="utf-8")
    return text


def _section(group: Group, known_best: float) -> list[str]:
    title = f"## {group.function}, budget of {group.evaluations} evaluations"
    best = group.best(known_best)
    if best <= 0:
        why = (
            "Nothing is better than the baseline, so there is no share; what was measured of the "
            "last choice is all luck."
        )
        return [title, why, cost_table(group)]
    return [
        title,
        f"Share of the best that exists, {best:,.0f}; the baseline is 0. Mean and standard error "
        "over seeds, by evaluations, and in brackets how many seeds; the last column is at the "
        "last of them.",
        share_table(group, best),
        cost_table(group),
    ]
