"""Tunes options that do nothing with the real db_bench, and counts how many jobs report a gain.

Run with ``make prove-nothing ARGS="--jobs 30 --trials 16"``, alone on the machine: 45 minutes. It
may be stopped at any time; called again it goes on.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scipy.stats import binomtest

from optimizer.budget.power import ALPHA, p_figure
from sampler.common.errors import InputError
from studies.study import append_line, make_command, read_lines

OUT = Path("docs/results/real_null_now")
SPACE = "studies/nothing.toml"
_ENDS_WELL = (0, 3)  # something better was proven, nothing was
_RARE = 0.01  # a table that only one in a hundred would be speaks against the declared share


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs what is missing, and writes the page.

    Returns:
        1 where more jobs report a gain than the declared share explains.
    """
    given = _parser().parse_args(arguments)
    raw = given.out.with_suffix(".jsonl")
    raw.parent.mkdir(parents=True, exist_ok=True)
    try:
        there = {row["seed"] for row in read_lines(raw)}
        for seed in range(1, given.jobs + 1):
            if seed not in there:
                append_line(raw, job_row(seed, given))
        rows = [row for row in read_lines(raw) if row["trials"] == given.trials]
    except InputError as error:
        sys.exit(str(error))
    command = make_command("prove-nothing", arguments)
    given.out.with_suffix(".md").write_text(page(command, rows), encoding="utf-8")
    found = sum(row["reported"] for row in rows)
    return int(binomtest(found, len(rows), ALPHA, alternative="greater").pvalue < _RARE)


def job_row(seed: int, given: argparse.Namespace) -> dict[str, Any]:
    """Runs a whole job, or goes on with one that was stopped; what its result says.

    Raises:
        InputError: The command failed.
    """
    folder = given.work / f"nothing-{seed:02}"
    folder.mkdir(parents=True, exist_ok=True)
    command = [
        sys.executable, "-m", "cli.main", "tune", "--space", SPACE, "--workload", given.workload,
        "--trials", str(given.trials), "--seed", str(seed), "--out", str(folder),
        "--db", str(folder / "trials.db"), "--resume",
    ]  # fmt: skip
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode not in _ENDS_WELL:
        raise InputError("rocktune", f"ended with {ended.returncode}: {ended.stderr[-400:]}")
    result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    verdict = result["verdict"] or {}
    return {
        "seed": seed,
        "trials": given.trials,
        "reported": result["best"] is not None,
        **{name: verdict.get(name) for name in ("low", "high", "p")},
    }


def page(command: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """The page of the jobs, at least one."""
    found = sum(row["reported"] for row in rows)
    share = binomtest(found, len(rows)).proportion_ci(method="exact")
    lines = [
        "# Does a real job find what is not there?\n",
        f"`{command}`: whole jobs with the real `db_bench` on options that do nothing in this "
        f"load (`{SPACE}`). Whatever one reports is an error. The proof declares "
        f"{100 * ALPHA:.1f}%. **{found} of {len(rows)} report a gain (95% interval of the share "
        f"{100 * share.low:.1f}% to {100 * share.high:.1f}%).**\n",
        "| seed | runs | fitness of the proof, 95% interval | p | reported |",
        "|--:|--:|--:|--:|---|",
    ]
    for row in rows:
        proof = "- | -"
        if row["p"] is not None:
            proof = f"{row['low']:+,.0f} to {row['high']:+,.0f} | {p_figure(row['p'])}"
        reported = "**yes**" if row["reported"] else "no"
        lines.append(f"| {row['seed']} | {row['trials']} | {proof} | {reported} |")
    return "\n".join([*lines, ""])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Real jobs on options that do nothing.")
    parser.add_argument("--jobs", type=int, default=30)
    parser.add_argument("--trials", type=int, default=16, help="runs of each job in all")
    parser.add_argument("--workload", default="load-quick")
    parser.add_argument("--work", type=Path, default=Path("rocktune-nothing"))
    parser.add_argument("--out", type=Path, default=OUT, help="the page's path, without ending")
    return parser


if __name__ == "__main__":
    sys.exit(main())
