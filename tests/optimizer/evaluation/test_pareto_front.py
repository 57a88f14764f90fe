"""The hypervolume of a front: what it is, and that it only grows."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizer.evaluation.baseline import summarise
from optimizer.evaluation.evaluation import (
    front_of,
    hypervolume,
    hypervolume_growth,
)
from optimizer.objective.objective import Limit, Objective, Term, pareto_front
from optimizer.trials.trial import Purpose
from sampler.bench.outcome import TrialState
from tests.support.optimizer.pretend_bench import trial_of

GAIN = st.floats(-1.5, 3.0).map(lambda value: round(value, 3))
POINTS = st.integers(1, 4).flatmap(
    lambda metrics: st.lists(st.tuples(*[GAIN] * metrics), min_size=1, max_size=12)
)
PAIRS = st.lists(st.tuples(GAIN, GAIN), min_size=1, max_size=12)
TWO = Objective("two", (Term("waf", "min"), Term("rate", "max")))


def volume(points: list[tuple[float, ...]]) -> float:
    grown = hypervolume_growth(dict(enumerate(points)))
    return grown[-1][1] if grown else 0.0


@settings(deadline=None)
@given(PAIRS)
def test_in_two_metrics_it_is_the_area_below_the_stairs(points: list[tuple[float, float]]):
    """Cell by cell: every cell whose upper corner some point reaches."""
    across = sorted({-1.0, *(x for x, _ in points if x > -1)})
    up = sorted({-1.0, *(y for _, y in points if y > -1)})
    area = sum(
        (across[i + 1] - across[i]) * (up[j + 1] - up[j])
        for i in range(len(across) - 1)
        for j in range(len(up) - 1)
        if any(x >= across[i + 1] and y >= up[j + 1] for x, y in points)
    )
    assert hypervolume(np.array(points)) == pytest.approx(area, abs=1e-9)
    assert volume(points) == pytest.approx(area, abs=1e-9)


@settings(deadline=None)
@given(POINTS)
def test_it_only_grows_and_by_what_enlarges_it(points: list[tuple[float, ...]]):
    grown = hypervolume_growth(dict(enumerate(points, start=5)))
    values = [0.0, *(value for _, value in grown)]
    assert all(after > before - 1e-9 for before, after in pairwise(values))
    for number, value in grown:
        so_far = np.array(points[: number - 4])
        assert hypervolume(so_far) == pytest.approx(value, rel=1e-9)
    assert hypervolume(np.array(points)) == pytest.approx(values[-1], rel=1e-9)


@settings(deadline=None)
@given(POINTS)
def test_what_others_beat_adds_nothing(points: list[tuple[float, ...]]):
    names = [f"m{place}" for place in range(len(points[0]))]
    rows = {n: dict(zip(names, point, strict=True)) for n, point in enumerate(points)}
    front = pareto_front(rows, tuple(Term(name, "max") for name in names))
    assert volume([points[n] for n in front]) == pytest.approx(volume(points), rel=1e-9)


def test_the_baseline_alone_is_one_whatever_is_measured():
    assert [hypervolume(np.zeros((1, metrics))) for metrics in (1, 2, 4)] == [1, 1, 1]
    assert hypervolume(np.array([[-1.0, 9.0]])) == 0


class TestOfAJob:
    BASELINES = tuple(
        trial_of(n, {"waf": 2.0, "rate": 100.0}, purpose=Purpose.BASELINE) for n in (1, 2)
    )
    MEASURED = (
        trial_of(3, {"waf": 1.0, "rate": 100.0}),  # gains 0.5 and 0
        trial_of(4, {"waf": 1.5, "rate": 50.0}),  # beaten
        trial_of(5, {"waf": 3.0, "rate": 300.0}),  # gains -0.5 and 2
        trial_of(6, {"waf": 0.1}, state=TrialState.CENSORED),
        trial_of(7, {"waf": 0.2, "rate": 1.0}, purpose=Purpose.PROVE, subject=3),
    )

    def front(self, objective: Objective = TWO):
        baseline = summarise(self.BASELINES)
        return front_of(objective, baseline, (*self.BASELINES, *self.MEASURED))

    def test_candidates_that_were_measured_whole_make_it(self):
        assert self.front().numbers == (3, 5)
        assert self.front().growth == ((3, 1.5), (5, 1.5 + 0.5 * 2.0))
        assert self.front().document()[0] == {"trial": 3, "value": 1.5}

    def test_what_breaks_a_limit_does_not_count(self):
        limited = replace(TWO, limits=(Limit("waf", at_most_baseline=1.2),))
        assert self.front(limited).numbers == (3,)
        assert self.front(limited).growth == ((3, 1.5),)
        unmeasured = replace(TWO, limits=(Limit("read_p99", at_most=1.0),))
        assert self.front(unmeasured).numbers == self.front(unmeasured).growth == ()
