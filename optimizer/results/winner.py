"""What a job's best configuration changes, and the configurations that stand beside it."""

from collections.abc import Mapping
from dataclasses import replace

from optimizer.budget.budget import Plan
from optimizer.confirmation.choice import blocks_of, choice_of, proof_subjects, select_trade_offs
from optimizer.confirmation.paired_tests import change, interval_of_mean
from optimizer.confirmation.proof import ProofClocks, Verdict, fitness_by_pair, with_fitness
from optimizer.evaluation.evaluation import Evaluation
from optimizer.explained import Explanation
from optimizer.objective.objective import Limit, Metrics, limit_words
from optimizer.results.document import (
    Ahead,
    AppliedHow,
    BestStart,
    Fullest,
    NoTrade,
    OptionChange,
)
from optimizer.strategies.changes import Changes
from optimizer.trials.problem import Problem
from optimizer.trials.trial import BASELINE_TRIAL, STARTING_POINT, Purpose, Trial
from sampler.rocksdb.changes import parameter_document
from sampler.space.space import Configuration, digest


def option_changes(
    problem: Problem, winner: Configuration, version: str | None, explanation: Explanation | None
) -> list[OptionChange]:
    """What differs from the baseline, and why: the largest gain first, then what follows.

    The gain is that of a change's step in the explanation: None where it only follows another
    (``rule``), where the space sets it, or where nothing is explained. ``apply`` is how RocksDB
    ``version`` takes the change; None where it is no option of RocksDB.
    """
    changes, start = Changes(problem, winner), problem.space.context
    steps = explanation.steps if explanation else ()
    step_of = {change.name: step for step in steps for change in step.changes}
    leaders = changes.leaders
    rows = []
    for name in (*changes.fixed, *changes.names):
        leads = name not in changes.fixed and name not in leaders
        step = step_of.get(name) if leads else None
        if name in changes.fixed:
            reason = "fixed by the space"
        elif name in leaders:
            reason = f"required by {' and '.join(leaders[name])}"
        elif step is None:
            reason = "too few trials to predict its effect"
        else:
            gain = step.gain
            shown = "" if gain.low > 0 else ", not significant by itself"
            figures = f"{gain.expected:+z.0f} [{gain.low:+z.0f}, {gain.high:+z.0f}]"
            others = sorted(each.name for each in step.changes if each.name != name)
            beside = f" together with {' and '.join(others)}" if others else ""
            reason = f"predicted fitness {figures}{beside}{shown}"
        applied = parameter_document(name, version)
        rows.append(
            OptionChange(
                name=name,
                baseline=start[name],
                value=winner[name],
                reason=reason,
                rule=name in leaders,
                gain=step.gain if step else None,
                apply=AppliedHow(**applied) if applied else None,
            )
        )
    return sorted(rows, key=lambda row: (row.rule, -(row.gain.expected if row.gain else 0.0)))


def fullest_candidate(evaluation: Evaluation, plan: Plan) -> Fullest | None:
    """The best candidate with more changes than the winner, measured beside it, unproven."""
    choice = choice_of(evaluation, plan)
    fullest = choice.fullest
    if fullest is None:
        return None
    winner = next(each for each in choice.candidates if each.number == choice.winner)
    configuration = evaluation.history[fullest.number].configuration
    return Fullest(
        trial=fullest.number,
        configuration=dict(configuration),
        changes=len(Changes(evaluation.problem, configuration).names),
        fitness=fullest.fitness,
        best_fitness=winner.fitness,
        runs=len(fullest.by_round),
    )


