"""Compares strategies on the real db_bench; an hour or two, alone on the machine.

Run with ``make prove-strategies ARGS="--strategies guided,random --seeds 5"``. It goes on where an
earlier call stopped: seed by seed, all strategies of a seed before the next one. It writes raw
results and a page. ``--page`` measures nothing; ``--forget guided`` first takes out what a
strategy has measured, for it has changed since.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from optimizer.strategies.registry import find_strategy
from sampler.common.errors import InputError
from sampler.runner.settings import load_settings
from studies.arguments import make_command, names
from studies.one_thread import one_thread
from studies.real_search.book import Book
from studies.real_search.course import run_seed
from studies.real_search.page import write_page
from studies.real_search.side_by_side import run_again
from studies.real_search.study import EVALUATIONS, SPACE, WORKLOAD, Study, open_study

OUT = Path("docs/results/real_search")
STRATEGIES = ("guided", "tpe", "optuna-gp", "smac", "genetic", "random")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures what is missing, and writes the page from all that is there."""
    given = _parser().parse_args(arguments)
    command = make_command("prove-strategies", arguments)
    try:
        study = open_study(given.workload, given.space, given.evaluations, load_settings())
        given.out.parent.mkdir(parents=True, exist_ok=True)
        book = Book(given.out.with_suffix(".jsonl"), study.digest)
        if given.forget:
            print(f"{book.forget(given.forget)} lines are forgotten")
        elif not given.page:
            with one_thread():
                measure_missing(study, book, given)
        print(write_page(given.out, command, study, book, given.rounds))
    except InputError as error:
        sys.exit(str(error))


def measure_missing(study: Study, book: Book, given: argparse.Namespace) -> None:
    """Measures every seed to its end, its winners side by side included, before the next.

    Raises:
        InputError: There is no such strategy, its libraries are missing, or the baseline does not
            end well.
    """
    strategies = {name: find_strategy(name) for name in given.strategies}
    if not any(book.rows("study")):
        book.keep(study.document())
    for seed in range(1, given.seeds + 1):
        run_seed(study, book, strategies, seed)
        run_again(study, book, seed, given.rounds)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Compares strategies on the real db_bench.")
    parser.add_argument("--strategies", type=names, default=STRATEGIES)
    parser.add_argument("--workload", default=WORKLOAD, help="a name or a TOML file")
    parser.add_argument("--space", default=SPACE, help="a name or a TOML file")
    parser.add_argument("--seeds", type=int, default=5, help="of each strategy, from seed 1")
    parser.add_argument(
        "--evaluations", type=int, default=EVALUATIONS, help="new configurations of each"
    )
    parser.add_argument("--rounds", type=int, default=6, help="in which winners are measured")
    parser.add_argument("--page", action="store_true", help="measure nothing, write the page")
    parser.add_argument("--forget", type=names, default=(), help="strategies; then measures none")
    parser.add_argument("--out", type=Path, default=OUT, help="the page's path, without ending")
    return parser


if __name__ == "__main__":
    main()
