"""How long a proposal takes, by how many trials are known: the bench host waits for nothing else.

Run with ``make prove-proposals ARGS="--strategies guided,smac --trials 100,300,1000"``, alone on
the machine. The trials are draws on the test function ``load``; then the strategy proposes and
each proposal is measured by the function, as in a job. The first proposal is shown apart: it is
what a job waits for once, after it was resumed.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from optimizer.evaluation.evaluation import Evaluation
from optimizer.strategies.registry import find_strategy
from optimizer.strategies.strategy import Strategy
from optimizer.trials.trial import History
from sampler.machine.machine import fingerprint
from studies.search.best import Effort
from studies.search.function import TestFunction
from studies.search.functions import Functions
from studies.search.run import measure, measure_baseline
from studies.study import counts, names, one_thread

OUT = Path("docs/results/proposals.md")
_KNOWN = Path("docs/results/search_functions.json")
_BETWEEN_BASELINES = 25


@dataclass(frozen=True)
class Seconds:
    """Wall seconds of proposals.

    Attributes:
        first: Of the first, by a history that the strategy has not seen yet.
        others: Of those after it.
    """

    first: float
    others: tuple[float, ...]


def timed(
    function: TestFunction, strategy: Strategy, *, trials: int, proposals: int, seed: int
) -> Seconds:
    """Times proposals after so many trials; they are measured in between."""
    evaluation = Evaluation(replace(function.problem, seed=seed), History())
    history = evaluation.history
    draws, explore = find_strategy("random"), trials + proposals
    for count in range(trials):
        if count % _BETWEEN_BASELINES == 0:
            measure_baseline(function, evaluation)
        draw = draws.propose(evaluation, number=history.next_number, explore=explore)
        assert draw is not None
        measure(function, evaluation, draw)
    took = []
    for _ in range(proposals):
        began = time.perf_counter()
        proposal = strategy.propose(evaluation, number=history.next_number, explore=explore)
        took.append(time.perf_counter() - began)
        assert proposal is not None, "the budget is larger than what was proposed"
        measure(function, evaluation, proposal)
    return Seconds(took[0], tuple(took[1:]))


def main(arguments: Sequence[str] | None = None) -> None:
    """Writes the page."""
    given = _parser().parse_args(arguments)
    function, _ = Functions(_KNOWN, Effort()).make("load", "boosting")
    rows = []
    with one_thread():
        for name in given.strategies:
            for trials in given.trials:
                seconds = timed(
                    function, find_strategy(name), trials=trials,
                    proposals=1 + given.proposals, seed=given.seed,
                )  # fmt: skip
                rows.append(_row(name, trials, seconds))
                print(rows[-1], flush=True)
    machine = fingerprint(Path())
    given.out.write_text(
        "# How long a proposal takes\n\n"
        f"`make prove-proposals`, {datetime.now(UTC).date()}, {machine['cpu']}, "
        f"{machine['cores']} cores, Python {platform.python_version()}. Wall milliseconds of one "
        f"proposal; {given.proposals} after the first, each with one trial more. The known trials "
        "are random draws on the test function `load` (30 parameters). The first proposal is what "
        "a job waits for once when it is resumed.\n\n"
        "| strategy | trials known | median | 95th percentile | slowest | the first |\n"
        "|---|--:|--:|--:|--:|--:|\n" + "\n".join(rows) + "\n",
        encoding="utf-8",
    )


def _row(name: str, trials: int, seconds: Seconds) -> str:
    others = 1000 * np.array(seconds.others)
    cells = [np.median(others), np.quantile(others, 0.95), others.max(), 1000 * seconds.first]
    return f"| {name} | {trials:,} | " + " | ".join(f"{cell:,.0f}" for cell in cells) + " |"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Times the proposals of strategies.")
    parser.add_argument("--strategies", type=names, default=("guided",))
    parser.add_argument("--trials", type=counts, default=(50, 100, 200, 300, 500, 1000))
    parser.add_argument("--proposals", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=OUT)
    return parser


if __name__ == "__main__":
    main()
