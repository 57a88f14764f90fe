"""Several measurements of one configuration count as one: by their mean, under the first's number.

A strategy may measure again what it doubts, and a user may give the same configuration twice.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from optimizer.baseline.baseline import mean_metrics
from optimizer.evaluation.evaluation import Evaluation
from optimizer.trials.trial import Purpose, Trial


@dataclass(frozen=True)
class MeasuredConfiguration:
    """A new configuration, and all that was measured of it."""

    first: Trial  # the trial that first measured it whole
    runs: int
    metrics: Mapping[str, float]  # means over the runs, clocks corrected for drift
    fitness: float  # ``Objective.rank_value`` of these


def configurations_of(
    evaluation: Evaluation, trials: Iterable[Trial]
) -> list[MeasuredConfiguration]:
    """Each configuration once, those left out that ever ended without a whole measurement.

    Trials are new configurations; those in flight are passed over. The baseline is known.
    """
    problem = evaluation.problem
    baseline = evaluation.baseline
    ended = by_configuration(trial for trial in trials if trial.has_outcome)
    whole = [runs for runs in ended if all(run.done for run in runs)]
    firsts = [runs[0] for runs in whole]
    found = []
    for runs, worth in zip(whole, evaluation.rank_values(firsts), strict=True):
        metrics = baseline.corrected_mean(runs)
        of_mean = len(runs) > 1
        fitness = problem.objective.rank_value(metrics, baseline.metrics) if of_mean else worth
        found.append(MeasuredConfiguration(runs[0], len(runs), metrics, fitness))
    return found


def by_configuration(trials: Iterable[Trial]) -> list[list[Trial]]:
    """The trials of each configuration, in the order of proposal."""
    found: dict[str, list[Trial]] = {}
    for trial in trials:
        found.setdefault(trial.digest, []).append(trial)
    return list(found.values())


def each_once(
    trials: Sequence[Trial], fitness: Mapping[int, float]
) -> tuple[list[Trial], dict[int, float]]:
    """Trials, and their fitness by number, with every new configuration once, by its mean.

    Whole measurements alone count; where there is none, all of its trials stay as they are.
    """
    candidates = [t for t in trials if t.purpose is Purpose.CANDIDATE and t.done]
    merged: dict[int, Trial] = {}
    values, dropped = dict(fitness), set[int]()
    for runs in by_configuration(candidates):
        if len(runs) == 1:
            continue
        first, *others = (run.number for run in runs)
        merged[first] = replace(runs[0], metrics=mean_metrics([run.metrics for run in runs]))
        known = [values[run.number] for run in runs if run.number in values]
        if known:
            values[first] = sum(known) / len(known)
        dropped.update(others)
    kept = [merged.get(trial.number, trial) for trial in trials if trial.number not in dropped]
    return kept, {number: value for number, value in values.items() if number not in dropped}


def replicated(trials: Iterable[Trial]) -> list[Trial]:
    """The new configurations' trials that measured what was measured before."""
    return [t for t in trials if t.purpose is Purpose.CANDIDATE and t.subject is not None]
