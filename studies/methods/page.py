"""The page of the bake-off, made from its raw results alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from studies.arguments import FORMER_NAME
from studies.methods.along import Along, along, along_section, together
from studies.methods.cases import Case
from studies.real_search.book import Book
from studies.real_search.how_made import how_made
from studies.real_search.study import Study
from studies.real_search.summary import Winner, apart, by_strategy, compared, winners_of
from studies.real_search.tables import LEAST_SEEDS, ahead_table, seeds_table, winners_table

_P99 = ("write_p99", "read_p99")
_OURS = "forest"
_HOW = (
    "Each method has {seconds:,.0f} seconds of the bench for each seed, runs of the baseline "
    "included; `guide` and `benchmark.sh` know what is good and use hardly any of them. `paper` "
    "is the genetic strategy of Jin et al., `forest` begins where a job of it begins: at "
    "starting points, `benchmark.sh` among them. The methods of a seed are measured together, "
    "{turns}. What a method recommends at the end is its winner; all winners of a "
    "seed are measured again side by side with the baseline, {rounds} rounds in an order drawn "
    "anew, and nothing of the search counts any more. Changes are against the baseline of the "
    "same rounds, by medians; the mean over seeds (of changes the geometric one) and its 95% "
    "interval by Student's t, [-] with fewer than {least} seeds. The default is the baseline: 0 "
    "everywhere. Within a case a known configuration is the same for every seed, so its interval "
    "is of the measurement alone. In `mixed` and `overwrite` one process loads and is measured: "
    "WAF and TIME are of both, RATE and the latencies of the measured part. What the seconds do "
    "to `greedy` and `paper`, and what the space leaves of `guide`: "
    "[methods_compared.md](methods_compared.md)."
)
_TURNS = "a run each, in an order drawn anew"
_BESIDE = (
    "those of {beside} of {seeds} seeds of a case in whatever order their runs come free, each "
    "beside the idle ends of others ([methods_beside.md](methods_beside.md)), the rest a run "
    "each, in an order drawn anew; winners alone"
)
_OVER_ALL = (
    "Every seed of each of {cases} cases counts alike. The intervals are over these cases and "
    "seeds; of other loads they say nothing."
)
Opened = tuple[Case, Study, Book]


def write_page(out: Path, command: str, opened: Sequence[Opened], rounds: int) -> str:
    """Writes the page beside the folder of the raw results; returns it.

    Args:
        out: The folder.
        command: What repeats it.
        opened: Every case with its study and its raw results.
        rounds: How many a seed has; seeds with fewer are not in the tables.
    """
    parts = ["# Tuning methods on the real db_bench", _head(command, opened, out)]
    seconds = next(study.seconds for _, study, _ in opened)
    turns = _turns([book for _, _, book in opened])
    parts.append(FORMER_NAME)
    parts.append(_HOW.format(seconds=seconds, rounds=rounds, least=LEAST_SEEDS, turns=turns))
    found = [_winners(study, book, rounds) for _, study, book in opened]
    ways = [along(study, book, won) for (_, study, book), won in zip(opened, found, strict=True)]
    parts += _over_all([study for _, study, _ in opened], found, ways)
    for (case, study, book), winners, way in zip(opened, found, ways, strict=True):
        groups = by_strategy(winners)
        if not groups:
            continue
        parts += [f"## {case.name}", winners_table(groups, _metrics(study, groups))]
        parts += ["Fitness by seed:", seeds_table(groups)]
        parts += [*_ahead(groups), *along_section(study, way)]
        parts.append(_counts(book))
    text = "\n\n".join([*parts, ""])
    out.with_suffix(".md").write_text(text, encoding="utf-8")
    return text


def _turns(books: Sequence[Book]) -> str:
    """In which order the runs of a seed's methods were made."""
    seeds = [{row["seed"] for row in book.rows("choice")} for book in books]
    beside = [{row["seed"] for row in book.rows("choice", beside=True)} for book in books]
    count = sum(map(len, beside))
    return _BESIDE.format(beside=count, seeds=sum(map(len, seeds))) if count else _TURNS


def _over_all(
    studies: Sequence[Study], found: Sequence[Sequence[Winner]], ways: Sequence[Along]
) -> list[str]:
    """Every case and seed counting alike.

    Nothing where fewer than two cases are measured, or not all have the same fitness.
    """
    told = [(s, winners) for s, winners in zip(studies, found, strict=True) if winners]
    if len(told) < 2 or len({tuple(compared(s.problem.objective)) for s, _ in told}) > 1:
        return []
    groups = by_strategy(apart([winners for _, winners in told]))
    table = winners_table(groups, _metrics(told[0][0], groups))
    said = ["## Over all cases", _OVER_ALL.format(cases=len(told)), table, *_ahead(groups)]
    return [*said, *along_section(studies[0], together(ways))]


def _ahead(groups: Mapping[str, Sequence[Winner]]) -> list[str]:
    if _OURS not in groups or len(groups) < 2:
        return []
    return [f"How far `{_OURS}` is ahead within a seed:", ahead_table(groups, _OURS)]


def _winners(study: Study, book: Book, rounds: int) -> list[Winner]:
    seeds = sorted({row["seed"] for row in book.rows("trial")})
    return [w for seed in seeds for w in winners_of(book, study.seeded(seed), rounds)]


def _metrics(study: Study, groups: Mapping[str, Sequence[Winner]]) -> list[str]:
    """Those of the fitness, and the latencies that every winner has."""
    winners = [winner for group in groups.values() for winner in group]
    latencies = [name for name in _P99 if all(name in winner.ratios for winner in winners)]
    return [*compared(study.problem.objective), *latencies]


def _counts(book: Book) -> str:
    """How many configurations each method measured, mean over seeds."""
    rows = [row for row in book.rows("trial") if row["purpose"] == "candidate"]
    names = dict.fromkeys(row["strategy"] for row in rows)
    said = []
    for name in names:
        mine = [row for row in rows if row["strategy"] == name]
        seeds = len({row["seed"] for row in mine})
        said.append(f"{name} {len(mine) / seeds:.0f}")
    return f"Configurations measured for each seed: {', '.join(said)}."


def _head(command: str, opened: Sequence[Opened], out: Path) -> str:
    runs: list[Mapping[str, Any]] = []
    for _, _, book in opened:
        runs += [*book.rows("trial"), *book.rows("again"), *book.rows("pace")]
    _, study, book = opened[0]
    machine = next(book.rows("study"), study.document())["environment"]
    minutes = sum(row["bench_seconds"] for row in runs) / 60
    return (
        f"{how_made(command, runs, machine)}, space {study.problem.space.name}. {len(runs):,} "
        f"runs of `db_bench`, {minutes:,.0f} minutes; all are in [{out.name}/]({out.name})."
    )
