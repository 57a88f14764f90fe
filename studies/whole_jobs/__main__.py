"""Runs whole default jobs on the real db_bench and judges what they hand back.

Run with ``make prove-jobs``, alone on the machine. It may be stopped at any time; called again it
goes on, and a job that was stopped is resumed. ``ARGS=--page`` measures nothing and writes
docs/results/jobs.md from what is kept.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from sampler.bench.settings import load_settings
from sampler.common.errors import InputError
from studies.study import counts, make_command, names, read_lines
from studies.whole_jobs.job import Cell, measure_sides, run_job
from studies.whole_jobs.page import write_page

RAW = Path("docs/results/jobs.jsonl")
WORKLOADS = ("load-quick", "mixed-quick", "overwrite-quick", "read-quick")


def cells_of(given: argparse.Namespace) -> list[Cell]:
    """Every job that is asked for: seed after seed, so that what is stopped early is whole."""
    return [
        Cell(workload, trials, seed, build)
        for seed in given.seeds
        for build in given.builds
        for trials in given.trials
        for workload in given.workloads
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the jobs that are missing, and writes the page from all that is there."""
    given = _parser().parse_args(arguments)
    raw = given.raw
    try:
        if not given.page:
            raw.parent.mkdir(parents=True, exist_ok=True)
            cells, settings = cells_of(given), load_settings()
            for place, cell in enumerate(cells, start=1):
                print(f"{place}/{len(cells)} {cell.words()}", flush=True)
                run_job(cell, raw, given.work)
                measure_sides(cell, raw, settings, rounds=given.rounds)
        rows = read_lines(raw)
        if not rows:
            sys.exit(f"{raw} holds nothing yet: make prove-jobs measures")
        page = raw.with_suffix(".md")
        write_page(page, make_command("prove-jobs", arguments), rows)
        print(f"{page} tells of {sum(row['kind'] == 'job' for row in rows)} jobs")
    except InputError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("stopped; called again it goes on")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Whole default jobs, judged.")
    parser.add_argument("--workloads", type=names, default=WORKLOADS, help="with commas between")
    parser.add_argument("--trials", type=counts, default=(40, 90), help="runs of a job")
    parser.add_argument("--seeds", type=counts, default=(1, 2, 3), help="each of every job")
    parser.add_argument("--builds", type=names, default=("",), help="names in ROCKTUNE_BUILDS")
    parser.add_argument("--rounds", type=int, default=7, help="of full and proven, side by side")
    parser.add_argument("--work", type=Path, default=Path("rocktune-jobs"),
                        help="where jobs keep their files while they run")  # fmt: skip
    parser.add_argument("--page", action="store_true", help="write the page; measure nothing")
    parser.add_argument("--raw", type=Path, default=RAW, help="where raw results are kept")
    return parser


if __name__ == "__main__":
    main()
