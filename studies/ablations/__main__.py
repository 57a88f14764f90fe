"""Ablations of the default strategy on problems whose truth is known: what pays, and how much.

``make prove-ablations ARGS="--seeds 20 --processes 2"``. A run that the file of raw results holds
is not made again, whatever version of the code made it: with other code give another ``--out``.
A search of 200 runs takes about 12 seconds of one core, ``exhaustive`` ten times as long.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import product
from multiprocessing import get_context
from pathlib import Path

from sampler.common.errors import InputError
from studies.ablations.page import write_page
from studies.ablations.problems import ALL
from studies.ablations.searched import searched
from studies.ablations.variants import VARIANTS
from studies.arguments import counts, make_command, names
from studies.json_lines import append_line, read_lines

OUT = Path("docs/results/ablations")
_CEILING = "no noise + true models"


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs what is missing, and writes the page from all that is there."""
    given = _parser().parse_args(arguments)
    raw = given.out.with_suffix(".jsonl")
    os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
    try:
        if not given.page:
            run_missing(raw, given)
        if not (rows := read_lines(raw)):
            raise InputError("--out", f"there are no searches in {raw}")
        print(write_page(given.out, make_command("prove-ablations", arguments), rows))
    except InputError as error:
        sys.exit(str(error))


def run_missing(raw: Path, given: argparse.Namespace) -> None:
    """Adds what the file does not hold, problem after problem, the first seeds of all first."""
    there = {(r["problem"], r["variant"], r["seed"], r["runs"][-1]) for r in read_lines(raw)}
    asked = [
        (problem, variant, seed)
        for problem, seed, variant in product(given.problems, range(given.seeds), given.variants)
        if (problem, variant, seed, max(given.runs)) not in there
    ]
    # A new process for each: libraries that compute in threads do not survive a fork.
    with ProcessPoolExecutor(given.processes, mp_context=get_context("spawn")) as pool:
        waiting = [pool.submit(searched, *each, given.runs) for each in asked]
        for ended in as_completed(waiting):
            append_line(raw, ended.result())
            print({n: v for n, v in ended.result().items() if n != "best"}, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Ablations of the default strategy.")
    parser.add_argument("--problems", type=names, default=ALL, help=", ".join(ALL))
    parser.add_argument("--variants", type=names, default=(*VARIANTS, _CEILING),
                        help="with commas between; ' + ' joins several")  # fmt: skip
    parser.add_argument("--seeds", type=int, default=20, help="runs of each, from seed 0")
    parser.add_argument("--runs", type=counts, default=(50, 100, 200), help="where it is judged")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="at a time")
    parser.add_argument("--page", action="store_true", help="writes the page alone")
    parser.add_argument("--out", type=Path, default=OUT, help="the page's path, without ending")
    return parser


if __name__ == "__main__":
    main()