def best_start(evaluation: Evaluation, plan: Plan, clocks: ProofClocks) -> BestStart | None:
    """The best starting point beside the winner, by the proof's own blocks; None without one.

    ``ahead`` is how much fitter the winner is, and ``change`` how its metrics differ from the
    starting point's; None where fewer than two blocks ended well, or the point is the winner.
    """
    problem, history = evaluation.problem, evaluation.history
    _, *compared = proof_subjects(evaluation, plan)
    start = next((n for n in reversed(compared) if history[n].is_start), None)
    if start is None:
        return None
    trial = history[start]
    known = (s for s in problem.starts if digest(problem.configuration(s.point)) == trial.digest)
    said = trial.why.removeprefix(f"{STARTING_POINT} ").partition(",")[0]
    found = BestStart(
        trial=start,
        name=next((each.name for each in known), said),
        configuration=dict(trial.configuration),
        is_best=start == compared[0],
        fitness=None,
        low=None,
        high=None,
        pairs=0,
        ahead=None,
        change=None,
    )
    blocks = []
    for _, trials in sorted(blocks_of(history, Purpose.PROVE, 1 + len(compared)).items()):
        ended = {t.subject: clocks.metrics(t) for t in trials if t.done}
        if ended.keys() >= {BASELINE_TRIAL, *compared}:
            blocks.append(tuple(ended[n] for n in (BASELINE_TRIAL, compared[0], start)))
    objective = problem.objective
    blocks = [b for b in blocks if len(with_fitness(objective, [(b[0], b[1]), (b[0], b[2])])) == 2]
    if len(blocks) < 2:
        return found
    theirs = fitness_by_pair(objective, [(base, point) for base, _, point in blocks])
    mean, half, _ = interval_of_mean(theirs)
    measured = {"fitness": mean, "low": mean - half, "high": mean + half, "pairs": len(blocks)}
    if found.is_best:
        return found.model_copy(update=measured)
    ours = fitness_by_pair(objective, [(base, best) for base, best, _ in blocks])
    ahead, half, p = interval_of_mean(ours - theirs)
    pairs = [(point, best) for _, best, point in blocks]
    names = [n for n in pairs[0][0] if all(n in side for pair in pairs for side in pair)]
    changes = {n: change([(a[n], b[n]) for a, b in pairs]) for n in names}
    return found.model_copy(
        update={
            **measured,
            "ahead": Ahead(fitness=ahead, low=ahead - half, high=ahead + half, p=p),
            "change": changes,
        }
    )


def no_trade_candidate(
    evaluation: Evaluation, winner: int | None, verdict: Verdict | None
) -> NoTrade | None:
    """The best configuration that is worse than the baseline in no term; None without one.

    The winner itself, where the proof says so of it (``is_best``); else what was explored
    and not proven, by the means of all its runs: ``rocktune pick`` with ``limits`` hands out its
    file.
    """
    objective, history = evaluation.problem.objective, evaluation.history
    if verdict is not None and winner is not None and verdict.confirmed:
        gains = verdict.terms(objective)
        if all(gain >= 0 for gain in gains.values()):
            return _untraded(history[winner], verdict.winner, verdict.fitness, gains, best=True)
    limits = [Limit(term.metric, **{_KEEPS[term.direction]: 1.0}) for term in objective.terms]
    asked = replace(objective, limits=(*objective.limits, *limits))
    one = next(iter(select_trade_offs(evaluation, asked, count=1).best), None)
    if one is None or one.fitness <= 0:
        return None
    gains = objective.gains(one.metrics, evaluation.baseline.metrics)
    found = _untraded(one.first, one.metrics, one.fitness, gains, best=False)
    kept = {"runs": one.runs, "limits": [limit_words(limit) for limit in limits]}
    return found.model_copy(update=kept)


_KEEPS = {"min": "at_most_baseline", "max": "at_least_baseline"}


def _untraded(
    trial: Trial, metrics: Metrics, fitness: float, gains: Mapping[str, float], *, best: bool
) -> NoTrade:
    return NoTrade(
        trial=trial.number,
        configuration=dict(trial.configuration),
        is_best=best,
        proven=best,
        fitness=fitness,
        terms=dict(gains),
        metrics=dict(metrics),
    )
