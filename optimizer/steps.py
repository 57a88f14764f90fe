"""What a job does next: a pure function of its history, so that it can stop and go on anywhere."""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Mapping
from functools import lru_cache

from optimizer.baseline import summarise
from optimizer.budget import Plan
from optimizer.history import History
from optimizer.knowledge import best_first
from optimizer.problem import Problem
from optimizer.strategy import Strategy
from optimizer.trial import Phase, Purpose, Trial
from sampler.errors import InputError
from sampler.outcome import TrialState
from sampler.parameter import Value
from sampler.space import digest

BASELINE_TRIAL = 1


def next_trial(
    problem: Problem, plan: Plan, strategy: Strategy, history: History, *, hurry: bool = False
) -> Trial | None:
    """The next trial to run; None when the job has none left.

    Args:
        problem: What is tuned.
        plan: How the budget is divided.
        strategy: Proposes new configurations.
        history: The trials so far, all ended.
        hurry: Time is nearly up: explore no more, confirm.

    Raises:
        InputError: The baseline cannot be measured.
    """
    first = _first_baselines(problem, plan, history)
    if first:
        return first
    confirming = history.numbers(Purpose.SELECT) or history.numbers(Purpose.PROVE)
    if not confirming and not hurry:
        exploring = _exploring(problem, plan, strategy, history)
        if exploring:
            return exploring
    return _confirming(problem, plan, history)


def _first_baselines(problem: Problem, plan: Plan, history: History) -> Trial | None:
    # Given ones do not count: it is on this bench that the baseline must be measurable.
    runs = [history[number] for number in history.own(Purpose.BASELINE, Phase.BASELINE)]
    out = any(run.state in (TrialState.RUNNING, TrialState.LOST) for run in runs)
    if len(runs) >= min(plan.first, 2) and not out and not any(run.done for run in runs):
        said = (runs[-1].failure or "no reason was given").splitlines()[-1]
        raise InputError("baseline", f"cannot be measured, so there is nothing to beat: {said}")
    for run in runs:
        _require_metrics(problem, run)
    if len(runs) >= plan.first:
        return None
    why = f"run {len(runs) + 1} of {plan.first}: what every trial is compared with"
    return _baseline(problem, history, Phase.BASELINE, why)


def _require_metrics(problem: Problem, run: Trial) -> None:
    """Refuses an objective that the benchmark does not serve, before hours are spent."""
    objective = problem.objective
    limited = [limit.metric for limit in objective.limits]
    for metric in [*(term.metric for term in objective.terms), *limited]:
        if run.done and metric not in run.metrics:
            raise InputError(
                f"objective ({objective.name})",
                f"needs the metric {metric!r}, and the benchmark gives "
                f"{', '.join(sorted(run.metrics))}; name one of those or print it",
            )


def _exploring(problem: Problem, plan: Plan, strategy: Strategy, history: History) -> Trial | None:
    explored = history.own(Purpose.CANDIDATE)
    baselines = history.own(Purpose.BASELINE)
    repeats = len(baselines) - len(history.own(Purpose.BASELINE, Phase.BASELINE))
    left = plan.exploring - len(explored) - repeats
    if left <= 0:
        return None
    since = len(explored) - bisect_left(explored, baselines[-1])
    if plan.baseline_due(since, left):
        phase = history[explored[-1]].phase
        return _baseline(problem, history, phase, "again, to see noise and drift")
    number = history.next_number
    proposal = strategy.propose(problem, history, number=number, explore=plan.explore)
    if proposal is None:
        return None
    return Trial(
        number=number,
        phase=proposal.phase,
        purpose=Purpose.CANDIDATE,
        seed=problem.seed_of(number),
        configuration=proposal.configuration,
        digest=digest(proposal.configuration),
        point=proposal.point,
        why=proposal.why,
        based_on=history.finished,
    )


def _confirming(problem: Problem, plan: Plan, history: History) -> Trial | None:
    candidates = candidates_of(problem, plan, history)
    if not candidates:
        return None
    select = history.of(Purpose.SELECT)
    if len(select) < plan.select_runs and len(candidates) > 1:
        order = _in_turn(problem, [BASELINE_TRIAL, *candidates], len(select))
        made = len(select) // (len(candidates) + 1)
        rounds = f"round {1 + made} of {plan.rounds}"
        if made < plan.rounds:
            return _again(
                problem, history, order, Purpose.SELECT, f"{rounds}: choosing the winner"
            )
    winner = winner_of(problem, plan, history)
    prove = history.of(Purpose.PROVE)
    if winner is None or len(prove) >= 2 * plan.pairs:
        return None
    subject = _in_turn(problem, [BASELINE_TRIAL, winner], len(prove))
    why = f"pair {1 + len(prove) // 2} of {plan.pairs}: trial {winner} against the baseline"
    return _again(problem, history, subject, Purpose.PROVE, why)


