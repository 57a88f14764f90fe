"""A test function by a formula, which costs nothing to ask."""

from dataclasses import dataclass

import numpy as np

from sampler.space.space_file import space_from_document
from studies.search.function import Noise, TestFunction
from studies.search.recorded import plain_problem
from studies.tests.learned.known_truth import SPACE, truth

METRICS = ("waf", "sa", "time", "rate")


@dataclass(frozen=True)
class Formula:
    """Stands in for a learned truth."""

    def logarithms(self, configurations):
        found = [truth(configuration) for configuration in configurations]
        return {m: np.log([each[m] for each in found]) for m in METRICS}

    def metrics(self, configuration):
        return truth(configuration)


def toy(noise=0.03):
    """Twelve parameters of which six matter."""
    rows = noise * np.random.default_rng(3).standard_normal((200, len(METRICS)))
    problem = plain_problem(space_from_document(SPACE))
    return TestFunction("toy/formula", "abc", problem, Formula(), Noise(METRICS, rows))
