"""More proofs of the same runs: where no option does anything, any two neighbours are a pair."""

from __future__ import annotations

from jobs.specification.resolved_job import resolve
from optimizer.budget.power import LEAST_PAIRS
from optimizer.confirmation.proof import judge
from studies.null_search.job import raw_pairs
from studies.reproduction.study import Study


def chances_of_any_six(study: Study) -> list[float]:
    """The p-values of every six runs in a row as three pairs, in both directions.

    They share runs, so they hang together: their share that is small is right on average, but
    tells less than as many proofs of their own.
    """
    objective = resolve(study.archive.specification, None).problem.objective
    # On one host the order of the numbers is that of the clock.
    runs = [trial.metrics for trial in study.trials if trial.done]
    found = []
    for first in range(len(runs) - 2 * LEAST_PAIRS + 1):
        six = runs[first : first + 2 * LEAST_PAIRS]
        for baseline, winner in ((six[::2], six[1::2]), (six[1::2], six[::2])):
            pairs = list(zip(baseline, winner, strict=True))
            verdict = judge(objective, pairs, planned=LEAST_PAIRS)
            if verdict is not None:
                found.append(verdict.p)
    return found


def gain_by_raw_clocks(study: Study) -> bool:
    """Whether the job would report a gain, were its clocks not corrected for what else ran."""
    problem = resolve(study.archive.specification, None).problem
    verdict = study.result["verdict"]
    pairs = raw_pairs(study.trials, verdict and verdict["trial"])
    found = judge(problem.objective, pairs, planned=len(pairs))
    return found is not None and found.confirmed
