"""What a job does next: a pure function of its history, so that it can stop and go on anywhere."""

from collections.abc import Collection
from dataclasses import replace

from optimizer.budget.budget import Plan, explore_left, simplified_left
from optimizer.confirmation.choice import (
    BlockRun,
    best_explored,
    candidates_of,
    complete,
    next_in_block,
    proof_subjects,
)
from optimizer.evaluation.baseline import LEAST_COMPARED
from optimizer.evaluation.evaluation import Evaluation
from optimizer.evaluation.host_outliers import suspect
from optimizer.objective.objective import require_possible
from optimizer.strategies.changes import simplified_version
from optimizer.strategies.strategy import Proposal, Strategy, next_start
from optimizer.trials.problem import Problem
from optimizer.trials.trial import BASELINE_TRIAL, History, PackedPoint, Phase, Purpose, Trial
from sampler.bench.outcome import TrialState
from sampler.common.errors import InputError
from sampler.space.space import digest
from sampler.workload.metric_table import result_names

EXPLORING = (Purpose.BASELINE, Purpose.CANDIDATE)
# Of what a host explores a quarter may go into the first runs of its own baseline.
_EXPLORED_PER_BASELINE = 4
_SIMPLIFIED = 2  # of how many of the best there are simplified versions


def next_trial(
    evaluation: Evaluation,
    plan: Plan,
    strategy: Strategy,
    *,
    host: str | None = None,
    beside: Collection[str] = (),
    hurry: bool = False,
) -> Trial | None:
    """The next trial to run.

    A phase begins when all trials of the one before are in: what it does rests on them. ``host``
    is free to measure (None: whoever measures does not matter), ``beside`` are the hosts that are
    there, this one included or not. In a ``hurry`` nothing more is explored.

    Returns:
        None when there is nothing to do for this host now: the job has no trials left, or what
            comes next rests on trials that are out.

    Raises:
        InputError: The baseline cannot be measured.
    """
    problem, history = evaluation.problem, evaluation.history
    require_baseline(problem, plan, history)
    lost = _lost(history)
    if lost is not None and lost.purpose is Purpose.BASELINE:
        return lost.again()
    explores = not confirming(history) and not hurry and explore_left(plan, history) > 0
    if explores and (first := _first_baseline(evaluation, plan, host, beside)):
        return first
    if lost is not None:
        return lost.again()
    if explores:
        if _awaits_baseline(history, host) or must_be_told_first(evaluation, plan, strategy):
            return None
        if exploring := _exploring(evaluation, plan, strategy, host):
            return exploring
    simplifies = hurry and not confirming(history) and simplified_left(plan, history) > 0
    able = simplifies and not _awaits_baseline(history, host)
    if able and (simplified := _simplified(evaluation, plan)):
        return simplified
    if any(history.out(purpose=purpose) for purpose in EXPLORING):
        return None
    return _confirming(evaluation, plan, host)


def confirming(history: History) -> bool:
    """Whether the confirmation has begun: nothing is explored any more."""
    return bool(history.numbers(Purpose.SELECT) or history.numbers(Purpose.PROVE))


def _lost(history: History) -> Trial | None:
    # Rounds see to their own.
    out = (trial for trial in history.unfinished() if trial.purpose in EXPLORING)
    lost = [trial for trial in out if trial.state is TrialState.LOST]
    return min(lost, key=lambda trial: trial.purpose is not Purpose.BASELINE, default=None)


def must_be_told_first(evaluation: Evaluation, plan: Plan, strategy: Strategy) -> bool:
    """Whether the next step is to learn from draws of which some are out."""
    history = evaluation.history
    if not history.out(phase=Phase.SAMPLE):
        return False
    return strategy.needs_all_samples(evaluation, plan.explore)


