"""A history of trials whose metrics are a known sum of effects, with a little noise."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from optimizer.trials.problem import Problem
from optimizer.trials.trial import History, Purpose
from sampler.space.space import Space
from sampler.space.space_file import space_from_document
from tests.support.optimizer.pretend_bench import problem_of, trial_of

# Logarithms at the far end of each option: of WAF by `much` and `some`, of the rate by `little`.
MUCH, SOME, LITTLE = -0.5, -0.2, 0.08
Truth = Callable[[Mapping[str, Any]], dict[str, float]]


def effects_space() -> Space:
    """Three options that matter, and four that do nothing."""
    numbers = [
        {"name": name, "type": "float", "low": 0.0, "high": 1.0, "default": 0.0}
        for name in ("much", "some", "idle", "lazy", "inert")
    ]
    choices = {"name": "little", "type": "cat", "choices": ["off", "on"]}
    dull = {"name": "dull", "type": "bool", "default": False}
    return space_from_document({"name": "effects", "parameter": [*numbers, choices, dull]})


def additive(configuration: Mapping[str, Any]) -> dict[str, float]:
    """Without noise."""
    waf = MUCH * configuration["much"] + SOME * configuration["some"]
    rate = LITTLE * (configuration["little"] == "on")
    return {"waf": 3 * np.exp(waf), "sa": 1.2, "time": 10.0, "rate": 1e5 * np.exp(rate)}


def problem(space: Space | None = None, **more: Any) -> Problem:
    return problem_of("random", space=space or effects_space(), **more)


def history_of(asked: Problem, truth: Truth, *, draws: int = 80, noise: float = 0.01) -> History:
    """The baseline and random draws, measured."""
    rng = np.random.default_rng(5)

    def measured(configuration: Mapping[str, Any]) -> dict[str, float]:
        return {
            k: v * float(np.exp(noise * rng.normal())) for k, v in truth(configuration).items()
        }

    start = asked.space.default_configuration()
    trials = [
        trial_of(n, measured(start), configuration=start, purpose=Purpose.BASELINE)
        for n in (1, 2, 3)
    ]
    for number in range(4, 4 + draws):
        point = {name: float(rng.random()) for name in asked.space.names}
        configuration = asked.configuration(point)
        trial = trial_of(number, measured(configuration), configuration=configuration)
        trials.append(replace(trial, point=point))
    return History(trials)


def fitness(truth: Truth, asked: Problem, configuration: Mapping[str, Any]) -> float:
    start = asked.space.default_configuration()
    found = asked.objective.fitness(truth(configuration), truth(start))
    assert found is not None
    return found
