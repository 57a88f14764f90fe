"""The same search under 1, 2, 4 and 8 times the default's memory, and the page of what it gained.

Run with ``make prove-memory ARGS="--trials 90 --multiples 1,2,4,8"``, alone on the machine: about
an hour. It can be stopped at any time and goes on when it is called again; what is done is not
measured again. ``--page`` writes the page from what is kept, and measures nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from sampler.common.errors import InputError
from studies.arguments import counts, make_command
from studies.memory_front.asked import LOAD, asked_jobs
from studies.memory_front.page import names_in, write_page
from studies.memory_front.run import archive_of, finish
from studies.reproduction.study import read_study

DOCS = Path("docs")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs what is missing, and writes the page from all that is there."""
    given = _parser().parse_args(arguments)
    folder = given.docs / "results" / "memory"
    folder.mkdir(parents=True, exist_ok=True)
    command = make_command("prove-memory", arguments)
    status = 0
    try:
        if not given.page:
            jobs = asked_jobs(
                given.multiples, workload=given.workload, trials=given.trials,
                seed=given.seed, strategy=given.strategy,
            )  # fmt: skip
            for job in jobs:
                print(f"{job.name}: {archive_of(folder, job)}", flush=True)
                status = finish(job, folder)
                if status:
                    break
        _write(given.docs, folder, command)
    except InputError as error:
        sys.exit(str(error))
    return status


def _write(docs: Path, folder: Path, command: str) -> None:
    studies = {name: read_study(folder / f"{name}.jsonl.gz") for name in names_in(folder)}
    if not studies:
        raise InputError(str(folder), "holds no job yet: make prove-memory measures them")
    kept = docs / "reproduction" / "default.jsonl.gz"
    reproduction = read_study(kept) if kept.exists() else None
    out = docs / "results" / "memory.md"
    write_page(out, command, studies, reproduction)
    print(f"{out} tells of {len(studies)} jobs")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="What more memory buys.")
    parser.add_argument("--trials", type=int, default=90, help="runs of each job in all")
    parser.add_argument("--multiples", type=counts, default=(1, 2, 4, 8),
                        help="of the default's memory")  # fmt: skip
    parser.add_argument("--workload", default=LOAD, help="a name or a TOML file")
    parser.add_argument("--strategy", default="guided")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--docs", type=Path, default=DOCS, help="receives the page and the trials")
    parser.add_argument("--page", action="store_true", help="measure nothing")
    return parser


if __name__ == "__main__":
    sys.exit(main())
