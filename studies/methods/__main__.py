"""Compares tuning methods on the real db_bench; some hours, alone on the machine.

Run with ``make prove-methods ARGS="--seconds 1200 --seeds 5"``. It goes on where an earlier call
stopped, seed by seed through all cases, so that a study that is cut off is balanced. It writes
raw results and docs/results/methods_compared.md's tables. ``--page`` measures nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from sampler.common.errors import InputError
from sampler.runner.settings import load_settings
from studies.arguments import counts, make_command, names
from studies.methods.cases import MULTIPLES, WORKLOADS, cases_of, open_case
from studies.methods.methods import METHODS, methods_of
from studies.methods.page import Opened, write_page
from studies.one_thread import one_thread
from studies.real_search.course import run_seed
from studies.real_search.side_by_side import run_again

OUT = Path("docs/results/methods")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures what is missing, and writes the page from all that is there."""
    given = _parser().parse_args(arguments)
    command = make_command("prove-methods", arguments)
    given.out.mkdir(parents=True, exist_ok=True)
    try:
        settings = load_settings()
        cases = cases_of(given.workloads, given.multiples)
        opened = [(case, *open_case(case, given.seconds, settings, given.out)) for case in cases]
        if not given.page:
            with one_thread():
                _measure(opened, given)
        print(write_page(given.out, command, opened, given.rounds))
    except InputError as error:
        sys.exit(str(error))


def _measure(opened: Sequence[Opened], given: argparse.Namespace) -> None:
    for seed in range(1, given.seeds + 1):
        for case, study, book in opened:
            print(f"seed {seed}: {case.name}", flush=True)
            run_seed(study, book, methods_of(study.seeded(seed), given.methods), seed)
            run_again(study, book, seed, given.rounds)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Compares tuning methods on the real db_bench.")
    parser.add_argument("--methods", type=names, default=METHODS)
    parser.add_argument("--workloads", type=names, default=WORKLOADS, help="names or TOML files")
    parser.add_argument("--multiples", type=counts, default=MULTIPLES, help="of the memory")
    parser.add_argument("--seconds", type=float, default=1200, help="of the bench for a method")
    parser.add_argument("--seeds", type=int, default=5, help="of each method, from seed 1")
    parser.add_argument("--rounds", type=int, default=4, help="in which winners are measured")
    parser.add_argument("--page", action="store_true", help="measure nothing, write the page")
    parser.add_argument("--out", type=Path, default=OUT, help="the folder of the raw results")
    return parser


if __name__ == "__main__":
    main()