def require_baseline(problem: Problem, plan: Plan, history: History) -> None:
    """Refuses a job whose baseline cannot be measured, or cannot be judged by its objective.

    Raises:
        InputError: All first runs of the baseline failed, or its metrics lack one that the
            objective needs, or no value can keep all limits.
    """
    if history.own(Purpose.CANDIDATE):
        return
    # Given ones do not count: it is on this bench that the baseline must be measurable.
    runs = [history[number] for number in history.own(Purpose.BASELINE, Phase.BASELINE)]
    out = any(not run.has_outcome for run in runs)
    if len(runs) >= min(plan.first, 2) and not out and not any(run.done for run in runs):
        said = (runs[-1].failure or "no reason given").splitlines()[-1]
        raise InputError(
            "the baseline", f"cannot be measured, so no trial can be compared: {said}"
        )
    objective = problem.objective
    field = f"objective ({objective.name})"
    for run in (run for run in runs if run.done):  # before hours are spent
        for metric in objective.metrics:
            if metric not in run.metrics:
                gives = result_names(run.metrics)
                lacks = f"needs the metric {metric!r}, but the benchmark reports {gives}"
                raise InputError(field, f"{lacks}; use one of these or report it")
        # A figure and a multiple of the baseline can be compared now.
        require_possible(objective.bounds(run.metrics), field=field)


def _first_baseline(
    evaluation: Evaluation, plan: Plan, host: str | None, beside: Collection[str]
) -> Trial | None:
    """A host's next run of the baseline, as long as it has not measured its own first ones."""
    history = evaluation.history
    before = history.own(Purpose.BASELINE, Phase.BASELINE)
    mine = before if host is None else history.on_host(host, Purpose.BASELINE)
    if len(mine) >= plan.first and not _lacks_level(plan, history, host):
        return None
    # Only the first host's are set aside for it; those of the others are taken from exploring.
    if host is not None and not _takes_part(plan, history, host, beside):
        return None
    here = "" if host is None or len(history.hosts) < 2 else f" on {host}"
    run = f"run {len(mine) + 1} of {max(plan.first, len(mine) + 1)}{here}"
    why = f"{run}: the reference of every trial"
    return _baseline(evaluation, why)


def _lacks_level(plan: Plan, history: History, host: str | None) -> bool:
    """Whether a host's trials cannot be compared with those of others yet: its first runs failed.

    As many again are made at most.
    """
    if host is None or len(history.hosts) < 2:
        return False
    mine = history.on_host(host, Purpose.BASELINE)
    good = sum(history[number].done for number in mine)
    return good < LEAST_COMPARED and len(mine) < 2 * plan.first


def _takes_part(plan: Plan, history: History, host: str, beside: Collection[str]) -> bool:
    """Whether a host explores: its own baseline must not cost more than it brings."""
    if history.on_host(host, Purpose.BASELINE):
        return True
    known = [each for each in beside if history.on_host(each, Purpose.BASELINE)]
    if not known:
        return True
    most = plan.exploring // (_EXPLORED_PER_BASELINE * plan.first)
    return len(known) < most and explore_left(plan, history) > plan.first


def _awaits_baseline(history: History, host: str | None) -> bool:
    """Whether a run of the baseline must end before this host's trials can be compared."""
    if host is not None:
        mine = history.on_host(host, Purpose.BASELINE)
        return not mine or not any(history[number].done for number in mine)
    first = history.own(Purpose.BASELINE, Phase.BASELINE)
    return any(not history[number].has_outcome for number in first)


def _exploring(
    evaluation: Evaluation, plan: Plan, strategy: Strategy, host: str | None
) -> Trial | None:
    history = evaluation.history
    left = explore_left(plan, history)
    since = history.since_baseline(host)
    doubtful = host is not None and since == 0 and suspect(evaluation, host)
    if plan.baseline_due(since, left) or doubtful:
        why = "the last run differs" if doubtful else "to measure noise and drift"
        return _baseline(evaluation, f"repeat: {why}")
    searches = left > simplified_left(plan, history) and not history.simplified
    # A design of draws alone is laid out for as many as it is asked for.
    drawn = strategy.samples(evaluation.problem, plan.explore) >= plan.explore
    explore = plan.explore - plan.simplified if drawn else plan.explore
    if searches and (trial := _searched(evaluation, plan, strategy, explore)):
        return trial
    if not _all_simplified(history):
        trial = _simplified(evaluation, plan)
        if trial or history.out(purpose=Purpose.CANDIDATE):
            return trial
    # There is nothing more to simplify: what was kept for it goes on with the search.
    return None if searches else _searched(evaluation, plan, strategy, plan.explore)


