"""Whole simulated jobs of the default strategy, to compare two versions of the code.

``python -m studies.search.default_jobs run OUT.jsonl`` at one version and at the other, by
``PYTHONPATH``: the file can be started with a version that does not have it yet. It goes on where
it was stopped. ``... compare OLD.jsonl NEW.jsonl`` writes docs/results/default_jobs.md: what the
winners of the one are worth beside those of the other, seed by seed, by the truth that the trials
are simulated from.
"""

from __future__ import annotations

import argparse
import platform
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from jobs.specification import start_from
from optimizer.confirmation.paired_change import interval_of_mean
from optimizer.run.planning import Budget
from optimizer.run.ports import OneHost
from optimizer.run.tuning import Tuning
from optimizer.strategies.registry import find_strategy
from sampler.machine.machine import fingerprint
from studies.arguments import days_words
from studies.json_lines import append_line, read_lines
from studies.memory_log import MemoryLog
from studies.one_thread import one_thread
from studies.search.best import Effort
from studies.search.function import TestFunction
from studies.search.functions import Functions
from studies.search.machine import SimulatedMachine

_FUNCTIONS = Path("docs/results/search_functions.json")
_CORES = 2
_STREAM = 7  # of the noise, apart from that of other studies
_PAGE = Path("docs/results/default_jobs.md")
_HEAD = """# The default strategy before and now, on simulated jobs

Whole jobs with every default, at two versions of Rocktune. Runs are simulated from functions that
were learned from recorded runs of the real `db_bench` ([search_models.md](search_models.md)), so
what a winner is truly worth is known. *Difference*: fitness of the new version's winner less that
of the old one's, seed by seed, with its 95% interval. *Changes*: options in which the winner
differs from the baseline, in the median."""


def run_job(function: TestFunction, trials: int, seed: int) -> dict[str, Any]:
    """A job with every default, and what its winner is truly worth."""
    strategy = "guided" if hasattr(start_from, "usual_starts") else "forest"
    problem = replace(function.problem, strategy=strategy, seed=seed)
    cores = {"cores": _CORES} if strategy == "guided" else {}  # the older code knew none
    problem = replace(problem, starts=start_from.starting_points(problem, None, **cores))
    machine = SimulatedMachine(function.truth.metrics, function.noise, seed, stream=_STREAM)
    log = MemoryLog()
    done = Tuning(
        problem, Budget(trials=trials), find_strategy(strategy), log=log,
        hosts=OneHost(machine), progress=log, now=machine.now,
    ).run()  # fmt: skip
    winner = None if done.winner is None else done.history[done.winner].configuration
    start = problem.space.start
    return {
        "worth": 0.0 if winner is None else float(function.fitness([winner])[0]),
        "proven": bool(done.verdict and done.verdict.confirmed),
        "changes": sum(winner[name] != start[name] for name in winner) if winner else 0,
    }


def run_missing(out: Path, problems: Sequence[str], seeds: int, budgets: Sequence[int]) -> None:
    """Adds what the file does not hold, seed after seed."""
    there = {tuple(row["key"]) for row in read_lines(out)}
    functions = Functions(_FUNCTIONS, Effort())
    made = {name: functions.make(name, "boosting")[0] for name in problems}
    with one_thread():
        for seed in range(seeds):
            for name in problems:
                for trials in budgets:
                    if (name, trials, seed) not in there:
                        found = run_job(made[name], trials, seed)
                        day = f"{datetime.now(UTC):%Y-%m-%d}"
                        append_line(out, {"key": [name, trials, seed], **found, "day": day})


def compare(old: Path, new: Path) -> list[str]:
    """A table: the mean of the pairs' differences with its 95% interval."""
    rows = [{tuple(row["key"]): row for row in read_lines(path)} for path in (old, new)]
    shared = sorted(rows[0].keys() & rows[1].keys())
    said = [
        "| problem | runs | seeds | old | new | difference "
        "| changes, old | new | proven, old | new |",
        "| --- " + "| --: " * 9 + "|",
    ]
    for name, trials in dict.fromkeys(key[:2] for key in shared):
        keys = [key for key in shared if key[:2] == (name, trials)]
        worth, changes, proven = (
            np.array([[float(rows[side][key][part]) for key in keys] for side in (0, 1)])
            for part in ("worth", "changes", "proven")
        )
        apart = worth[1] - worth[0]
        mean, half = float(apart[0]), np.inf
        if len(keys) > 1:
            mean, half, _ = interval_of_mean(apart)
        said.append(
            f"| {name} | {trials} | {len(keys)} | {worth[0].mean():,.0f} | {worth[1].mean():,.0f} "
            f"| {mean:+,.0f} [{mean - half:+,.0f}, {mean + half:+,.0f}] "
            f"| {np.median(changes[0]):g} | {np.median(changes[1]):g} "
            f"| {proven[0].sum():g} | {proven[1].sum():g} |"
        )
    return said


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs, or compares."""
    parser = argparse.ArgumentParser(description="Whole simulated jobs of two versions.")
    doing = parser.add_subparsers(dest="doing", required=True)
    run = doing.add_parser("run")
    run.add_argument("out", type=Path)
    run.add_argument("--problems", nargs="+", default=["load", "mixed", "default"])
    run.add_argument("--seeds", type=int, default=20)
    run.add_argument("--budgets", type=int, nargs="+", default=[50, 100, 200])
    beside = doing.add_parser("compare")
    beside.add_argument("old", type=Path)
    beside.add_argument("new", type=Path)
    beside.add_argument("--page", type=Path, default=_PAGE)
    given = parser.parse_args(arguments)
    if given.doing == "run":
        run_missing(given.out, given.problems, given.seeds, given.budgets)
    else:
        table = "\n".join(compare(given.old, given.new))
        text = f"{_HEAD}\n\n{_about(given.old, given.new)}\n\n{table}\n"
        given.page.write_text(text, encoding="utf-8")
        print(table)


def _about(old: Path, new: Path) -> str:
    machine = fingerprint(Path.cwd())
    days = {row["day"] for row in read_lines(new)}
    return (
        f"Command: `python -m studies.search.default_jobs compare {old} {new}`; {machine['cpu']}, "
        f"{machine['cores']} cores, {machine['system']}, Python {platform.python_version()}; "
        f"{days_words(days)}."
    )


if __name__ == "__main__":
    main()
