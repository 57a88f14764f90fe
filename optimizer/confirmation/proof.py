"""The proof: winner against baseline on fresh runs by one test, and what it could have shown."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optimizer.baseline.machine_effect import MachineEffect, machine_document, machine_effect
from optimizer.budget.budget import Plan
from optimizer.budget.confirm_load import apart
from optimizer.budget.power import ALPHA, LEAST_PAIRS, POWER, p_words, smallest_mean
from optimizer.evaluation.evaluation import Evaluation
from optimizer.objective.limits import KeptLimit, kept_words, limit_words, limits_kept
from optimizer.objective.objective import MOST_GAIN, Objective
from optimizer.trials.trial import Purpose, Trial
from sampler.workload.metric_units import MACHINE

CONFIDENCE = 0.95
_MOST_LOG = math.log(MOST_GAIN)


@dataclass(frozen=True)
class Change:
    """How a metric of the winner differs from the baseline's."""

    percent: float  # signed change: geometric mean of the pairs' ratios, less 1, in percent
    # low, high: its 95% interval.
    low: float
    high: float
    p: float  # two-sided p-value of no change


@dataclass(frozen=True)
class Verdict:
    """What the fresh runs say."""

    confirmed: bool  # whether the declared test passed, and the medians keep every limit
    fitness: float  # of the medians of the fresh runs
    # low, high: 95% interval of the fitness at the geometric means of the pairs' ratios.
    low: float
    high: float
    p: float  # one-sided p-value of "that fitness is not above 0"
    pairs: int  # how many pairs ended well on both sides
    baseline: Mapping[str, float]
    winner: Mapping[str, float]
    changes: Mapping[str, Change]  # of all metrics but the conditions of a run
    why: str  # one line: what was tested and how it came out
    limits: tuple[KeptLimit, ...] = ()  # how the winner stands to each limit of the objective


Pair = tuple[Mapping[str, float], Mapping[str, float]]


def effects_before_proof(evaluation: Evaluation) -> Mapping[str | None, MachineEffect]:
    """How each host's clocks depend on the machine's state, by what ran before the proof.

    Its runs change nothing of it, so that they are corrected by what was fixed before them. Where
    the confirmation measures another load, runs of that load alone count.
    """
    problem, history = evaluation.problem, evaluation.history
    until = next(iter(history.numbers(Purpose.PROVE)), history.next_number)
    state = (until, *(history.changes(each) for each in Purpose if each is not Purpose.PROVE))

    def learn() -> Mapping[str | None, MachineEffect]:
        before = [trial for trial in history if trial.done and trial.number < until]
        runs = [t for t in before if problem.confirm is None or apart(problem, t)]
        hosts = dict.fromkeys(trial.host for trial in runs)
        return {host: machine_effect([t for t in runs if t.host == host]) for host in hosts}

    return evaluation.once("machine", state, learn)


def proof_metrics(evaluation: Evaluation, trial: Trial) -> Mapping[str, float]:
    """A run of the proof as it is judged: clocks corrected by what ran before the proof."""
    effect = effects_before_proof(evaluation).get(trial.host)
    return effect.corrected(trial.metrics) if effect else trial.metrics


def declared_clocks(evaluation: Evaluation) -> dict[str, Any]:
    """What the declared test says of its clocks; nothing where they are raw."""
    effects = effects_before_proof(evaluation)
    if not any(effect.coefficients for effect in effects.values()):
        return {}
    by = "corrected for the machine's load by coefficients learned before"
    return {"clocks": by, "machine": machine_document(effects)}


def declared_test(objective: Objective, winner: int, plan: Plan) -> dict[str, Any]:
    """The one test that decides, written down before its runs are made, and why it is so long."""
    return {
        "winner": winner,
        "objective": objective.name,
        "statistic": "fitness at the geometric means of the pairs' ratios, winner over baseline",
        "test": "one-sample t over the pairs (delta method), one-sided: greater than 0",
        "alpha": ALPHA,
        "pairs": plan.pairs,
        "limits": [limit_words(limit) for limit in objective.limits],  # of the medians
        "planned": plan.detection.document() if plan.detection else None,
    }


