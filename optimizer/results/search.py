"""How the sampling and the search of a job went, and what they taught of its parameters."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.anova import AnovaResult, smallest_share
from models.importance import ForestImportance
from optimizer.budget.budget import Plan, explore_left
from optimizer.confirmation.choice import as_explored
from optimizer.evaluation.evaluation import Evaluation, replicated
from optimizer.objective.objective import Metrics
from optimizer.results.ranking import (
    Agreement,
    AnovaPower,
    Contributions,
    EffectTest,
    Gained,
    KeptValue,
    MetricImportance,
    ParameterImportance,
    ParameterRanking,
    Quality,
    Sampling,
    SearchEnd,
)
from optimizer.strategies.genetic import (
    LEAST_JUDGED,
    LEVEL,
    Checkpoint,
    agreement_of,
    checkpoint_at,
    checkpoints,
    enough_drawn,
)
from optimizer.strategies.greedy import SweepProgress, tried_by
from optimizer.strategies.strategy import Strategy
from optimizer.surrogate.parameter_effects import (
    Direction,
    ParameterEffects,
    directions,
    parameter_effects,
)
from optimizer.surrogate.predictions import SAID
from optimizer.trials.problem import Problem
from optimizer.trials.trial import BASELINE_TRIAL, Basis, Phase, Purpose, Trial
from sampler.space.space import digest


def sampling_of(evaluation: Evaluation, strategy: Strategy, *, explore: int) -> Sampling | None:
    """Draws made and planned, why they ended, and how far halves of them agreed on the way.

    All draws have ended, of a budget of ``explore`` new configurations. None where the strategy
    does not rank, so that it draws to its end, or draws nothing.
    """
    problem, history = evaluation.problem, evaluation.history
    planned = strategy.samples(problem, explore)
    if planned >= explore or planned == 0:
        return None
    drawn = len(history.own(Purpose.CANDIDATE, Phase.SAMPLE))
    curve = [] if strategy.has_models else _curve(evaluation)
    return Sampling(
        draws=drawn,
        planned=planned,
        why=why_sampling_ended(evaluation, strategy, explore=explore),
        curve=[Agreement(**asdict(point)) for point in curve],
    )


def why_sampling_ended(evaluation: Evaluation, strategy: Strategy, *, explore: int) -> str:
    """One sentence: what ended the draws, and whether what they teach can be relied on."""
    problem, history = evaluation.problem, evaluation.history
    planned = strategy.samples(problem, explore)
    drawn = len(history.own(Purpose.CANDIDATE, Phase.SAMPLE))
    given = history.given_samples
    if enough_drawn(evaluation, planned):
        ended = f"enough after {drawn} of at most {planned} sampled configurations"
    elif drawn + given >= planned:
        asked = problem.search.samples is not None
        ended = (
            f"all {planned} {'requested ' if asked else ''}sampled configurations were measured"
        )
        ended += f", {given} of them imported" if given else ""
    else:
        ended = (
            f"{drawn} of {planned} sampled configurations were measured; time or new ones ran out"
        )
    if strategy.has_models:
        return f"{ended}: the models learn from them, and from every trial of the search"
    curve = _curve(evaluation)
    return f"{ended}: {_judged(problem, curve[-1], strategy)}" if curve else ended


def _curve(evaluation: Evaluation) -> list[Checkpoint]:
    drawn = len(evaluation.history.drawn)
    numbers = [*checkpoints(drawn), drawn] if drawn >= LEAST_JUDGED else []
    return [checkpoint_at(evaluation, number) for number in numbers]


def _judged(problem: Problem, last: Checkpoint, strategy: Strategy) -> str:
    if problem.search.over:
        return "the search covers the parameters named, whatever the ranking"
    if "top" not in strategy.settings:
        return "the search covers all parameters that may move, whatever the ranking"
    agreement, top = agreement_of(problem, last), problem.search.top
    if agreement is None:
        return "the search covers every parameter, whatever the ranking"
    return (
        f"the ranking is {'stable' if agreement >= LEVEL - 1e-9 else 'not yet stable'}, "
        f"random halves of the sample share {top * last.top_k_overlap:.1f} of their top {top}"
    )


def search_end(evaluation: Evaluation, plan: Plan, strategy: Strategy) -> SearchEnd | None:
    """What the next run of the search would have promised when it ended, against the noise.

    Trials of the confirmation do not count.

    Returns:
        ``gain``, ``lately`` and ``noise`` in units of fitness, ``exhausted``, ``since`` (the first
            trial that was known to be so), ``saved`` (runs of the benchmark), ``again`` (runs that
            measured a configuration again) and ``why``; None where the strategy foresees nothing.
    """
    explored = as_explored(evaluation)
    stopping_rule = strategy.stopping_rule(explored, plan.explore)
    if stopping_rule is None:
        return None
    before = explored.history
    searched = before.of(Purpose.CANDIDATE, Phase.SEARCH)
    # The first trial that was proposed although the search was exhausted.
    since = next((trial.number for trial in searched if _exhausted(trial)), None)
    spent = 0 if since is None else sum(trial.number >= since for trial in before)
    left = max(0, explore_left(plan, before))
    saved = left if evaluation.problem.search.stop_early and stopping_rule.exhausted else 0
    why = stopping_rule.words()
    if saved:
        why += f": {saved} runs saved"
    elif stopping_rule.exhausted and spent:
        why += f": {spent} more runs were made since then; --stop-early saves them"
    return SearchEnd(
        gain=stopping_rule.gain,
        lately=stopping_rule.lately,
        noise=stopping_rule.noise,
        exhausted=stopping_rule.exhausted,
        since=since,
        saved=saved,
        again=len(replicated(before)),
        why=why,
    )


def _exhausted(trial: Trial) -> bool:
    if trial.basis is not None:
        return trial.basis is Basis.EXHAUSTED
    return SAID in trial.why  # of earlier versions


def why_search_ended(evaluation: Evaluation, plan: Plan, strategy: Strategy) -> str | None:
    """One line: whether going on would have been worth it; None where nobody knows."""
    series = strategy.sweep_progress(as_explored(evaluation), plan.explore)
    if series is not None:
        return why_ended(evaluation.problem, series)
    end = search_end(evaluation, plan, strategy)
    return end.why if end else None


def contributions_of(
    evaluation: Evaluation, strategy: Strategy, explore: int
) -> Contributions | None:
    """Which parameter gained how much.

    Each step is one kept value, by the runs that chose it: mostly single ones, and the best of
    several, so the gains are flattered. They add up to the fitness of the last configuration, and
    the factors of a metric multiply to its whole change. ``evaluation`` has the trials as they
    were when exploration ended, of a budget of ``explore`` new configurations.

    Returns:
        ``steps`` in order, ``parameters`` with the largest gain first, the ``fitness`` of the last
            configuration, the parameters ``swept``, ``idle`` and ``left``, ``passes`` and ``why``;
            None where the strategy does not vary one parameter after the other.
    """
    problem = evaluation.problem
    series = strategy.sweep_progress(evaluation, explore)
    if series is None:
        return None
    steps = _steps(evaluation, series)
    left = series.left(problem.searched)
    return Contributions(
        steps=steps,
        parameters=_by_parameter(steps, tried_by(series.sweeps)),
        fitness=steps[-1].fitness if steps else 0.0,
        swept=list(dict.fromkeys(sweep.parameter for sweep in series.sweeps)),
        idle=list(series.idle),
        left=list(left),
        passes=max((sweep.number for sweep in series.sweeps), default=0),
        why=why_ended(problem, series),
    )


def why_ended(problem: Problem, series: SweepProgress) -> str:
    """One sentence: how far the search came, and what the budget left out."""
    left = series.left(problem.searched)
    if left:
        done = len(problem.searched) - len(left)
        said = f"{done} of {len(problem.searched)} parameters were varied before the budget ended"
        return f"{said}; not varied: {', '.join(left)}"
    said = f"all {len(problem.searched)} parameters were varied"
    if series.parameter is not None:
        return f"{said}; the budget ended in pass {series.number}, at {series.parameter}"
    if problem.search.stop_early:
        return f"{said} once"
    last = max((sweep.number for sweep in series.sweeps), default=1)
    return f"{said}; pass {last} found nothing better"


def _steps(evaluation: Evaluation, series: SweepProgress) -> list[KeptValue]:
    """Every configuration that was kept, against the one before it."""
    problem, history = evaluation.problem, evaluation.history
    starts = {digest(problem.configuration(s.point)): s.name for s in reversed(problem.starts)}
    found: list[KeptValue] = []
    objective = problem.objective
    level = evaluation.baseline.metrics
    before, fitness = BASELINE_TRIAL, 0.0
    turns: list[tuple[str | None, int, int | None]] = [
        (None, 0, series.first if series.first != BASELINE_TRIAL else None),
        *((sweep.parameter, sweep.number, sweep.kept) for sweep in series.sweeps),
    ]
    for parameter, number, kept in turns:
        if kept is None:
            continue
        old, new = (_metrics(evaluation, trial) for trial in (before, kept))
        reached = objective.fitness(new, level) or 0.0
        # What the space fixes is none of a step's doing.
        held, chosen = (
            {**problem.space.start, **history[trial].configuration} for trial in (before, kept)
        )
        also = {
            name: chosen[name]
            for name in problem.space.names
            if name != parameter and chosen[name] != held[name]
        }
        found.append(
            KeptValue(
                parameter=parameter,
                start=None if parameter else starts.get(history[kept].digest),
                sweep=number,
                trial=kept,
                before=held[parameter] if parameter else None,
                after=chosen[parameter] if parameter else None,
                also=also,
                gain=reached - fitness,
                fitness=reached,
                change={
                    name: 100 * (new[name] / old[name] - 1)
                    for name in (term.metric for term in objective.terms)
                    if name in new and old.get(name, 0) > 0
                },
            )
        )
        before, fitness = kept, reached
    return found


def _by_parameter(steps: Sequence[KeptValue], tried: Mapping[str, int]) -> list[Gained]:
    total = sum(step.gain for step in steps)
    by_name: dict[str, list[KeptValue]] = {}
    for step in steps:
        by_name.setdefault(step.parameter or f"starting point {step.start}", []).append(step)
    rows = []
    for name, kept in by_name.items():
        gain = sum(step.gain for step in kept)
        factors: dict[str, float] = {}
        for step in kept:
            for metric, change in step.change.items():
                factors[metric] = factors.get(metric, 1.0) * (1 + change / 100)
        rows.append(
            Gained(
                name=name,
                before=kept[0].before,
                after=kept[-1].after,
                gain=gain,
                change={metric: 100 * (factor - 1) for metric, factor in factors.items()},
                values=tried.get(name, 0),
                share=100 * gain / total if total > 0 else None,
            )
        )
    return sorted(rows, key=lambda row: -row.gain)


def _metrics(evaluation: Evaluation, trial: int) -> Metrics:
    """The means of a configuration's runs, clocks corrected; of the baseline the medians."""
    history, baseline = evaluation.history, evaluation.baseline
    if trial == BASELINE_TRIAL:
        return baseline.metrics
    runs = history.of_configuration(history[trial].digest)
    return baseline.corrected_mean([r for r in runs if r.purpose is Purpose.CANDIDATE and r.done])


