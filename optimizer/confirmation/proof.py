"""The proof: winner against baseline on fresh runs by one test, and what it could have shown."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from models import Floats
from optimizer.budget.budget import Plan, apart
from optimizer.budget.power import (
    ALPHA,
    FIGURE_ALPHA,
    LEAST_PAIRS,
    LIMIT_ALPHA,
    POWER,
    p_words,
    smallest_mean,
)
from optimizer.confirmation.paired_tests import (
    Change,
    JudgedLimit,
    LimitLevels,
    Margins,
    Power,
    change,
    differences_of,
    interval_of_mean,
    limits_kept,
    medians,
    naming_level,
    percent_of,
    with_adjusted_p,
)
from optimizer.evaluation.evaluation import Evaluation
from optimizer.evaluation.machine_effect import MachineEffect, effects_of, machine_document
from optimizer.objective.objective import MOST_GAIN, Objective, limit_words
from optimizer.trials.trial import Purpose, Trial
from sampler.workload.metric_table import MACHINE

_MOST_LOG = math.log(MOST_GAIN)


@dataclass(frozen=True)
class Verdict:
    """What the fresh runs say."""

    confirmed: bool  # whether the declared test passed, and every limit is shown to be kept
    fitness: float  # at the geometric means of the pairs' ratios: what the test decides by
    low: float  # low, high: its 95% interval
    high: float
    p: float  # one-sided p-value of "the fitness is not above 0"
    pairs: int  # how many pairs ended well on both sides
    baseline: Mapping[str, float]
    winner: Mapping[str, float]
    changes: Mapping[str, Change]  # of all metrics but the conditions of a run
    why: str  # one line: what was tested and how it came out
    limits: tuple[JudgedLimit, ...] = ()  # how the winner stands to each bound of the limits

    def terms(self, objective: Objective) -> dict[str, float]:
        """What each metric of the objective adds to the fitness."""
        return objective.gains_of_changes({n: c.percent for n, c in self.changes.items()})


Pair = tuple[Mapping[str, float], Mapping[str, float]]


def declared_test(objective: Objective, winner: int, plan: Plan) -> dict[str, Any]:
    """The one test that decides, written down before its runs are made, and why it is so long."""
    return {
        "winner": winner,
        "objective": objective.name,
        "statistic": "fitness at the geometric means of the pairs' ratios, winner over baseline",
        "test": "one-sample t over the pairs (delta method), one-sided: greater than 0",
        "alpha": ALPHA,
        "pairs": plan.pairs,
        "limits": [limit_words(limit) for limit in objective.limits],
        "limit_test": "one-sided t over the pairs, or over the winner's runs for limits in "
        "figures: within the margin of the bound, and not shown to be beyond it",
        "limit_alpha": LIMIT_ALPHA,
        "limit_alpha_of_figures": FIGURE_ALPHA,
        "margins": [margin.document() for margin in plan.margins],
        "planned": plan.detection.document() if plan.detection else None,
    }


def judge(
    objective: Objective,
    pairs: Sequence[Pair],
    *,
    planned: int,
    failed: int = 0,
    unseen: Sequence[Mapping[str, float]] = (),
    raw: Sequence[Pair] | None = None,
    clocks: str = "",
    margins: Margins | None = MappingProxyType({}),
    levels: LimitLevels | None = None,
) -> Verdict | None:
    """Judges the fresh runs.

    Neighbours in time are compared, so a machine that drifts slows both sides of a pair alike.

    Args:
        objective: What is better.
        pairs: (baseline's metrics, winner's metrics) of runs made one after the other, those pairs
            of which both ended well.
        planned: How many pairs were declared.
        failed: Runs of the winner that failed where the baseline's beside it ended well. What is
            left of its runs are the lucky ones.
        unseen: Errors that the pairs do not show, independent of each other: by metric, the factor
            by which each may be off in the winner's mean (one standard deviation).
        raw: The same pairs as they were measured, by which limits in figures are judged; None:
            ``pairs`` are.
        clocks: A clause on the clocks, for ``why``.
        margins: The share of each limit's bound that may be missing, as it was declared; None: the
            medians decide on limits, as in jobs of earlier versions.
        levels: Of the tests of limits, as they were declared; None: those of today.

    Returns:
        None with fewer than two pairs. With fewer than ``LEAST_PAIRS``, where a run of the winner
            failed, or where a limit is not shown to be kept, nothing is confirmed.
    """
    pairs, measured = (with_fitness(objective, each) for each in (pairs, raw or pairs))
    if len(pairs) < 2:
        return None
    baseline, winner = (medians([pair[side] for pair in pairs]) for side in (0, 1))
    values = fitness_by_pair(objective, pairs)
    mean, half, two_sided = interval_of_mean(values, unseen_error(objective, pairs, unseen))
    p = two_sided / 2 if mean > 0 else 1 - two_sided / 2
    off = {metric: _off(unseen, metric) for metric in objective.metrics}
    limits = limits_kept(
        objective.limits, pairs, measured, margins=margins, unseen=off, levels=levels
    )
    broken = [each for each in limits if not each.kept]
    enough = len(values) >= LEAST_PAIRS
    confirmed = enough and not broken and not failed and bool(p < ALPHA)
    changes = {
        name: change([(b[name], w[name]) for b, w in pairs], _off(unseen, name))
        for name in winner
        if name in baseline and name not in MACHINE
    }
    changes = with_adjusted_p(changes, objective.named, passed=bool(p < ALPHA))
    interval = f"[{mean - half:,.0f}, {mean + half:,.0f}]"
    why = (
        f"fitness {mean:,.0f} {interval} over {len(values)} paired runs, one-sided {p_words(p)} "
        f"({'below' if p < ALPHA else 'not below'} the declared {ALPHA:g})"
        + (clocks and f"; {clocks}")
    )
    for each in broken:
        why += f"; the limit {each.words}"
    if failed:
        why += f"; {failed} of its fresh runs failed where the baseline's succeeded"
    if not enough:
        why += f"; only {len(values)} of {planned} pairs succeeded; {LEAST_PAIRS} are needed"
    return Verdict(
        confirmed=confirmed,
        fitness=mean,
        low=mean - half,
        high=mean + half,
        p=p,
        pairs=len(values),
        baseline=baseline,
        winner=winner,
        changes=_with_detectable(changes, pairs, unseen, passed=bool(p < ALPHA)),
        why=why,
        limits=limits,
    )


def _with_detectable(
    changes: Mapping[str, Change],
    pairs: Sequence[Pair],
    unseen: Sequence[Mapping[str, float]],
    *,
    passed: bool,
) -> dict[str, Change]:
    """The changes; those that may be named and are not, with what would have been."""
    alpha, found = naming_level(changes, passed=passed) / 2, dict(changes)
    for name, each in changes.items():
        if each.p_adjusted is not None and not each.shown:
            smallest = _smallest_percent(pairs, name, _off(unseen, name), alpha)
            found[name] = each.model_copy(update={"detectable": smallest})
    return found


def fitness_by_pair(objective: Objective, pairs: Sequence[Pair]) -> Floats:
    """One value for each pair that has every term, of which the t distribution is taken.

    Their mean is the fitness at the geometric means of the pairs' ratios, their scatter that of
    the fitness to first order (the delta method). Not the fitness of each pair: noise of 20% in a
    rate lifts the mean of its ratios by 4%, and with many pairs that would pass for a gain.
    """
    whole = with_fitness(objective, pairs)
    gains: dict[str, Floats] = {}
    for term in objective.terms if whole else ():
        differences, logarithmic = differences_of(
            [(t[term.metric], m[term.metric]) for t, m in whole]
        )
        mean = float(differences.mean())
        ratio = math.exp(min(mean, _MOST_LOG)) if logarithmic else 1 + mean
        slope = ratio if logarithmic else 1.0
        sign = 1 if term.direction == "max" else -1
        scattered = sign * slope * (differences - mean)
        gains[term.metric] = term.gain(ratio, 1.0) + scattered
    return np.asarray(sum(objective.weighted(gains).values(), np.zeros(len(whole))))


def unseen_error(
    objective: Objective, pairs: Sequence[Pair], unseen: Sequence[Mapping[str, float]]
) -> float:
    """Standard error of the mean fitness by what the pairs do not show; see ``judge``."""
    if not unseen:
        return 0.0
    mean = fitness_by_pair(objective, pairs).mean()
    shifted = (
        [(b, {n: v * off.get(n, 1.0) for n, v in w.items()}) for b, w in pairs] for off in unseen
    )
    return math.hypot(*(fitness_by_pair(objective, each).mean() - mean for each in shifted))


def _off(unseen: Sequence[Mapping[str, float]], name: str) -> float:
    return math.hypot(*(math.log(off.get(name, 1.0)) for off in unseen))


def with_fitness(objective: Objective, pairs: Sequence[Pair]) -> list[Pair]:
    """Those of which both sides have every term: all figures of a verdict are of the same."""
    return [pair for pair in pairs if objective.fitness(pair[1], pair[0]) is not None]


def sensitivity_of(
    objective: Objective, pairs: Sequence[Pair], unseen: Sequence[Mapping[str, float]] = ()
) -> Power | None:
    """What these (baseline's metrics, winner's metrics) pairs could have shown.

    None with fewer than two pairs that have a fitness: their scatter is not known. ``unseen``: see
    ``judge``.
    """
    pairs = with_fitness(objective, pairs)
    if len(pairs) < 2:
        return None
    sides = [side for pair in pairs for side in pair]
    changes: dict[str, float | None] = {
        name: _smallest_percent(pairs, name, _off(unseen, name), ALPHA)
        for name in sides[0]
        if all(name in side for side in sides)
    }
    error = unseen_error(objective, pairs, unseen)
    fitness = _smallest(fitness_by_pair(objective, pairs), error, ALPHA)
    return Power(level=POWER, pairs=len(pairs), smallest_change=changes, fitness=fitness)


def _smallest_percent(pairs: Sequence[Pair], name: str, unseen: float, alpha: float) -> float:
    differences, logarithmic = differences_of([(b[name], w[name]) for b, w in pairs])
    return percent_of(_smallest(differences, unseen, alpha), logarithmic)


def _smallest(differences: Floats, unseen: float, alpha: float) -> float:
    scatter = math.hypot(float(differences.std(ddof=1)), unseen * math.sqrt(len(differences)))
    # Counters can be the same to the byte; what is left is rounding.
    if scatter <= 1e-12 * max(abs(float(differences.mean())), 1e-300):
        return 0.0
    return smallest_mean(scatter, len(differences), alpha)


_CHANGED = 0.05  # a p-value of "the winner changes the state" below this says that it does
# By how much a winner may change each of ``MACHINE`` (a share of the processors, the logarithm of
# the speed) unseen: the pairs show larger changes alone, and what the correction makes of a small
# one must not pass for a gain. One standard deviation.
_UNSEEN = (0.02, math.log(1.01))


@dataclass(frozen=True)
class ProofClocks:
    """By which clocks a proof is judged: corrected for the machine's state; raw without effects.

    The correction is right only of a state that the winner does not change itself.
    """

    effects: Mapping[str | None, MachineEffect] = field(default_factory=dict)  # by host
    # For ``judge``: what a change of the state too small to be seen does to the winner's clocks.
    unseen: Sequence[Mapping[str, float]] = ()
    why: str = ""  # one clause, where the winner changes the state

    def metrics(self, trial: Trial) -> Mapping[str, float]:
        """A run of the proof as it is judged."""
        effect = self.effects.get(trial.host)
        return effect.corrected(trial.metrics) if effect else trial.metrics

    def pairs(self, both: Sequence[tuple[Trial, Trial]]) -> list[Pair]:
        """(baseline's, winner's) metrics as they are judged."""
        return [(self.metrics(theirs), self.metrics(mine)) for theirs, mine in both]


def machine_before_proof(evaluation: Evaluation) -> dict[str, Any] | None:
    """How each host's clocks depend on the machine's state, by what ran before the proof.

    Its runs change nothing of it, so that they are corrected by what was fixed before them. Where
    the confirmation measures another load, runs of that load alone count.
    """
    problem, history = evaluation.problem, evaluation.history
    until = next(iter(history.numbers(Purpose.PROVE)), history.next_number)
    state = (until, *(history.changes(each) for each in Purpose if each is not Purpose.PROVE))

    def learn() -> dict[str, Any] | None:
        before = [trial for trial in history if trial.done and trial.number < until]
        runs = [t for t in before if problem.confirm is None or apart(problem, t)]
        hosts = dict.fromkeys(trial.host for trial in runs)
        return machine_document({host: [t for t in runs if t.host == host] for host in hosts})

    return evaluation.once("machine", state, learn)


def declared_clocks(evaluation: Evaluation) -> dict[str, Any]:
    """What the declared test says of its clocks; nothing where they are raw."""
    machine = machine_before_proof(evaluation)
    if machine is None or not any(host["coefficients"] for host in machine["hosts"]):
        return {}
    by = (
        "corrected for the machine's load by coefficients learned before, unless the winner "
        f"itself changes it: paired t, p < {_CHANGED:g}; then raw clocks"
    )
    return {"clocks": by, "machine": machine}


def proof_clocks(
    machine: Mapping[str, Any] | None, both: Sequence[tuple[Trial, Trial]]
) -> ProofClocks:
    """The clocks of (baseline, winner) runs, by the coefficients that were declared.

    Raw ones where the winner itself changes a state that a coefficient is used of: where the
    paired t test of what is corrected for, winner less baseline, gives p < 0.05.
    """
    effects = {host: effect for host, effect in effects_of(machine).items() if effect.coefficients}
    both = [pair for pair in both if pair[0].host in effects and pair[1].host in effects]
    if len(both) < 2:
        return ProofClocks(effects)
    away = [[effects[run.host].away(run.metrics) for run in pair] for pair in both]
    moved = np.diff(np.array(away), axis=1)[:, 0]
    slopes = [effects[mine.host].coefficients for _, mine in both]
    unseen = []
    for place, (name, least) in enumerate(zip(MACHINE, _UNSEEN, strict=True)):
        used = {clock for each in slopes for clock in each if each[clock][place]}
        if not used:
            continue
        p = interval_of_mean(moved[:, place])[2]
        if p < _CHANGED:
            return ProofClocks(
                why=f"by raw clocks, since the winner changes {name} ({p_words(p)})"
            )
        mean = {c: sum(s[c][place] for s in slopes if c in s) / len(slopes) for c in used}
        unseen.append({clock: math.exp(slope * least) for clock, slope in mean.items()})
    return ProofClocks(effects, unseen)
