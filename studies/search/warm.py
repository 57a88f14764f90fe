"""What a warm start saves, and starting points: `guided` with and without, on learned functions.

Run with ``make prove-warm``. An earlier job is a run of `guided` on a test function with another
seed; what it measured is prior knowledge of the next. Raw results are kept beside the page, and
what is there is not run again.
"""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from jobs.specification.start_from import starting_points
from optimizer.evaluation.evaluation import Evaluation
from optimizer.results.result import prior_document
from optimizer.strategies.registry import find_strategy
from optimizer.surrogate.training_data import prior_job
from optimizer.trials.history import History
from optimizer.trials.problem import Prior, PriorJob, Problem
from sampler.machine.machine import fingerprint
from studies.arguments import make_command
from studies.search.best import Effort
from studies.search.functions import Functions
from studies.search.run import run

OUT = Path("docs/results/warm_start")
FUNCTIONS = Path("docs/results/search_functions.json")
TARGET = "default/boosting"
EARLIER = 60  # new configurations of an earlier job
EVALUATIONS = 40
CHECKPOINTS = (5, 10, 15, 20, 25, 30, 40)
_APART = 1000  # of the seeds of earlier jobs


@dataclass(frozen=True)
class Case:
    """What a job begins with.

    Attributes:
        source: The function of the earlier job; None for none.
        reversed: Whether all that it measured is turned around.
        starts: Whether the usual starting points are measured first.
    """

    name: str
    source: str | None = None
    reversed: bool = False
    starts: bool = False


CASES = (
    Case("nothing"),
    Case("the same load", "default/boosting"),
    Case("a similar load", "default/forest"),
    Case("another load, other baseline and memory", "load/boosting"),
    Case("a load on which no option matters", "null/none"),
    Case("the same load, all effects reversed", "default/boosting", reversed=True),
    Case("the usual starting points", starts=True),
)


@dataclass(frozen=True)
class Line:
    """A run: share of the best that exists by checkpoint, and how far the earlier job agreed."""

    case: str
    seed: int
    shares: Mapping[str, float]
    seconds: float
    agreement: Mapping[str, float]


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs what is missing, and writes the page from all that is there."""
    parser = argparse.ArgumentParser(description="Measures what a warm start saves.")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=OUT, help="the page's path, without ending")
    given = parser.parse_args(arguments)
    raw = given.out.with_suffix(".jsonl")
    functions = Functions(FUNCTIONS, Effort())
    there = {(line.case, line.seed) for line in read_lines(raw)}
    with threadpool_limits(1):
        for seed in range(given.seeds):
            for case in CASES:
                if (case.name, seed) not in there:
                    line = one_run(functions, case, seed)
                    with raw.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(asdict(line)) + "\n")
                    print(line, flush=True)
    command = make_command("prove-warm", arguments)
    given.out.with_suffix(".md").write_text(page(command, read_lines(raw)), encoding="utf-8")


def read_lines(path: Path) -> list[Line]:
    """All kept runs."""
    if not path.exists():
        return []
    return [Line(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def one_run(functions: Functions, case: Case, seed: int) -> Line:
    """A job that begins with what the case gives it."""
    function, known = functions.make(*TARGET.split("/"))
    problem = replace(function.problem, strategy="guided", seed=seed)
    if case.source is not None:
        taken = earlier_job(functions, case.source, seed, problem)
        if case.reversed:
            taken = _reversed(taken)
        problem = replace(problem, prior=Prior((taken,)))
    if case.starts:
        problem = replace(problem, starts=starting_points(problem, None))
    history = History()
    judged = run(
        replace(function, problem=problem), find_strategy("guided"), seed=seed,
        evaluations=EVALUATIONS, checkpoints=CHECKPOINTS, history=history,
    )  # fmt: skip
    agreed = prior_document(Evaluation(problem, history))
    return Line(
        case.name,
        seed,
        {str(each.evaluations): round(each.fitness / known.best.fitness, 4) for each in judged},
        round(judged[-1].seconds, 3),
        agreed[0]["agreement"] if agreed else {},
    )


def earlier_job(functions: Functions, source: str, seed: int, problem: Problem) -> PriorJob:
    """What a job on a function measured, as the next one takes it along."""
    function, _ = functions.make(*source.split("/"))
    history = History()
    run(
        function, find_strategy("guided"), seed=_APART + seed, evaluations=EARLIER,
        checkpoints=(), history=history,
    )  # fmt: skip
    return prior_job(problem, function.problem, history, job=1)


def _reversed(taken: PriorJob) -> PriorJob:
    turned = (
        replace(trial, ratios={name: -value for name, value in trial.ratios.items()})
        for trial in taken.trials
    )
    return replace(taken, trials=tuple(turned))


def page(command: str, lines: Sequence[Line]) -> str:
    """The page: a table of shares, and one of agreements."""
    machine = fingerprint(Path())
    shares = {case.name: _mean(lines, case.name) for case in CASES}
    shares = {name: found for name, found in shares.items() if found}
    aim = shares["nothing"][CHECKPOINTS[-1]]
    rows = [
        f"| {name} | {sum(line.case == name for line in lines)} | "
        + " | ".join(f"{found[count]:.2f}" for count in CHECKPOINTS)
        + f" | {_first(found, aim)} | {_agreement(lines, name)} | {_seconds(lines, name):.2f} |"
        for name, found in shares.items()
    ]
    return "\n".join([
        "# What a warm start saves",
        "",
        f"`{command}`, {datetime.now(UTC).date()}, {machine['cpu']}, {machine['cores']} cores, "
        f"{machine['system']}, Python {platform.python_version()}. No RocksDB is involved: the "
        f"job is `guided` on `{TARGET}` of [search.md](search.md), where the truth is known; an "
        f"earlier job is `guided` with {EARLIER} new configurations on the function named in "
        "`studies/search/warm.py`, with another seed and so with other noise.",
        "",
        "Mean share of the best that exists, by new configurations of the job (1 is the best, 0 "
        "the baseline). The next column says after how many it is first as good as a job that "
        f"begins with nothing is after {CHECKPOINTS[-1]}. Agreement is what the models made of "
        "the earlier job in the end, from 0 (it tells nothing) to 1, mean over seeds.",
        "",
        "| the job begins with | runs | " + " | ".join(map(str, CHECKPOINTS))
        + f" | as good as nothing after {CHECKPOINTS[-1]} | agreement | s a proposal |",
        "|---|--:|" + "--:|" * len(CHECKPOINTS) + "--:|---|--:|",
        *rows,
        "",
    ])  # fmt: skip


def _mean(lines: Sequence[Line], name: str) -> dict[int, float]:
    own = [line for line in lines if line.case == name]
    if not own:
        return {}
    return {c: float(np.mean([line.shares[str(c)] for line in own])) for c in CHECKPOINTS}


def _seconds(lines: Sequence[Line], name: str) -> float:
    return float(np.mean([line.seconds for line in lines if line.case == name])) / EVALUATIONS


def _first(found: Mapping[int, float], aim: float) -> str:
    return next((str(count) for count in CHECKPOINTS if found[count] >= aim), "later")


def _agreement(lines: Sequence[Line], name: str) -> str:
    known = [line.agreement for line in lines if line.case == name and line.agreement]
    if not known:
        return ""
    return ", ".join(f"{m} {np.mean([each[m] for each in known]):.2f}" for m in known[0])


if __name__ == "__main__":
    main()