def _effect_test(test: AnovaResult) -> EffectTest:
    figures = ("f", "p", "p_holm", "eta_squared", "omega_squared")
    groups = zip(test.labels, test.means, test.sizes, strict=True)
    return EffectTest(
        **{name: getattr(test, name) for name in figures},
        groups=[{"label": label, "mean": float(m), "size": int(n)} for label, m, n in groups],
    )


FORESTS, MODELS = "forests", "models"
# A parameter surely matters to a metric where the p-value of no effect, corrected, is below this,
# and it surely makes so much of the variance: a likelihood finds ever smaller effects.
SURE, LEAST_SHARE = 0.05, 0.01
_BY_PARAMETER = ("total", "low", "high", "alone", "p", "p_holm")  # fields of MetricEffects
_BY_FOREST = ("mdi", "permutation", "permutation_std")
_BY_ORDER = ("rank_low", "rank_high", "top_k_frequency")  # of its stability
# An analysis of variance of fewer draws ranks nothing; it says the smallest share of the variance
# that it could have seen between so many groups.
LEAST_DRAWS, _GROUPS = 30, 4


def parameter_ranking(evaluation: Evaluation) -> ParameterRanking:
    """Parameters by importance, the most important first; a run of the baseline has ended well.

    A Gaussian process and a forest learn each metric from all trials: ``model`` and ``importance``
    of each parameter. ``rank`` and ``share`` are by the process. ``anova`` is of the random
    configurations alone. ``ranked_by`` is ``models``, or ``forests`` where too few trials have
    ended for any, so that nothing is ranked.
    """
    problem, (draws, tested) = evaluation.problem, evaluation.draw_tests()
    effects = parameter_effects(evaluation)
    toward = directions(evaluation, effects) if effects else {}
    metrics = effects.metrics if effects else {}
    forests = effects.forests if effects else {}
    rows = []
    for rank, name in enumerate(effects.order if effects else problem.space.names, start=1):
        row: dict[str, Any] = {
            "name": name,
            "rank": rank,
            "share": 0.0,
            "workload_factor": problem.space.by_name[name].section == "workload",
            "searched": name not in problem.space.unsearched,
            "importance": {},
            "anova": {metric: _effect_test(found[name]) for metric, found in tested.items()},
        }
        learned = _learned(effects, name, toward.get(name)) if effects else {}
        rows.append(ParameterImportance(**(row | learned)))
    return ParameterRanking(
        parameters=rows,
        anova_power=AnovaPower(
            draws=draws,
            least=LEAST_DRAWS,
            groups=_GROUPS,
            smallest_share=smallest_share(draws, groups=_GROUPS),
        ),
        forest={name: _quality(forests.get(name)) for name in metrics or tested},
        models={
            name: Quality(
                r2_cross_validated=each.r2,
                noise=each.noise,
                trials=each.trials,
                kendall_tau=each.stability.kendall_tau,
            )
            for name, each in metrics.items()
        },
        shown_first=dict.fromkeys(metrics, "process"),
        ranked_by=MODELS if effects else FORESTS,
    )


