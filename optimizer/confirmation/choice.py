"""Which of the explored configurations are measured again, and which of those wins."""

from itertools import zip_longest

from optimizer.baseline.baseline import mean_metrics, summarise
from optimizer.budget.budget import Plan
from optimizer.confirmation.blocks import blocks_of
from optimizer.evaluation.configurations import configurations_of
from optimizer.evaluation.evaluation import Evaluation
from optimizer.strategies.registry import STRATEGIES
from optimizer.trials.history import History
from optimizer.trials.problem import Problem
from optimizer.trials.trial import Purpose, Trial


def candidates_of(evaluation: Evaluation, plan: Plan) -> list[int]:
    """The numbers of the best few explored configurations, the fittest first.

    One that was measured several times is one candidate, with the mean of its runs; one that ever
    failed is none.

    Where the strategy has models, every other one is theirs: the best single measurement is often
    just the luckiest, and models err where they know little.

    Judged by the baseline as it was known when exploration ended, so that the choice does not
    change while it is confirmed.
    """
    return evaluation.once("ranked", _explored(evaluation), lambda: _ranked(evaluation))[
        : plan.candidates
    ]


def may_win(problem: Problem, trial: Trial) -> bool:
    """What is proposed keeps the memory budget; what is given need not, and then only teaches."""
    return not trial.given or problem.affords(trial.configuration)


def as_explored(evaluation: Evaluation) -> Evaluation:
    """The trials as they were when exploration ended: runs of the baseline, and candidates."""

    def before() -> Evaluation:
        purposes = (Purpose.BASELINE, Purpose.CANDIDATE)
        known = [t for each in purposes for t in _before_confirmation(evaluation.history, each)]
        return Evaluation(evaluation.problem, History(known))

    return evaluation.once("explored", _explored(evaluation), before)


def _explored(evaluation: Evaluation, *more: Purpose) -> tuple[int, ...]:
    """Changes where anything was measured, so that it is sorted once, not at every step."""
    purposes = (Purpose.BASELINE, Purpose.CANDIDATE, *more)
    return tuple(evaluation.history.changes(purpose) for purpose in purposes)


def _ranked(evaluation: Evaluation) -> list[int]:
    problem, before = evaluation.problem, as_explored(evaluation)
    found = configurations_of(before, before.history.of(Purpose.CANDIDATE))
    ranked = sorted(found, key=lambda each: (-each.fitness, each.first.number))
    measured = [each.first.number for each in ranked if may_win(problem, each.first)]
    strategy = STRATEGIES.get(problem.strategy)
    if strategy is None:
        return measured
    own = set(measured)
    preferred = [n for n in strategy.preferred(before) if n in own]
    in_turn = (n for both in zip_longest(preferred, measured) for n in both if n is not None)
    return list(dict.fromkeys(in_turn))


def _before_confirmation(history: History, purpose: Purpose) -> list[Trial]:
    """Without trials that were given later: the choice does not change while it is confirmed."""
    confirming = [*history.numbers(Purpose.SELECT)[:1], *history.numbers(Purpose.PROVE)[:1]]
    until = min(confirming, default=history.next_number)
    return [trial for trial in history.of(purpose) if trial.number < until]


def winner_of(evaluation: Evaluation, plan: Plan) -> int | None:
    """The candidate whose means over the choosing runs are the best; None if there is none."""
    state = (plan, *_explored(evaluation, Purpose.SELECT))
    return evaluation.once("winner", state, lambda: _winner(evaluation, plan))


def _winner(evaluation: Evaluation, plan: Plan) -> int | None:
    problem, history = evaluation.problem, evaluation.history
    candidates = candidates_of(evaluation, plan)
    rounds = [*blocks_of(history, Purpose.SELECT, 1 + len(candidates)).values()]
    # Where the baseline failed, too, a candidate's run says nothing of the candidate.
    sound = [
        each
        for each in rounds
        if not any(run.is_baseline and run.has_outcome and not run.done for run in each)
    ] or rounds
    select = [trial for each in sound for trial in each if trial.done]
    if not candidates or not history.of(Purpose.SELECT):
        return candidates[0] if candidates else None
    beside = [run for run in select if run.is_baseline]
    if problem.confirm is None:
        beside = [*_before_confirmation(history, Purpose.BASELINE), *beside]
    elif not beside:
        return None  # of that load nothing is known to compare with
    baseline = summarise(beside)
    best: tuple[float, int] | None = None
    for number in candidates:
        # Within a job drift hits all candidates of a round alike; hosts differ, so that counts.
        # The noise of a host's only run does too: it was measured beside all of them.
        runs = [
            baseline.corrected(trial.metrics, None, trial.host, least=1)
            for trial in select
            if trial.subject == number
        ]
        if len(runs) < plan.rounds - (len(rounds) - len(sound)):
            continue  # it failed when measured again
        # Of the means: a limit is broken by them or kept, not by one noisy run of several.
        mean = problem.objective.rank_value(mean_metrics(runs), baseline.metrics)
        if best is None or mean > best[0]:
            best = (mean, number)
    return best[1] if best else None
