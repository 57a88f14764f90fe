import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.power import TTestPower

from optimizer.budget.power import (
    ALPHA,
    LEAST_PAIRS,
    MOST_PAIRS,
    POWER,
    pairs_for,
    smallest_change,
    smallest_mean,
)


class TestSmallestMean:
    @pytest.mark.parametrize("pairs", [2, 3, 8, 300])
    def test_agrees_with_statsmodels(self, pairs: int):
        found = smallest_mean(2.0, pairs)
        theirs = TTestPower().power(found / 2.0, pairs, ALPHA, alternative="larger")
        assert theirs == pytest.approx(POWER, abs=1e-5)


class TestSmallestChange:
    def test_of_runs_with_such_a_spread_is_seen_as_often_as_it_says(self):
        """From single runs of both sides, as they are measured."""
        spread, pairs = 0.07, 7
        ratio = 1 + smallest_change(spread, pairs)
        runs = np.exp(spread * np.random.default_rng(1).normal(size=(4000, pairs, 2)))
        logs = np.log(ratio * runs[..., 1] / runs[..., 0])
        seen = stats.ttest_1samp(logs, 0, axis=1, alternative="greater").pvalue < ALPHA
        low, high = stats.binom.interval(0.999, 4000, POWER)
        assert low <= seen.sum() <= high

    def test_is_nothing_without_noise(self):
        assert smallest_change(0.0, 3) == 0

    def test_beyond_all_measure_stays_a_number(self):
        assert math.isfinite(smallest_change(1e6, 2))


class TestPairs:
    @settings(max_examples=40, deadline=None)
    @given(st.floats(0.01, 1.0), st.floats(0.001, 0.3))
    def test_are_the_fewest_that_show_the_change(self, change: float, spread: float):
        pairs = pairs_for(change, spread)
        assert LEAST_PAIRS <= pairs <= MOST_PAIRS
        if pairs < MOST_PAIRS:
            assert smallest_change(spread, pairs) <= change
        if pairs > LEAST_PAIRS:
            assert smallest_change(spread, pairs - 1) > change

    def test_are_the_least_without_noise_and_the_most_in_nothing_but_noise(self):
        assert pairs_for(0.001, 0.0) == LEAST_PAIRS
        assert pairs_for(0.0001, 0.5) == MOST_PAIRS
