"""The page of what a search passes over, made from its raw results alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sampler.common.errors import InputError
from studies.arguments import FORMER_NAME
from studies.methods.methods import FOREST
from studies.real_search.book import Book
from studies.real_search.how_made import how_made
from studies.real_search.study import Study
from studies.real_search.summary import Winner, ahead, apart, by_strategy, compared
from studies.real_search.tables import ahead_table, lead_cells, table, winners_table

PREFERRED, BEST = "recommended", "best measured"
Found = tuple[str, Study, Book, list[Winner]]
_HOW = (
    "At the end of a search of [{searches}]({searches}.md) `{strategy}` recommends what its "
    "models prefer. Here it is measured again beside the configuration of the best single run of "
    "the same search and the baseline, {rounds} rounds of all three in an order drawn anew, "
    "one run at a time. Fitness is of medians against the baseline of the same rounds. `in the "
    "search` is what both had been measured at there: the best of many runs is partly luck. "
    "Intervals are by Student's t at 95%, as if all seeds were drawn alike. A search that "
    "recommends the best that it measured has no pair."
)


def write_page(
    out: Path, command: str, found: Sequence[Found], rounds: int, searches: str, strategy: str
) -> str:
    """Writes the page; returns it.

    Args:
        out: Its path, without ending.
        command: What repeats it.
        found: By case the study, the raw results and what the pairs came to.
        rounds: How many each pair has.
        searches: The name of the page of the searches, without ending.
        strategy: What searched.

    Raises:
        InputError: No pair is measured yet.
    """
    told = [each for each in found if each[3]]
    if not told:
        raise InputError("--out", "nothing was measured yet: call it without --page")
    groups = by_strategy(apart([winners for _, _, _, winners in told]))
    parts = [
        f"# What {strategy} recommends, and the best that it had measured",
        _head(out, command, told),
        _HOW.format(rounds=rounds, searches=searches, strategy=strategy),
        *([FORMER_NAME] if strategy == FOREST else []),
        winners_table(groups, compared(told[0][1].problem.objective)),
        ahead_table(groups, PREFERRED),
        _cases(told),
        _seeds(told),
    ]
    text = "\n\n".join([*parts, ""])
    out.with_suffix(".md").write_text(text, encoding="utf-8")
    return text


def _cases(told: Sequence[Found]) -> str:
    """By case how far what is recommended is ahead."""
    rows = [[name, *lead_cells(ahead(winners, PREFERRED, BEST))] for name, _, _, winners in told]
    return table(["case", f"{PREFERRED} less {BEST}", "better on seeds"], rows)


def _seeds(told: Sequence[Found]) -> str:
    """Every pair: its fitness in the search, and again."""
    both = [f"{name}, {when}" for name in (PREFERRED, BEST) for when in ("in the search", "again")]
    rows = []
    for name, _, _, winners in told:
        for seed in sorted({winner.seed for winner in winners}):
            of = {winner.strategy: winner for winner in winners if winner.seed == seed}
            cells = [each for kind in (PREFERRED, BEST) for each in _fitness_cells(of.get(kind))]
            rows.append([name, str(seed), *cells])
    return table(["case", "seed", *both], rows)


def _fitness_cells(winner: Winner | None) -> list[str]:
    if winner is None:
        return ["-", "failed"]
    at = "-" if winner.chosen_at is None else f"{winner.chosen_at:,.0f}"
    return [at, f"{winner.fitness:,.0f}"]


def _head(out: Path, command: str, told: Sequence[Found]) -> str:
    rows = [row for _, _, book, _ in told for row in book.rows("again")]
    machine = next(told[0][2].rows("study"))["environment"]
    return (
        f"{how_made(command, rows, machine)}. {len(rows)} runs of `db_bench`; all are in "
        f"[{out.name}.jsonl]({out.name}.jsonl)."
    )
