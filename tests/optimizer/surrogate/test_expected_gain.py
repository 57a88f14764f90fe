"""Composite expected improvement: the fitness of drawn metrics, limits included."""

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from optimizer.objective.objective import Limit, Objective, Term
from optimizer.surrogate.predictions import (
    PosteriorPrediction,
    chance_to_keep,
    drawn_metrics,
    expected_gain,
    likely_metrics,
    posterior_prediction,
)
from tests.support.optimizer.pretend_bench import problem_of

BASELINE = {"waf": 4.0, "rate": 100.0}
TWO = Objective("two", (Term("waf", "min"), Term("rate", "max", weight=0.5)))
WAF = Objective("waf", (Term("waf", "min"),))
positive = st.floats(0.1, 1000)


def certain(**values: float) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    return {name: (np.array([math.log(v)]), np.zeros(1)) for name, v in values.items()}


def gain(
    objective: Objective,
    prediction: dict[str, tuple[np.ndarray, np.ndarray]],
    best: float | None = 0.0,
) -> list[float]:
    return expected_gain(objective, prediction, frozenset(prediction), BASELINE, best).tolist()


@given(positive, positive, st.floats(-500, 500))
def test_what_is_certain_gains_just_what_it_is_better(waf: float, rate: float, best: float):
    fitness = TWO.fitness({"waf": waf, "rate": rate}, BASELINE)
    assert fitness is not None
    (found,) = gain(TWO, certain(waf=waf, rate=rate), best)
    assert found == pytest.approx(max(0.0, fitness - best), rel=1e-6, abs=1e-6)


def test_doubt_is_worth_something():
    prediction = {"waf": (np.log(np.full(3, 4.0)), np.array([0.0, 0.1, 0.3]))}
    none, little, much = gain(WAF, prediction)
    assert none == pytest.approx(0.0)
    assert 0 < little < much


def test_of_one_metric_on_a_plain_scale_it_is_the_textbooks():
    """Jones, Schonlau and Welch 1998, Eq. 15: s (z Phi(z) + phi(z))."""
    mean, deviation, best = 3.9, 0.5, 50.0
    found = expected_gain(
        WAF, {"waf": (np.array([mean]), np.array([deviation]))}, frozenset(), BASELINE, best
    )
    fitness, spread = 1000 * (4.0 - mean) / 4.0, 1000 * deviation / 4.0
    z = (fitness - best) / spread
    assert found[0] == pytest.approx(spread * (z * norm.cdf(z) + norm.pdf(z)), rel=0.03)


class TestLimits:
    objective = Objective("limited", WAF.terms, (Limit("rate", at_least_baseline=0.95),))

    def test_what_breaks_one_for_certain_gains_nothing(self):
        assert gain(self.objective, certain(waf=2.0, rate=94.0)) == [0.0]
        assert gain(self.objective, certain(waf=2.0, rate=96.0))[0] == pytest.approx(500.0)

    def test_the_likelier_one_is_kept_the_more_it_gains(self):
        rates = np.log([90.0, 95.0, 110.0])
        prediction = {
            "waf": (np.log(np.full(3, 2.0)), np.zeros(3)),
            "rate": (rates, np.full(3, 0.05)),
        }
        found = gain(self.objective, prediction)
        assert found == sorted(found)
        assert found[1] == pytest.approx(250.0, abs=20)  # half of the draws

    def test_far_from_all_of_them_it_still_says_which_way_it_grows(self):
        rates = np.log([20.0, 30.0, 40.0])
        prediction = {
            "waf": (np.log(np.full(3, 8.0)), np.zeros(3)),
            "rate": (rates, np.full(3, 0.2)),
        }
        found = gain(self.objective, prediction, None)
        assert 0 < found[0] < found[1] < found[2] < 0.001

    @given(st.floats(1, 9), st.floats(0.01, 1), st.floats(50, 200), st.floats(0.01, 1))
    def test_it_is_what_many_draws_would_count(self, waf, spread, rate, other):
        limits = (Limit("rate", at_least=95.0, at_most=150.0), Limit("waf", at_most_baseline=0.9))
        objective = Objective("limited", WAF.terms, limits)
        prediction = {
            "waf": (np.array([waf]), np.array([spread])),
            "rate": (np.log([rate]), np.array([other])),
        }
        rng = np.random.default_rng(1)
        drawn = {
            "waf": waf + spread * rng.standard_normal((20_000, 1)),
            "rate": rate * np.exp(other * rng.standard_normal((20_000, 1))),
        }
        counted = objective.kept_limits(drawn, BASELINE).all(axis=0).mean()
        (found,) = chance_to_keep(objective, prediction, frozenset({"rate"}), BASELINE)
        assert found == pytest.approx(counted, abs=0.02)
        # While nothing keeps them that is what is gained.
        assert expected_gain(objective, prediction, frozenset({"rate"}), BASELINE, None) == found

    def test_what_may_well_break_one_is_worth_nothing(self):
        """Half of what stands just at a limit would break it when it is measured again."""
        prediction = {
            "waf": (np.log([2.0, 2.2, 2.4]), np.zeros(3)),
            "rate": (np.log([95.0, 98.0, 105.0]), np.full(3, 0.05)),
        }
        surrogate: Any = SimpleNamespace(
            predict=lambda _points: prediction,
            data=SimpleNamespace(logarithmic=frozenset(prediction)),
        )
        problem = replace(problem_of("guided"), objective=self.objective)
        held = posterior_prediction(problem, surrogate, np.zeros((3, 1)), BASELINE)
        assert held.feasible_fitness == pytest.approx([-math.inf, -math.inf, 400.0])
        assert held.best_first().tolist() == [2, 1, 0]

    def test_while_nothing_keeps_them_the_nearest_is_the_best(self):
        held = PosteriorPrediction(
            fitness=np.array([9.0, 1.0, 5.0]), chance=np.array([0.0, 0.3, 0.1])
        )
        assert held.best_first().tolist() == [1, 2, 0]

    def test_are_judged_row_by_row(self):
        metrics = {"rate": np.array([[94.0, 96.0]])}
        assert self.objective.kept_limits(metrics, BASELINE).tolist() == [[[False, True]]]


def test_draws_are_spread_as_the_model_says():
    prediction = {"waf": (np.array([1.0]), np.array([0.5])), "rate": (np.zeros(1), np.ones(1))}
    drawn = drawn_metrics(prediction, frozenset({"rate"}))
    assert np.mean(drawn["waf"]) == pytest.approx(1.0, abs=0.02)
    assert np.std(drawn["waf"]) == pytest.approx(0.5, rel=0.05)
    assert np.median(drawn["rate"]) == pytest.approx(1.0, rel=0.05)
    assert abs(np.corrcoef(drawn["waf"][:, 0], np.log(drawn["rate"][:, 0]))[0, 1]) < 0.1
    likely = likely_metrics(prediction, frozenset({"rate"}))
    assert (likely["waf"].tolist(), likely["rate"].tolist()) == ([[1.0]], [[1.0]])
