"""Repeats Samsung's greedy tuning on the real db_bench: an hour or so, alone on the machine.

Run with ``make prove-greedy ARGS="--trials 90 --rounds 6"``. It can be stopped at any time and
goes on when it is called again; what is done is not measured again. ``--cases 80-20-snappy``
measures one of the four; ``--page`` writes the page from what is kept, and measures nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from sampler.common.errors import InputError
from sampler.runner.settings import load_settings
from studies.arguments import make_command, names
from studies.greedy.cases import CASES, Asked
from studies.greedy.figures import figures_of, found_by
from studies.greedy.page import write_page
from studies.greedy.side_by_side import measure_rounds
from studies.json_lines import read_lines
from studies.memory_front.run import archive_of, finish
from studies.reproduction.study import read_study

OUT = Path("docs/results/greedy")
_DATABASES = Path("rocktune-greedy")
ROUNDS = "side_by_side.jsonl"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures what is missing, and writes the page from all that is there."""
    given = _parser().parse_args(arguments)
    given.out.mkdir(parents=True, exist_ok=True)
    command = make_command("prove-greedy", arguments)
    jobs = [Asked(case, given.trials, given.seed) for case in CASES if case.name in given.cases]
    status = 0
    try:
        for job in [] if given.page else jobs:
            status = _measure(job, given.out, given.rounds)
            if status:
                break
        _write(given.out, command, given.trials, given.seed)
    except InputError as error:
        sys.exit(str(error))
    return status


def _measure(job: Asked, out: Path, rounds: int) -> int:
    """A case's job to its end, then its rounds; the exit status of what went wrong."""
    print(f"{job.name}: {archive_of(out, job)}", flush=True)
    status = finish(job, out, databases=_DATABASES)
    if status == 0:
        found = found_by(read_study(archive_of(out, job)))
        measure_rounds(out / ROUNDS, job, found, rounds, load_settings())
    return status


def _write(out: Path, command: str, trials: int, seed: int) -> None:
    rows = read_lines(out / ROUNDS)
    asked = [Asked(case, trials, seed) for case in CASES]
    measured = [
        figures_of(each, read_study(archive_of(out, each)), rows)
        for each in asked
        if archive_of(out, each).exists()
    ]
    if not measured:
        raise InputError(str(out), "holds no job yet: make prove-greedy measures them")
    page = out.with_suffix(".md")
    write_page(page, command, measured)
    print(f"{page} tells of {len(measured)} cases")


def _cases(text: str) -> tuple[str, ...]:
    known = [case.name for case in CASES]
    found = names(text)
    for name in found:
        if name not in known:
            raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(known)}")
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Samsung's greedy tuning, repeated.")
    parser.add_argument("--cases", type=_cases, default=tuple(case.name for case in CASES))
    parser.add_argument("--trials", type=int, default=90, help="runs of each job in all")
    parser.add_argument("--rounds", type=int, default=6, help="side by side, of each case")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=OUT, help="a folder; the page is beside it")
    parser.add_argument("--page", action="store_true", help="measure nothing")
    return parser


if __name__ == "__main__":
    sys.exit(main())
