"""The page of the comparison, made from its raw results alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from studies.arguments import FORMER_NAME
from studies.real_search.book import Book
from studies.real_search.how_made import how_made
from studies.real_search.study import Study
from studies.real_search.summary import (
    by_strategy,
    compared,
    scatter_of_baseline,
    winners_of,
)
from studies.real_search.tables import (
    ahead_table,
    cost_table,
    scatter_table,
    seeds_table,
    winners_table,
)

OURS = ("guided", "forest")  # what it was called when older results were measured
_HOW = (
    "Each strategy is asked as on [recorded problems](search.md), and each evaluation is one run "
    "of the product's own runner, with the cutoff of a job. The strategies of a seed take turns: "
    "each makes one run a round, in an order drawn anew. Every strategy has its own baseline, "
    "measured first and again at intervals; its runs are not counted. What a strategy recommends "
    "at the end, that which a job would confirm first, is its winner. All winners of a seed are "
    "then measured again side by side with the baseline, {rounds} rounds in an order drawn anew, "
    "and nothing of the search counts any more."
)
_WINNERS = (
    "Fitness and changes against the baseline of the same rounds, from medians; mean over seeds "
    "(of changes the geometric one) and its 95% interval by Student's t. The fitness of the "
    "baseline is 0."
)
_SCATTER = (
    "Standard deviation of single runs of the baseline during the searches of a seed, in percent "
    "of their mean: the more, the less a single fitness of that seed tells."
)
_COSTS = (
    "A proposal is made between two runs, by one thread; its seconds are those of the wall and "
    "of the processor, mean over all proposals, draws included. The fitness that a winner was "
    "chosen for is one measurement; by how much it is above the fitness of the fresh runs is luck."
)


def write_page(out: Path, command: str, study: Study, book: Book, rounds: int) -> str:
    """Writes the page; returns it.

    Args:
        out: The page's path without its ending; raw results are beside it.
        command: What repeats it.
        study: What was compared.
        book: Its raw results.
        rounds: How many a seed has; seeds with fewer are not in the tables of winners.
    """
    seeds = sorted({row["seed"] for row in book.rows("trial")})
    found = [w for seed in seeds for w in winners_of(book, study.seeded(seed), rounds)]
    groups = by_strategy(found)
    names = [*groups, *dict.fromkeys(r["strategy"] for r in book.rows("trial"))]
    trials = {
        name: rows
        for name in dict.fromkeys(names)
        if (rows := [r for r in book.rows("trial", strategy=name) if "wall" in r])
    }
    metrics = compared(study.problem.objective)
    ours = next((name for name in OURS if name in groups), None)
    parts = ["# Strategies on the real db_bench", _head(command, study, book, out)]
    parts += [FORMER_NAME] if ours == "forest" else []
    parts.append(_HOW.format(rounds=rounds))
    if groups:
        failed = sum(winner.failed for winner in found)
        ended = f" {failed} runs of winners did not end well." if failed else ""
        parts += ["## The winners", _WINNERS + ended, winners_table(groups, metrics)]
        if ours is not None and len(groups) > 1:
            why = "Differences within a seed, where both were measured side by side."
            parts += [f"### How far {ours} is ahead", why, ahead_table(groups, ours)]
        parts += ["### Fitness by seed", seeds_table(groups)]
        shown = sorted({winner.seed for winner in found})
        scatters = {seed: scatter_of_baseline(book, seed, metrics) for seed in shown}
        parts += ["### How noisy the machine was", _SCATTER, scatter_table(scatters, metrics)]
    if trials:
        parts += ["## The cost", _COSTS, cost_table(groups, trials)]
    text = "\n\n".join([*parts, ""])
    out.with_suffix(".md").write_text(text, encoding="utf-8")
    return text


def _head(command: str, study: Study, book: Book, out: Path) -> str:
    runs = [*book.rows("trial"), *book.rows("again")]
    headed: Mapping[str, Any] = next(book.rows("study"), study.document())
    machine = headed["environment"]
    seconds = sum(row["bench_seconds"] for row in runs)
    budget = study.problem.memory
    memory = f"at the baseline's memory ({budget / 2**20:,.0f} MiB)" if budget else "any memory"
    return (
        f"{how_made(command, runs, machine)}: workload {study.problem.workload.name}, space "
        f"{study.problem.space.name} {memory}, {study.evaluations} evaluations for each strategy "
        f"and seed. {len(runs):,} runs of `db_bench`, {seconds / 60:,.0f} minutes; all are in "
        f"[{out.name}.jsonl]({out.name}.jsonl)."
    )