def _all_simplified(history: History) -> bool:
    """Whether the search has gone on after simplified versions: then there were no more.

    Asking the models again with every look would cost more than the runs.
    """
    simplified, explored = history.simplified, history.own(Purpose.CANDIDATE)
    return bool(simplified) and explored[-1] != simplified[-1]


def _searched(
    evaluation: Evaluation, plan: Plan, strategy: Strategy, explore: int
) -> Trial | None:
    proposal = next_start(evaluation, plan.explore) or strategy.propose(
        evaluation, number=evaluation.history.next_number, explore=explore
    )
    if proposal is None:
        return None
    if evaluation.history.simplified:  # no phase comes twice
        proposal = replace(proposal, phase=Phase.SEARCH)
    return proposed_trial(evaluation, proposal)


def _simplified(evaluation: Evaluation, plan: Plan) -> Trial | None:
    """The next simplified version of the best: the first when all of the search is in."""
    history = evaluation.history
    first = not history.simplified
    if first and any(history.out(purpose=purpose) for purpose in EXPLORING):
        return None
    best = best_explored(evaluation)[:_SIMPLIFIED] if simplified_left(plan, history) else []
    # Hosts that wait look again and again.
    state = (*best, *(history.changes(purpose) for purpose in Purpose))
    proposal = evaluation.once(
        "simplified", state, lambda: simplified_version(evaluation, best) if best else None
    )
    return None if proposal is None else proposed_trial(evaluation, proposal)


def proposed_trial(
    evaluation: Evaluation,
    proposal: Proposal,
    purpose: Purpose = Purpose.CANDIDATE,
    block: int | None = None,
) -> Trial:
    """What was proposed, as the next trial; ``block`` is its round in the confirmation."""
    number = evaluation.history.next_number
    return Trial(
        number=number,
        phase=proposal.phase,
        purpose=purpose,
        seed=evaluation.problem.seed_of(number),
        configuration=proposal.configuration,
        digest=digest(proposal.configuration),
        point=PackedPoint.of(proposal.point),
        subject=proposal.subject,
        why=proposal.why,
        basis=proposal.basis,
        based_on=evaluation.history.finished,
        round=block,
    )


def _confirming(evaluation: Evaluation, plan: Plan, host: str | None) -> Trial | None:
    problem, history = evaluation.problem, evaluation.history
    candidates = candidates_of(evaluation, plan)
    if not candidates:
        return None
    if len(candidates) > 1 and plan.select_runs:
        subjects = [BASELINE_TRIAL, *candidates]
        run = next_in_block(
            history, Purpose.SELECT, subjects, plan.rounds, seed=problem.seed, host=host
        )
        if run is not None:
            why = f"round {run.round} of {plan.rounds}: choosing the winner"
            return _again(evaluation, run, Purpose.SELECT, why)
        if not complete(history, Purpose.SELECT, len(subjects), plan.rounds):
            return None
    _, *compared = subjects = proof_subjects(evaluation, plan)
    if not compared:
        return None
    run = next_in_block(history, Purpose.PROVE, subjects, plan.pairs, seed=problem.seed, host=host)
    if run is None:
        return None
    why = f"pair {run.round} of {plan.pairs}: trial {compared[0]} against the baseline"
    why += f", with the starting point of trial {compared[1]}" if compared[1:] else ""
    return _again(evaluation, run, Purpose.PROVE, why)


def _baseline(evaluation: Evaluation, why: str) -> Trial:
    explored = evaluation.history.own(Purpose.CANDIDATE)
    phase = evaluation.history[explored[-1]].phase if explored else Phase.BASELINE
    configuration = evaluation.problem.space.default_configuration()
    proposal = Proposal(phase, None, configuration, why, BASELINE_TRIAL)
    return proposed_trial(evaluation, proposal, Purpose.BASELINE)


def _again(evaluation: Evaluation, run: BlockRun, purpose: Purpose, why: str) -> Trial:
    if run.lost is not None:
        return run.lost.again()
    configuration = evaluation.history[run.subject].configuration
    proposal = Proposal(Phase.CONFIRM, None, configuration, why, run.subject)
    return proposed_trial(evaluation, proposal, purpose, run.round)