def _quality(found: ForestImportance | None) -> Quality:
    return Quality(
        r2=found.r2 if found else None,
        r2_cross_validated=found.r2 if found else None,
        r2_cross_validated_std=found.r2_std if found else None,
        trials=found.trials if found else 0,
    )


def surely_matters(effects: ParameterEffects) -> NDArray[np.bool_]:
    """Which parameters matter to some metric beyond doubt, in the order of ``effects.names``."""
    each = [(m.p_holm < SURE) & (m.low >= LEAST_SHARE) for m in effects.metrics.values()]
    return np.asarray(np.any(each, axis=0))


def _learned(effects: ParameterEffects, name: str, toward: Direction | None) -> dict[str, Any]:
    """The fields of a parameter's ``ParameterImportance`` that the models fill."""
    place = effects.names.index(name)
    model = {
        metric: MetricImportance(
            **{figure: float(getattr(found, figure)[place]) for figure in _BY_PARAMETER},
            **{figure: float(getattr(found.stability, figure)[place]) for figure in _BY_ORDER},
        )
        for metric, found in effects.metrics.items()
        if math.isfinite(found.p[place])
    }
    forests = effects.forests if name in effects.moving else {}
    importance = {
        metric: MetricImportance(
            **{figure: float(getattr(found, figure)[place]) for figure in _BY_FOREST}
        )
        for metric, found in forests.items()
    }
    return {
        "share": float(effects.share[place]),
        "model": model,
        "importance": importance,
        "matters": bool(surely_matters(effects)[place]),
        "better": toward.better if toward else None,
        "gain": toward.gain if toward else None,
    }
