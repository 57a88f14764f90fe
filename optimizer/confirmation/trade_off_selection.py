"""The best of what a job has measured by another preference than its own, without a new run.

A configuration is judged by the means of all its runs, clocks corrected for drift; those of the
choice and of the proof count where they measured the same load. Most have one run: the best of
many single runs is partly luck, so what is picked is explored, not proven. One that ever failed is
not picked, nor one that was given and needs more memory than the job may.
"""

from dataclasses import dataclass

from optimizer.budget.confirm_load import apart
from optimizer.confirmation.choice import may_win
from optimizer.evaluation.evaluation import Evaluation, by_configuration
from optimizer.objective.objective import Metrics, Objective
from sampler.common.errors import InputError
from sampler.workload.metric_units import result_names


@dataclass(frozen=True)
class TradeOff:
    """A configuration, by its first trial: means over its runs, and fitness by a preference."""

    trial: int
    runs: int
    metrics: Metrics
    fitness: float


@dataclass(frozen=True)
class TradeOffs:
    """What a preference chooses: the best, the fittest first."""

    judged: int  # how many configurations were measured
    keeping: int  # how many of them keep every limit
    best: tuple[TradeOff, ...]


def select_trade_offs(evaluation: Evaluation, objective: Objective, *, count: int) -> TradeOffs:
    """The few best of all measured configurations by a preference, the objective.

    At most ``count``; of equal ones those that were measured first.

    Raises:
        ValueError: No run of the baseline has ended well.
    """
    problem, history = evaluation.problem, evaluation.history
    baseline = evaluation.baseline
    ended = (t for t in history if t.has_outcome and not t.is_baseline and not apart(problem, t))
    whole = []
    for runs in by_configuration(ended):
        if all(run.done for run in runs) and may_win(problem, runs[0]):
            metrics = baseline.corrected_mean(runs)
            fitness = objective.fitness(metrics, baseline.metrics)
            if fitness is not None:  # no metric of the preference is missing
                whole.append(TradeOff(runs[0].number, len(runs), metrics, fitness))
    keeping = [each for each in whole if objective.admissible(each.metrics, baseline.metrics)]
    keeping.sort(key=lambda each: (-each.fitness, each.trial))
    return TradeOffs(len(whole), len(keeping), tuple(keeping[:count]))


def require_measured(objective: Objective, baseline: Metrics) -> None:
    """Refuses a preference for what the job has not measured.

    Raises:
        InputError: A metric is missing; the field is ``limit`` or ``metric``.
    """
    wanted = [("metric", term.metric) for term in objective.terms]
    wanted += [("limit", limit.metric) for limit in objective.limits]
    for field, metric in wanted:
        if metric not in baseline:
            raise InputError(field, unmeasured_words(metric, baseline))


def unmeasured_words(metric: str, known: Metrics) -> str:
    """What is wrong with a metric that is not known, and what is."""
    return f"the job has not measured {metric!r:.80}; it measured {result_names(known)}"