def judge(
    objective: Objective, pairs: Sequence[Pair], *, planned: int, failed: int = 0
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

    Returns:
        None with fewer than two pairs. With fewer than ``LEAST_PAIRS``, where a run of the winner
            failed, or when the medians break a limit of the objective, nothing is confirmed.
    """
    pairs = with_fitness(objective, pairs)
    if len(pairs) < 2:
        return None
    baseline = medians([pair[0] for pair in pairs])
    winner = medians([pair[1] for pair in pairs])
    values = fitness_by_pair(objective, pairs)
    mean, half, two_sided = interval_of_mean(values)
    p = two_sided / 2 if mean > 0 else 1 - two_sided / 2
    limits = limits_kept(objective.limits, pairs, (baseline, winner))
    broken = [each for each in limits if not each.kept]
    enough = len(values) >= LEAST_PAIRS
    confirmed = enough and not broken and not failed and bool(p < ALPHA)
    why = (
        f"fitness over {len(values)} pairs {mean:.0f} [{mean - half:.0f}, {mean + half:.0f}], "
        f"one-sided {p_words(p)}, "
        f"{'below' if p < ALPHA else 'not below'} the declared {ALPHA:g}"
    )
    for each in broken:
        why += f"; the limit {kept_words(each.document())}"
    if failed:
        why += f"; {failed} of its fresh runs failed, where the baseline ended well"
    if not enough:
        why += f"; only {len(values)} of {planned} pairs ended well, {LEAST_PAIRS} are needed"
    return Verdict(
        confirmed=confirmed,
        fitness=objective.fitness(winner, baseline) or 0.0,
        low=mean - half,
        high=mean + half,
        p=p,
        pairs=len(values),
        baseline=baseline,
        winner=winner,
        changes={
            name: change([(b[name], w[name]) for b, w in pairs])
            for name in winner
            if name in baseline and name not in MACHINE
        },
        why=why,
        limits=limits,
    )


def fitness_by_pair(objective: Objective, pairs: Sequence[Pair]) -> NDArray[np.float64]:
    """One value for each pair that has every term, of which the t distribution is taken.

    Their mean is the fitness at the geometric means of the pairs' ratios, their scatter that of
    the fitness to first order (the delta method). Not the fitness of each pair: noise of 20% in a
    rate lifts the mean of its ratios by 4%, and with many pairs that would pass for a gain.
    """
    whole = with_fitness(objective, pairs)
    gains: dict[str, NDArray[np.float64]] = {}
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


def with_fitness(objective: Objective, pairs: Sequence[Pair]) -> list[Pair]:
    """Those of which both sides have every term: all figures of a verdict are of the same."""
    return [pair for pair in pairs if objective.fitness(pair[1], pair[0]) is not None]


def change(pairs: Sequence[tuple[float, float]]) -> Change:
    """The change from the first to the second of each pair, from the t distribution of log ratios.

    Where a value is not above 0 there is no ratio: then differences over the baseline's mean.
    There are at least two (baseline, winner) pairs.
    """
    differences, logarithmic = differences_of(pairs)
    mean, half, p = interval_of_mean(differences)
    percent, low, high = (_percent(each, logarithmic) for each in (mean, mean - half, mean + half))
    return Change(percent, low, high, p)


def _percent(difference: float, logarithmic: bool) -> float:
    return 100 * (math.expm1(min(difference, 700.0)) if logarithmic else difference)


def differences_of(pairs: Sequence[tuple[float, float]]) -> tuple[NDArray[np.float64], bool]:
    """What the t distribution is applied to: one difference for each (baseline, winner) pair.

    Logarithms of the ratios and True, or, where a value is not above 0, differences over the
    baseline's mean and False.
    """
    values = np.array(pairs, dtype=np.float64)
    if (values > 0).all():
        return np.log(values[:, 1]) - np.log(values[:, 0]), True
    level = abs(float(values[:, 0].mean())) or 1.0
    return (values[:, 1] - values[:, 0]) / level, False


def medians(runs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The median of each metric that every run has."""
    names = [name for name in runs[0] if all(name in run for run in runs)]
    return {name: float(np.median([run[name] for run in runs])) for name in names}


def interval_of_mean(values: NDArray[np.float64]) -> tuple[float, float, float]:
    """Mean, half of the 95% interval by Student's t, and two-sided p of a zero mean.

    There are at least two values.
    """
    # Without the checks of scipy.stats, which take most of a millisecond a call, in all digits.
    from scipy.special import stdtr, stdtrit

    mean, error = float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))
    if error <= 1e-12 * max(abs(mean), 1e-300):  # counters can be the same to the byte
        return mean, 0.0, 1.0 if mean == 0 else 0.0
    half = error * float(stdtrit(len(values) - 1, (1 + CONFIDENCE) / 2))
    return mean, half, float(2 * stdtr(len(values) - 1, -abs(mean) / error))


@dataclass(frozen=True)
class Sensitivity:
    """The sensitivity of the design, as it was carried out.

    This is not "observed power": that would put the change that was found into the formula, and
    say no more than the p-value does (J. Hoenig, D. Heisey, The American Statistician 55, 2001).
    The scatter of the pairs alone is used, not their mean.
    """

    level: float  # probability with which a change of these sizes passes the one-sided test
    pairs: int  # how many pairs gave a fitness
    # By metric, in percent, of a rise; a fall of as many percent is seen surer.
    smallest_change: Mapping[str, float]
    fitness: float  # the smallest fitness that passes with that probability


def sensitivity_of(objective: Objective, pairs: Sequence[Pair]) -> Sensitivity | None:
    """What these (baseline's metrics, winner's metrics) pairs could have shown.

    None with fewer than two pairs that have a fitness: their scatter is not known.
    """
    pairs = with_fitness(objective, pairs)
    if len(pairs) < 2:
        return None
    sides = [side for pair in pairs for side in pair]
    changes = {}
    for name in (name for name in sides[0] if all(name in side for side in sides)):
        differences, logarithmic = differences_of([(b[name], w[name]) for b, w in pairs])
        changes[name] = _percent(_smallest(differences), logarithmic)
    return Sensitivity(POWER, len(pairs), changes, _smallest(fitness_by_pair(objective, pairs)))


def _smallest(differences: NDArray[np.float64]) -> float:
    scatter = float(differences.std(ddof=1))
    # Counters can be the same to the byte; what is left is rounding.
    if scatter <= 1e-12 * max(abs(float(differences.mean())), 1e-300):
        return 0.0
    return smallest_mean(scatter, len(differences))
