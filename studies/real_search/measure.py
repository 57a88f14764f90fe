"""One run of the benchmark, from beginning to end."""

from __future__ import annotations

from datetime import UTC, datetime

from optimizer.run.ports import Bench
from optimizer.trials.problem import Problem
from optimizer.trials.trial import Trial
from sampler.common.errors import InputError
from studies.real_search.kept import ended

_TICK_SECONDS = 5.0


def measured(
    bench: Bench, problem: Problem, trial: Trial, cutoff_seconds: float | None = None
) -> Trial:
    """The trial with its outcome.

    Raises:
        InputError: The baseline does not end well.
    """
    bench.start(trial, cutoff_seconds=cutoff_seconds)
    began = datetime.now(UTC)  # by then it has its turn
    try:
        while (outcome := bench.wait(_TICK_SECONDS)) is None:
            pass
    except BaseException:
        bench.cancel()
        raise
    over = ended(problem, trial, outcome, host=bench.name, began=began)
    if over.is_baseline and not over.done:
        raise InputError("baseline", f"cannot be measured: {over.failure}")
    return over
