"""The tables of the page."""

from __future__ import annotations

from collections.abc import Mapping

from studies.search.functions import Known
from studies.search.summary import Group, mean_of


def functions_table(known: Mapping[str, Known]) -> str:
    """Each test function: what it was learned from, and how well."""
    rows = [
        "| function | runs | of the default | R2 on unseen runs | noise of one run "
        "| truth of the default against its median | best that exists | ends of its searches |",
        "|---|--:|--:|---|---|---|--:|--:|",
    ]
    for name, found in known.items():
        r2 = ", ".join(f"{metric} {tuned.r2:.2f}" for metric, tuned in found.tuned.items())
        noise = ", ".join(f"{metric} {100 * s:.1f}%" for metric, s in found.scatter.items())
        off = ", ".join(f"{metric} {100 * share:+.1f}%" for metric, share in found.off.items())
        starts = found.best.starts
        rows.append(
            f"| {name} | {found.runs:,} | {found.default_runs} | {r2 or 'none'} | {noise} "
            f"| {off} | {found.best.fitness:,.0f} | {starts[-1]:,.0f} to {starts[0]:,.0f} |"
        )
    return "\n".join(rows)


def share_table(group: Group, best: float) -> str:
    """The share of the best that exists, by strategy and evaluations; in brackets the seeds."""
    checkpoints = group.checkpoints
    rows = [
        "| strategy | " + " | ".join(f"{n}" for n in checkpoints) + " | true fitness |",
        "|---|" + "--:|" * (len(checkpoints) + 1),
    ]
    for strategy in group.runs:
        means = [
            mean_of([judged.fitness / best for judged in group.at(strategy, n)])
            for n in checkpoints
        ]
        shares = [f"{mean.text('.3f')} ({mean.count})" for mean in means]
        last = mean_of([judged.fitness for judged in group.at(strategy, checkpoints[-1])])
        cells = [strategy, *shares, f"{last.text(',.0f')} ({last.count})"]
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows)


def cost_table(group: Group) -> str:
    """Seconds per proposal, and how far the measured fitness of the last choice is from true."""
    last = group.checkpoints[-1]
    rows = [
        "| strategy | seeds | processor seconds per proposal "
        "| measured less true fitness of the last |",
        "|---|--:|--:|--:|",
    ]
    for strategy in group.runs:
        judged = group.at(strategy, last)
        seconds = mean_of([each.seconds / each.evaluations for each in judged]).text(".4f")
        over = [j.measured - j.fitness for j in judged if j.measured is not None]
        seeds = len(judged)
        rows.append(
            f"| {strategy} | {seeds} | {seconds} | {mean_of(over).text(',.0f') if over else ''} |"
        )
    return "\n".join(rows)
