"""Tunes options that do nothing with the real db_bench, 30 times, and counts who finds a gain.

Run with ``make prove-nothing ARGS="--jobs 30 --trials 16"``, alone on the machine: 45 minutes. It
may be stopped at any time; called again it goes on. ``--page`` measures nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jobs.specification.named_files import specify
from jobs.specification.specification import Specification
from sampler.common.errors import InputError
from studies.arguments import make_command
from studies.memory_front.run import archive_of, finish
from studies.real_null.page import write_page
from studies.reproduction.study import read_study

FOLDER = Path("docs/results/real_null")
SPACE = "studies/real_null/nothing.toml"
WORKLOAD = "load-quick"


@dataclass(frozen=True)
class NullJob:
    """One job; its number is its seed."""

    seed: int
    trials: int
    workload: str = WORKLOAD

    @property
    def name(self) -> str:
        """Of its archive."""
        return f"nothing-{self.seed:02}"

    @property
    def specification(self) -> Specification:
        """What `rocktune tune` makes of it."""
        return specify(workload=self.workload, space=SPACE, trials=self.trials, seed=self.seed)

    def arguments(self) -> list[str]:
        """Of `rocktune tune`."""
        return [
            *("--space", SPACE, "--workload", self.workload),
            *("--trials", str(self.trials), "--seed", str(self.seed)),
        ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs what is missing, and writes the page from all that is there.

    Returns:
        Above 0 where a job could not be run, or more report a gain than the declared share
        explains.
    """
    given = _parser().parse_args(arguments)
    command = make_command("prove-nothing", arguments)
    given.folder.mkdir(parents=True, exist_ok=True)
    status = 0
    try:
        jobs = [NullJob(seed, given.trials, given.workload) for seed in range(1, given.jobs + 1)]
        for job in [] if given.page else jobs:
            status = finish(job, given.folder, databases=given.databases)
            if status:
                break
        kept = [path for path in (archive_of(given.folder, job) for job in jobs) if path.exists()]
        studies = [study for study in map(read_study, kept) if study.complete]
        if not studies:
            raise InputError(str(given.folder), "holds no whole job: make prove-nothing measures")
        told = write_page(given.folder.with_suffix(".md"), command, studies)
        print(told.said)
        status = status or int(told.wrong)
    except InputError as error:
        sys.exit(str(error))
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Real jobs on options that do nothing.")
    parser.add_argument("--jobs", type=int, default=30)
    parser.add_argument("--trials", type=int, default=16, help="runs of each job in all")
    parser.add_argument("--workload", default=WORKLOAD)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="receives the trials")
    parser.add_argument("--databases", type=Path, default=Path("rocktune-nothing"))
    parser.add_argument("--page", action="store_true", help="measure nothing")
    return parser


if __name__ == "__main__":
    sys.exit(main())
