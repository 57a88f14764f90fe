"""Compares strategies on test functions learned from recorded trials.

Run with ``make prove-search ARGS="--strategies genetic,random --problems load --seeds 20"``. What
was run before with the same function, strategy, seed and budget is not run again. It writes raw
results and a page; nothing is measured with RocksDB. Slow strategies,
and budgets above 200 evaluations, have fewer seeds (``--few``).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from optimizer.strategies.registry import STRATEGIES, find_strategy, missing_extra
from sampler.common.errors import InputError
from studies.search.best import Effort
from studies.search.functions import PROBLEMS, Functions, families_of, name_of
from studies.search.page import Key, append_result, read_results, write_page
from studies.search.run import run
from studies.study import counts, make_command, names, one_thread

CHECKPOINTS = (25, 50, 100, 200, 400)
SLOW = ("smac", "optuna-gp")
LONG = 200
OUT = Path("docs/results/search")


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs what is missing, and writes the page from all that is there."""
    given, effort = _parser().parse_args(arguments), Effort()
    functions = Functions(given.out.with_name(f"{given.out.name}_functions.json"), effort)
    raw = given.out.with_suffix(".jsonl")
    raw.parent.mkdir(parents=True, exist_ok=True)
    try:
        # A prediction of one configuration is too small to be shared by threads.
        with one_thread():
            run_missing(functions, raw, given)
        command = make_command("prove-search", arguments)
        print(write_page(given.out, command, read_results(raw), functions.known(), effort))
    except InputError as error:
        sys.exit(str(error))


def run_missing(functions: Functions, raw: Path, given: argparse.Namespace) -> None:
    """Runs every asked combination that is not in the file of raw results.

    Raises:
        InputError: There is no such problem, family or strategy.
    """
    strategies = {name: find_strategy(name) for name in given.strategies}
    there = {result.key for result in read_results(raw)}
    for problem in given.problems:
        for family in families_of(problem, given.truths):
            name, digest = name_of(problem, family), functions.digest(problem, family)
            missing = [
                key
                for seed in range(given.seeds)
                for evaluations in given.evaluations
                for strategy in strategies
                if seed < seeds_of(strategy, evaluations, given)
                and (key := Key(name, digest, strategy, seed, evaluations)) not in there
            ]
            if not missing:
                continue
            function, _ = functions.make(problem, family)
            for key in missing:
                judged = run(
                    function, strategies[key.strategy], seed=key.seed,
                    evaluations=key.evaluations, checkpoints=CHECKPOINTS,
                )  # fmt: skip
                append_result(raw, key, judged)
                print(f"{name} {key.strategy} {key.seed}: {judged[-1]}", flush=True)


def seeds_of(strategy: str, evaluations: int, given: argparse.Namespace) -> int:
    """How many seeds a strategy has: what takes long has fewer."""
    slow = strategy in SLOW or evaluations > LONG
    return min(given.seeds, given.few) if slow else int(given.seeds)


def _installed() -> tuple[str, ...]:
    return tuple(name for name in STRATEGIES if missing_extra(name) is None)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Compares strategies on recorded problems.")
    parser.add_argument("--strategies", type=names, default=_installed(),
                        help="all that are installed, if not said")  # fmt: skip
    parser.add_argument("--problems", type=names, default=PROBLEMS)
    parser.add_argument("--truths", type=names, default=("boosting", "forest"),
                        help="families that the functions are learned with")  # fmt: skip
    parser.add_argument("--seeds", type=int, default=20, help="runs of each, from seed 0")
    parser.add_argument("--few", type=int, default=5,
                        help=f"of {' and '.join(SLOW)}, and of budgets above {LONG}")  # fmt: skip
    parser.add_argument("--evaluations", type=counts, default=(200, 400), help="budgets")
    parser.add_argument("--out", type=Path, default=OUT, help="the page's path, without ending")
    return parser


if __name__ == "__main__":
    main()
