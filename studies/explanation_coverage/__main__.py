"""Counts how often the intervals of explanations hold, on functions whose truth is known.

Run with ``make prove-explanations``. Jobs that were run before are kept in a folder, and what was
told of them before is not told again. It writes raw results and a page, and ends with status 1
when intervals of this version hold in fewer than 93% of cases.

``--label before`` is for an earlier version: copy this package into a checkout of it, and point
``--jobs`` and ``--out`` to the same places.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from db.connection.engine import make_engine
from db.jobs.job_store import JobStore
from sampler.common.errors import InputError
from studies.explanation_coverage.job import Key, kept_job
from studies.explanation_coverage.judged import Claim, Line, judged
from studies.explanation_coverage.page import LABELS, too_rarely, write_page
from studies.explanation_coverage.real import job_row
from studies.search.best import Effort
from studies.search.functions import Functions
from studies.study import append_line, counts, make_command, names, one_thread, read_lines

OUT = Path("docs/results/explanation_coverage")
FUNCTIONS = ("load/boosting", "default/boosting", "paper/boosting", "mixed/boosting",
             "overwrite/boosting")  # fmt: skip
# Of 12, 16, 24, 21, 34, 40, 60, 64, 90, 124, 150, 200 and 245 trials.
SIZES = (4, 8, 11, 12, 20, 25, 36, 40, 60, 90, 116, 156, 200)
# Few small jobs prove a winner, and large ones take half a minute each.
_JOBS: Mapping[int, int] = {4: 9, 8: 9, 11: 9, 12: 9, 116: 4, 156: 4, 200: 4}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs and explains the jobs that are missing, and writes the page from all."""
    given = _parser().parse_args(arguments)
    raw = given.out.with_suffix(".jsonl")
    raw.parent.mkdir(parents=True, exist_ok=True)
    try:
        functions = Functions(given.functions, Effort())
        there = {(line.label, line.key) for line in lines_of(raw)}
        # A prediction of one configuration is too small to be shared by threads.
        with one_thread():
            for key in _keys(functions, given) if not given.page else ():
                if (given.label, key) not in there:
                    function, _ = functions.make(*key.function.split("/"))
                    ended = kept_job(given.jobs, function, key)
                    append_line(raw, asdict(judged(given.label, function, key, ended)))
        digests = {name: functions.digest(*name.split("/")) for name in given.truths}
        lines = [x for x in lines_of(raw) if digests.get(x.key.function) == x.key.digest]
        real = _real(given)
    except InputError as error:
        sys.exit(str(error))
    print(write_page(given.out, make_command("prove-explanations", arguments), lines, real))
    rare = too_rarely(lines)
    for each in rare:
        print(f"holds too rarely: {each}", file=sys.stderr)
    return 1 if rare else 0


def lines_of(path: Path) -> list[Line]:
    """The jobs that were explained before.

    Raises:
        InputError: A line is no result.
    """
    found = []
    for number, row in enumerate(read_lines(path), start=1):
        try:
            steps = tuple({name: _claim(x) for name, x in step.items()} for step in row["steps"])
            known = {**row, "key": Key(**row["key"]), "steps": steps}
            known |= {n: _claim(row[n]) if row[n] else None for n in ("predicted", "loss")}
            found.append(Line(**known))
        except (TypeError, KeyError, ValueError) as error:
            raise InputError("--out", f"line {number} of {path} is no result: {error}") from None
    return found


def _real(given: argparse.Namespace) -> list[dict[str, Any]]:
    """Real jobs that were measured before, and those of a database that is given."""
    path = given.out.with_name(f"{given.out.name}_real.jsonl")
    if given.real:
        store = JobStore(make_engine(given.real))
        for job in given.real_jobs:
            row = job_row(store.result(int(job)) or {"best": None})
            if row is None:
                raise InputError("--real-jobs", f"job {job} has no explanation that was measured")
            append_line(path, {**row, "note": given.note})
    rows = read_lines(path)
    return [*{(row["date"], row["workload"], row["seed"]): row for row in rows}.values()]


def _claim(row: Sequence[Any]) -> Claim:
    expected, low, high, truth = map(float, row)
    return expected, low, high, truth


def _keys(functions: Functions, given: argparse.Namespace) -> Iterator[Key]:
    """All jobs that are asked for, seed by seed, so that a part of them is a fair sample."""
    most = {size: given.seeds or _JOBS.get(size, 8) for size in given.sizes}
    for seed in range(max(most.values())):
        for size in given.sizes:
            for name in given.truths:
                if seed < most[size]:
                    digest = functions.digest(*name.split("/"))
                    yield Key(name, digest, given.strategy, size, seed)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Coverage of the intervals of explanations.")
    parser.add_argument("--sizes", type=counts, default=SIZES, help="new configurations of a job")
    parser.add_argument("--seeds", type=int, default=0, help="jobs of each size and function")
    parser.add_argument("--truths", type=names, default=FUNCTIONS, help="learned functions")
    parser.add_argument("--strategy", default="guided")
    parser.add_argument("--label", choices=LABELS, default="after", help="of the code that runs")
    parser.add_argument("--jobs", type=Path, default=Path("build/explanation_jobs"),
                        help="folder that keeps the jobs")  # fmt: skip
    parser.add_argument("--functions", type=Path, help="what is known of the functions",
                        default=Path("docs/results/search_functions.json"))  # fmt: skip
    parser.add_argument("--real", help="database of real jobs, to be taken into the page")
    parser.add_argument("--real-jobs", type=counts, default=(), help="with --real: their numbers")
    parser.add_argument("--note", default="", help="with --real: what else the machine did")
    parser.add_argument("--page", action="store_true", help="only write the page anew")
    parser.add_argument("--out", type=Path, default=OUT, help="the page's path, without ending")
    return parser


if __name__ == "__main__":
    sys.exit(main())
