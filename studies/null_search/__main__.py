"""Counts how often a job reports an improvement where no option does anything.

Run with ``make prove-null ARGS="--jobs 200"``. What was run before is not run again. It writes
raw results and a page, ends with status 1 when more than 5% report one, and measures nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from models.importance import rank_parameters
from optimizer.evaluation import evaluation as knowledge
from sampler.common.errors import InputError
from studies.null_search.job import Key, Line, keys_of, level_of, run_job
from studies.null_search.page import too_often, write_page
from studies.search.recorded import read_recorded
from studies.study import make_command, names

OUT = Path("docs/results/null_search")
BESIDE = Path("docs/results/null_neighbour")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the jobs that are missing, and writes the page from all that are there."""
    given = _parser().parse_args(arguments)
    given.out = given.out or (BESIDE if given.neighbour else OUT)
    try:
        recorded = read_recorded(given.problem)
        level, raw = level_of(recorded), given.out.with_suffix(".jsonl")
        early, beside = (False,) if given.neighbour else (False, True), given.neighbour
        asked = recorded.digest, given.strategies, given.trials, given.jobs, early
        keys = keys_of(*asked, neighbour=beside)
        raw.parent.mkdir(parents=True, exist_ok=True)
        known = {line.key: line for line in read_lines(raw)}
        _rank_little()
        # A prediction of one configuration is too small to be shared by threads.
        with threadpool_limits(1), raw.open("a", encoding="utf-8") as file:
            for key in keys:
                if key not in known:
                    known[key] = run_job(recorded.problem, level, key)
                    file.write(json.dumps(asdict(known[key])) + "\n")
                    file.flush()
    except InputError as error:
        sys.exit(str(error))
    lines = [line for line in known.values() if line.key.digest == recorded.digest]
    command = make_command("prove-null", arguments)
    print(write_page(given.out, command, lines, level, len(recorded.problem.space.names)))
    wrong = too_often(lines)
    for each in wrong:
        print(each, file=sys.stderr)
    return 1 if wrong else 0


def read_lines(path: Path) -> list[Line]:
    """The jobs that are kept; a last line that a kill has cut off is taken out of the file.

    Raises:
        InputError: Another line is no result.
    """
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        path.write_text(whole, encoding="utf-8")
    lines = []
    for number, row in enumerate(whole.splitlines(), start=1):
        try:
            document = json.loads(row)
            lines.append(Line(**{**document, "key": Key(**document["key"])}))
        except (ValueError, TypeError, KeyError) as error:
            raise InputError("--out", f"line {number} of {path} is no result: {error}") from None
    return lines


def _rank_little() -> None:
    """The ranking is for the report: it guides none of these searches, and would take longest."""
    knowledge.rank_parameters = partial(rank_parameters, trees=2)  # type: ignore[attr-defined]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Jobs on a space whose options do nothing.")
    parser.add_argument("--jobs", type=int, default=200, help="of each kind, from seed 0")
    parser.add_argument("--trials", type=int, default=60, help="runs of the benchmark of a job")
    parser.add_argument("--strategies", type=names, default=("guided",))
    parser.add_argument(
        "--neighbour", action="store_true", help="beside a program that comes and goes"
    )
    parser.add_argument("--problem", default="load", help="whose space and noise are taken")
    parser.add_argument("--out", type=Path, help="the page's path, without ending")
    return parser


if __name__ == "__main__":
    sys.exit(main())
