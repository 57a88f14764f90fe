"""What is taken along of an earlier job: its trials, seen from the present job's space."""

import math
import random
from collections.abc import Mapping
from dataclasses import replace

from optimizer.evaluation.evaluation import Evaluation
from optimizer.trials.history import History
from optimizer.trials.problem import PriorJob, PriorTrial, Problem
from optimizer.trials.trial import Purpose, Trial
from sampler.space.latent import encode
from sampler.space.space import Configuration

MOST = 120  # trials of all earlier jobs together


def prior_job(
    problem: Problem, earlier: Problem, history: History, *, job: int, most: int = MOST
) -> PriorJob:
    """What an earlier job measured of what the present one asks for: at most so many trials.

    The baseline comes first, then in turn one of the best and one of the others, so that any first
    few of them tell both of good places and of all others. A trial's worth is by the present
    objective. What the present space does not move is left out, and what the earlier one did not
    is as it was there. Trials that this job could not propose, by their memory or a choice that it
    lacks, are left out.

    Raises:
        ValueError: No run of its baseline ended well.
    """
    baseline = Evaluation(earlier, history).baseline
    metrics = [name for name in problem.objective.metrics if baseline.metrics.get(name, 0) > 0]

    def ratios(trial: Trial) -> Mapping[str, float]:
        values = baseline.corrected_trial(trial)
        return {
            name: math.log(values[name] / baseline.metrics[name])
            for name in metrics
            if values.get(name, 0) > 0
        }

    def here(configuration: Configuration) -> Configuration:
        values = earlier.space.complete(configuration)
        return {name: values[name] for name in problem.space.names if name in values}

    def taken(configuration: Configuration, found: Mapping[str, float]) -> PriorTrial:
        return PriorTrial(encode(problem.space, here(configuration), memory=problem.memory), found)

    # Its baseline is the earlier job's, which may have been confirmed at another load.
    judged = replace(earlier, objective=problem.objective)
    ended = Evaluation(judged, history).comparable(history.of(Purpose.CANDIDATE))
    known = [pair for pair in ended if _possible(problem, here(pair[1].features))]
    kept = [trial for _, trial in _in_turn(known, seed=job)]
    shown = [(trial, found) for trial in kept if (found := ratios(trial))]
    start = taken(earlier.space.default_configuration(), dict.fromkeys(metrics, 0.0))
    first = [taken(trial.features, found) for trial, found in shown[: most - 1]]
    return PriorJob(job, earlier.workload.name, (start, *first), len(shown))


def _possible(problem: Problem, values: Configuration) -> bool:
    """Whether the present job could propose it, but for the ends of ranges."""
    chosen = all(
        parameter.is_numeric or values.get(parameter.name) in (None, *parameter.values)
        for parameter in problem.space.parameters
    )
    return chosen and problem.affords({**problem.space.start, **values})


def _in_turn(known: list[tuple[float, Trial]], *, seed: int) -> list[tuple[float, Trial]]:
    best = sorted(known, key=lambda pair: (-pair[0], pair[1].number))
    others = random.Random(seed).sample(known, len(known))
    both = [pair for two in zip(best, others, strict=True) for pair in two]
    return list({trial.number: (value, trial) for value, trial in both}.values())