def candidates_of(problem: Problem, plan: Plan, history: History) -> list[int]:
    """The numbers of the best few explored trials, the fittest first.

    Judged by the baseline as it was known when exploration ended, so that the choice does not
    change while it is confirmed.
    """
    ranked = _ranked(_Explored(problem, history))
    done = [trial.number for _, trial in ranked if trial.done and _may_win(problem, trial)]
    return done[: plan.candidates]


def _may_win(problem: Problem, trial: Trial) -> bool:
    """What is proposed keeps the memory budget; what is given need not, and then only teaches."""
    return not trial.given or problem.affords(trial.configuration)


class _Explored:
    """Names what was explored, so that it is sorted once, not at every step of the proof."""

    def __init__(self, problem: Problem, history: History) -> None:
        self.problem, self.history = problem, history
        changes = [history.changes(p) for p in (Purpose.BASELINE, Purpose.CANDIDATE)]
        self._identity = (id(problem), id(history), *changes)

    def __hash__(self) -> int:
        return hash(self._identity)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Explored) and self._identity == other._identity


@lru_cache(maxsize=2)
def _ranked(explored: _Explored) -> list[tuple[float, Trial]]:
    problem, history = explored.problem, explored.history
    candidates = _before_confirmation(history, Purpose.CANDIDATE)
    known = [*_before_confirmation(history, Purpose.BASELINE), *candidates]
    return best_first(problem, History(known), candidates)


def _before_confirmation(history: History, purpose: Purpose) -> list[Trial]:
    """Without trials that were given later: the choice does not change while it is confirmed."""
    confirming = [*history.numbers(Purpose.SELECT)[:1], *history.numbers(Purpose.PROVE)[:1]]
    until = min(confirming, default=history.next_number)
    return [trial for trial in history.of(purpose) if trial.number < until]


def winner_of(problem: Problem, plan: Plan, history: History) -> int | None:
    """The candidate with the best mean fitness over the choosing runs; None if there is none."""
    candidates = candidates_of(problem, plan, history)
    select = [trial for trial in history.of(Purpose.SELECT) if trial.done]
    if not candidates or not history.of(Purpose.SELECT):
        return candidates[0] if candidates else None
    before = _before_confirmation(history, Purpose.BASELINE)
    baseline = summarise([*before, *_baselines(history.of(Purpose.SELECT))])
    best: tuple[float, int] | None = None
    for number in candidates:
        runs = [trial.metrics for trial in select if trial.subject == number]
        if len(runs) < plan.rounds:
            continue  # it failed when measured again
        mean = sum(problem.objective.rank_value(r, baseline.metrics) for r in runs) / len(runs)
        if best is None or mean > best[0]:
            best = (mean, number)
    return best[1] if best else None


def _baselines(trials: list[Trial]) -> list[Trial]:
    return [trial for trial in trials if trial.is_baseline]


def _in_turn(problem: Problem, subjects: list[int], made: int) -> int:
    """Whose turn it is: each once a round, in an order drawn anew for every round."""
    turn = made // len(subjects)
    order = random.Random(f"{problem.seed}/{sorted(subjects)}/{turn}").sample(
        subjects, len(subjects)
    )
    return order[made % len(subjects)]


def _baseline(problem: Problem, history: History, phase: Phase, why: str) -> Trial:
    number = history.next_number
    configuration = problem.space.default_configuration()
    return _measure(
        problem, history, number, phase, Purpose.BASELINE, configuration, BASELINE_TRIAL, why
    )


def _again(problem: Problem, history: History, subject: int, purpose: Purpose, why: str) -> Trial:
    configuration = history[subject].configuration
    number = history.next_number
    return _measure(problem, history, number, Phase.CONFIRM, purpose, configuration, subject, why)


def _measure(
    problem: Problem,
    history: History,
    number: int,
    phase: Phase,
    purpose: Purpose,
    configuration: Mapping[str, Value],
    subject: int,
    why: str,
) -> Trial:
    return Trial(
        number=number,
        phase=phase,
        purpose=purpose,
        seed=problem.seed_of(number),
        configuration=configuration,
        digest=digest(configuration),
        subject=subject,
        why=why,
        based_on=history.finished,
    )
