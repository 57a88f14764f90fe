"""Is what a search passes over better than what it recommends? Half an hour, alone.

Run with ``make prove-passed-over``. A search ends with a configuration that the models prefer; the
best that was measured once is another one, as a rule. Both are measured again, side by side with
the baseline: those of the bake-off, or with ``--searches FILE.jsonl`` those of
``make prove-strategies``. It may be stopped, and goes on. ``--page`` measures nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from optimizer.evaluation.evaluation import Evaluation
from sampler.common.errors import InputError
from sampler.runner.settings import Settings, load_settings
from sampler.space.space import Configuration
from studies.arguments import make_command
from studies.methods.cases import MULTIPLES, WORKLOADS, cases_of
from studies.methods.methods import FOREST, SEARCH
from studies.methods.passed_over_page import BEST, PREFERRED, write_page
from studies.one_thread import one_thread
from studies.real_search.book import Book
from studies.real_search.side_by_side import run_rounds, winners
from studies.real_search.study import (
    EVALUATIONS,
    SPACE,
    WORKLOAD,
    Study,
    open_study,
    study_of,
)
from studies.real_search.summary import Winner, judged_again
from studies.search.run import best_measured

SEARCHES = Path("docs/results/methods_1200")
OUT = Path("docs/results/methods_passed_over")


@dataclass(frozen=True)
class Pair:
    """What a search recommends and the best that it had measured, where these are two.

    Attributes:
        chosen: By name their configurations.
        at: By name the fitness that each was measured at in the search; None: never whole.
    """

    seed: int
    chosen: Mapping[str, Configuration]
    at: Mapping[str, float | None]


Opened = tuple[str, Study, Book, list[Pair]]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures what is missing, and writes the page from all that is there."""
    given = _parser().parse_args(arguments)
    command = make_command("prove-passed-over", arguments)
    try:
        opened = _opened(given, load_settings())
        if not given.page:
            with one_thread():
                _measure(opened, given.rounds)
        found = [
            (name, study, book, judged(study, book, pairs, given.rounds))
            for name, study, book, pairs in opened
        ]
        whose = (given.searches.stem, _strategy(given.searches))
        print(write_page(given.out, command, found, given.rounds, *whose))
    except InputError as error:
        sys.exit(str(error))


def _strategy(searches: Path) -> str:
    """What searched: the bake-off still knows it by its former name."""
    return FOREST if searches.is_dir() else SEARCH[FOREST]


def pairs_of(study: Study, searched: Book, strategy: str = FOREST) -> list[Pair]:
    """Of every seed whose search has ended."""
    found = []
    for row in searched.rows("choice", strategy=strategy):
        problem = study.seeded(row["seed"])
        best = best_measured(Evaluation(problem, searched.history(problem, strategy)))
        if best is not None and best[1].digest != row["digest"]:
            preferred = winners(searched, problem)[strategy]
            chosen = {PREFERRED: preferred, BEST: best[1].configuration}
            found.append(Pair(problem.seed, chosen, {PREFERRED: row["fitness"], BEST: best[0]}))
    return found


def judged(study: Study, book: Book, pairs: Sequence[Pair], rounds: int) -> list[Winner]:
    """What both of each pair came to, of those whose rounds are all there."""
    return [
        winner
        for pair in pairs
        for winner in judged_again(book, study.seeded(pair.seed), pair.chosen, rounds, pair.at)
    ]


def _opened(given: argparse.Namespace, settings: Settings) -> list[Opened]:
    """Every case with its pairs. Nothing is ever written to the searches: they are read alone."""
    strategy = _strategy(given.searches)
    if given.searches.is_dir():
        cases = [
            (
                case.name,
                given.searches / f"{case.name}.jsonl",
                study_of(case.specification, settings, evaluations=0, seconds=given.seconds),
            )
            for case in cases_of(WORKLOADS, MULTIPLES)
        ]
    else:
        study = open_study(WORKLOAD, SPACE, EVALUATIONS, settings)
        cases = [(WORKLOAD, given.searches, study)]
    opened = [
        (
            name,
            study,
            Book(given.out.with_suffix(".jsonl"), study.digest),
            pairs_of(study, Book(searches, study.digest), strategy),
        )
        for name, searches, study in cases
    ]
    if not any(pairs for _, _, _, pairs in opened):
        raise InputError("--searches", f"{given.searches} has no search of {strategy} to its end")
    return opened


def _measure(opened: Sequence[Opened], rounds: int) -> None:
    """Seed by seed through all cases: what is cut off is balanced."""
    todo = [(name, study, book, pair) for name, study, book, pairs in opened for pair in pairs]
    for name, study, book, pair in sorted(todo, key=lambda each: each[3].seed):
        print(f"seed {pair.seed}: {name}", flush=True)
        if not any(book.rows("study")):
            book.keep(study.document())
        run_rounds(study, book, pair.seed, pair.chosen, rounds)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Measures what a search passes over.")
    parser.add_argument(
        "--searches",
        type=Path,
        default=SEARCHES,
        help="raw results: the folder of a bake-off, or the file of prove-strategies",
    )
    parser.add_argument("--seconds", type=float, default=1200, help="those of that bake-off")
    parser.add_argument("--rounds", type=int, default=4, help="in which both are measured")
    parser.add_argument("--page", action="store_true", help="measure nothing, write the page")
    parser.add_argument("--out", type=Path, default=OUT, help="the page's path, without ending")
    return parser


if __name__ == "__main__":
    main()
