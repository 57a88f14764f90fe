"""The page of what ``forest`` passes over, made from its raw results alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.real_search.book import Book
from benchmarks.real_search.study import Study
from benchmarks.real_search.summary import Winner, ahead, by_strategy, compared, interval_of
from benchmarks.real_search.tables import ahead_table, winners_table
from sampler.errors import InputError

PREFERRED, BEST = "recommended", "best measured"
Found = tuple[str, Study, Book, list[Winner]]
_HOW = (
    "At the end of a search of the [bake-off](methods_1200.md) `forest` recommends what its "
    "models prefer. Here it is measured again beside the configuration of the best single run of "
    "the same search and the baseline, {rounds} rounds of all three in an order drawn anew, "
    "one run at a time. Fitness is of medians against the baseline of the same rounds. `in the "
    "search` is what both had been measured at there: the best of some 215 runs is partly luck. "
    "Intervals are by Student's t at 95%, as if all seeds were drawn alike."
)


def write_page(out: Path, command: str, found: Sequence[Found], rounds: int) -> str:
    """Writes the page; returns it.

    Args:
        out: Its path, without ending.
        command: What repeats it.
        found: By case the study, the raw results and what the pairs came to.
        rounds: How many each pair has.

    Raises:
        InputError: No pair is measured yet.
    """
    told = [each for each in found if each[3]]
    if not told:
        raise InputError("--out", "nothing was measured yet: call it without --page")
    everyone = _apart([winners for _, _, _, winners in told])
    groups = by_strategy(everyone)
    parts = [
        "# What forest recommends, and the best that it had measured",
        _head(out, command, told),
        _HOW.format(rounds=rounds),
        winners_table(groups, compared(told[0][1].problem.objective)),
        ahead_table(groups, PREFERRED),
        _cases(told),
        _seeds(told),
    ]
    text = "\n\n".join([*parts, ""])
    out.with_suffix(".md").write_text(text, encoding="utf-8")
    return text


def _apart(cases: Sequence[Sequence[Winner]]) -> list[Winner]:
    """A seed of one case is no seed of another."""
    return [
        replace(winner, seed=len(cases) * winner.seed + place)
        for place, winners in enumerate(cases)
        for winner in winners
    ]


def _cases(told: Sequence[Found]) -> str:
    """By case how far what is recommended is ahead, with its interval by Student's t."""
    lines = [f"| case | {PREFERRED} less {BEST} | better on seeds |", "| --- | --: | --: |"]
    for name, _, _, winners in told:
        leads = ahead(winners, PREFERRED, BEST)
        lead = interval_of(leads)
        between = "[-]" if lead.low is None else f"[{lead.low:+,.0f}, {lead.high:+,.0f}]"
        better = sum(each > 0 for each in leads)
        lines.append(f"| {name} | {lead.mean:+,.0f} {between} | {better} of {len(leads)} |")
    return "\n".join(lines)


def _seeds(told: Sequence[Found]) -> str:
    """Every pair: its fitness in the search, and again."""
    head = [
        "case",
        "seed",
        *(f"{n}, {w}" for n in (PREFERRED, BEST) for w in ("in the search", "again")),
    ]
    lines = ["| " + " | ".join(head) + " |", "| --- | --: | --: | --: | --: | --: |"]
    for name, _, _, winners in told:
        for seed in sorted({winner.seed for winner in winners}):
            of = {winner.strategy: winner for winner in winners if winner.seed == seed}
            cells = [name, str(seed)]
            for each in (PREFERRED, BEST):
                at = of[each].chosen_at if each in of else None
                cells.append("-" if at is None else f"{at:,.0f}")
                cells.append(f"{of[each].fitness:,.0f}" if each in of else "failed")
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _head(out: Path, command: str, told: Sequence[Found]) -> str:
    rows = [row for _, _, book, _ in told for row in book.rows("again")]
    days = sorted({str(row["started_at"])[:10] for row in rows})
    machine = next(iter(told[0][2].rows("study")))["environment"]
    return (
        f"`{command}`, {' to '.join(dict.fromkeys([days[0], days[-1]]))}, {machine['cpu']}, "
        f"{machine['cores']} cores, {machine['system']}, RocksDB {machine['rocksdb']}. "
        f"{len(rows)} runs of `db_bench`; all are in [{out.name}.jsonl]({out.name}.jsonl)."
    )
