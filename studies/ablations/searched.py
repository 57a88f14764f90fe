"""One search: a problem under a variant, from a seed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from optimizer.strategies.registry import find_strategy
from studies.ablations.problems import posed
from studies.ablations.variants import under
from studies.one_thread import one_thread
from studies.search.run import run


def searched(problem: str, variant: str, seed: int, runs: Sequence[int]) -> dict[str, Any]:
    """The true fitness of what is recommended after so many runs, and the best that exists.

    Raises:
        InputError: There is no such problem or variant.
    """
    with one_thread():
        function, best = posed(problem)
        measured, within = under(variant, function)
        began, most = time.process_time(), max(runs)
        with within:
            guided = find_strategy("guided")
            judged = run(measured, guided, seed=seed, evaluations=most, checkpoints=runs)
    return {
        "problem": problem,
        "digest": function.digest,
        "variant": variant,
        "seed": seed,
        "best": best,
        "runs": [each.evaluations for each in judged],
        "fitness": [round(each.fitness, 2) for each in judged],
        "seconds": round(time.process_time() - began, 1),
        "day": f"{datetime.now(UTC):%Y-%m-%d}",
    }
