"""How a job came out: its winner, and what the fresh runs say of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from optimizer.budget.budget import Plan
from optimizer.confirmation.choosing import winner_of
from optimizer.confirmation.confirmation import Pair, Verdict, judge
from optimizer.confirmation.rounds import rounds_of
from optimizer.trials.history import History
from optimizer.trials.problem import Problem
from optimizer.trials.trial import BASELINE_TRIAL, Purpose, Trial
from sampler.runner.outcome import TrialState

# Not one that was lost: that is nobody's fault, and it is run again.
_FAILED = {TrialState.FAILED, TrialState.TIMED_OUT, TrialState.CENSORED, TrialState.INFEASIBLE}


@dataclass(frozen=True)
class Conclusion:
    """How a job came out.

    Attributes:
        winner: The number of the trial that won the choice; None if no trial ended well.
        verdict: What the fresh runs say of it; None if there were not enough.
        aside: Why which hosts were set aside, by name.
    """

    history: History
    plan: Plan
    winner: int | None
    verdict: Verdict | None
    aside: Mapping[str, str] = field(default_factory=dict)


def conclude(
    problem: Problem, plan: Plan, history: History, aside: Mapping[str, str] | None = None
) -> Conclusion:
    """Judges the trials that are there."""
    winner = winner_of(problem, plan, history)
    verdict = judge(
        problem.objective,
        proof_pairs(history, winner),
        planned=plan.pairs,
        failed=failed_runs(history, winner),
    )
    return Conclusion(history, plan, winner, verdict, aside or {})


def proof_pairs(history: History, winner: int | None) -> list[Pair]:
    """(baseline's, winner's) metrics of the proof's pairs of which both runs ended well."""
    return [
        (theirs.metrics, mine.metrics)
        for theirs, mine in _both(history, winner)
        if theirs.done and mine.done
    ]


def failed_runs(history: History, winner: int | None) -> int:
    """How many fresh runs of the winner failed, where the baseline's beside it ended well."""
    return sum(theirs.done and mine.state in _FAILED for theirs, mine in _both(history, winner))


def _both(history: History, winner: int | None) -> Iterator[tuple[Trial, Trial]]:
    for _, trials in sorted(rounds_of(history, Purpose.PROVE, 2).items()):
        by_subject = {trial.subject: trial for trial in trials}
        theirs, mine = by_subject.get(BASELINE_TRIAL), by_subject.get(winner)
        if theirs and mine:
            yield theirs, mine
