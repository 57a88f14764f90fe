"""Compares tuning methods on the real db_bench; some hours, alone on the machine.

Run with ``make prove-methods ARGS="--seconds 1200 --seeds 5"``. It goes on where an earlier call
stopped, seed by seed through all cases, so that a study that is cut off is balanced. It writes
raw results and docs/methods.md's tables. ``--page`` measures nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from sampler.common.errors import InputError
from sampler.runner.settings import Settings, load_settings
from studies.arguments import counts, make_command, names
from studies.methods.cases import MULTIPLES, WORKLOADS, Case, cases_of, open_case
from studies.methods.methods import METHODS, methods_of
from studies.methods.page import Opened, write_page
from studies.methods.together import run_together
from studies.one_thread import one_thread
from studies.real_search.beside import whole_host
from studies.real_search.course import run_seed
from studies.real_search.place import Place
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
        if given.beside and not given.page:
            with whole_host(settings), one_thread():
                opened = _measured_together(cases, settings, given)
        else:
            opened = _opened(cases, settings, given)
            if not given.page:
                with one_thread():
                    _measure(opened, given)
        print(write_page(given.out, command, opened, given.rounds))
    except InputError as error:
        sys.exit(str(error))


def _opened(
    cases: Sequence[Case],
    settings: Settings,
    given: argparse.Namespace,
    place: Place | None = None,
) -> list[Opened]:
    return [(case, *open_case(case, given.seconds, settings, given.out, place)) for case in cases]


def _measure(opened: Sequence[Opened], given: argparse.Namespace) -> None:
    for seed in range(1, given.seeds + 1):
        for case, study, book in opened:
            print(f"seed {seed}: {case.name}", flush=True)
            run_seed(study, book, methods_of(study.seeded(seed), given.methods), seed)
            run_again(study, book, seed, given.rounds)


def _measured_together(
    cases: Sequence[Case], settings: Settings, given: argparse.Namespace
) -> list[Opened]:
    place = Place()
    opened = _opened(cases, settings, given, place)
    for seed in range(1, given.seeds + 1):
        for first in range(0, len(opened), given.beside):
            some = opened[first : first + given.beside]
            print(f"seed {seed}: {', '.join(case.name for case, _, _ in some)}", flush=True)
            run_together(some, seed, given.methods, given.rounds, place)
    return opened


def _count(text: str) -> int:
    if int(text) < 0:
        raise argparse.ArgumentTypeError("must be 0 or more")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Compares tuning methods on the real db_bench.")
    parser.add_argument("--methods", type=names, default=METHODS)
    parser.add_argument("--workloads", type=names, default=WORKLOADS, help="names or TOML files")
    parser.add_argument("--multiples", type=counts, default=MULTIPLES, help="of the memory")
    parser.add_argument("--seconds", type=float, default=1200, help="of the bench for a method")
    parser.add_argument("--seeds", type=int, default=5, help="of each method, from seed 1")
    parser.add_argument("--rounds", type=int, default=4, help="in which winners are measured")
    parser.add_argument(
        "--beside", type=_count, default=0, help="cases at once, each run beside others' idle ends"
    )
    parser.add_argument("--page", action="store_true", help="measure nothing, write the page")
    parser.add_argument("--out", type=Path, default=OUT, help="the folder of the raw results")
    return parser


if __name__ == "__main__":
    main()
