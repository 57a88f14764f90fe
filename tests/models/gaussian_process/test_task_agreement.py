"""How far earlier tasks agree, learned from their values and the present task's."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.gaussian_process.process import (
    FIRST_GUESS,
    NOTHING,
    Tasks,
    VarianceComponents,
    covariance,
    first_agreement,
    fit_process,
    kernel_matrices,
    learn_agreement,
    standardised,
)
from models.gaussian_process.variance_components import learn_components
from tests.support.models.planted import ranges

SHARES = VarianceComponents(np.array([1.0, 0.5, 0.0, 0.0]), pairs=0.5, level=0.5, noise=0.02)


def truth(points):
    return 2 * points[:, 0] - np.sin(4 * points[:, 1])


def two_tasks(earlier, *, own=12, before=60, seed=0):
    rng = np.random.default_rng(seed)
    points = rng.random((own + before, 4))
    values = np.concatenate([truth(points[:own]), earlier(points[own:])])
    return points, values + 0.05 * rng.standard_normal(len(values))


def agreement_with(earlier, **more):
    points, values = two_tasks(earlier, **more)
    of = np.repeat([0, 1], [len(points) - 60, 60])
    known = covariance(kernel_matrices(ranges(points), ranges(points)), SHARES)
    scaled, _, _ = standardised(values)
    return learn_agreement(known, SHARES.noise, scaled, Tasks(of, first_agreement(1)))[1]


def test_the_same_truth_agrees_and_another_does_not():
    assert agreement_with(truth) > 0.9
    assert agreement_with(lambda points: -truth(points)) < NOTHING
    assert agreement_with(lambda points: 2 * np.cos(5 * points[:, 2])) < 0.4


def test_nothing_is_learned_before_the_present_task_has_values():
    assert agreement_with(truth, own=0) == FIRST_GUESS


def test_an_earlier_task_that_agrees_makes_predictions_better():
    points, values = two_tasks(truth, own=6)
    new = np.random.default_rng(5).random((40, 4))
    kernels = kernel_matrices(ranges(points), ranges(points))
    cross = covariance(kernel_matrices(ranges(new), ranges(points)), SHARES)
    known, of = covariance(kernels, SHARES), np.repeat([0, 1], [6, 60])
    errors, doubts = [], []
    for agreement in (0.0, 0.95):
        tasks = Tasks(of, np.array([1.0, agreement]))
        process = fit_process(known * tasks.among(), values, SHARES, tasks.noise())
        mean, deviation = process.predict(cross * tasks.with_present())
        errors.append(np.abs(mean - truth(new)).mean())
        doubts.append(deviation.mean())
    assert errors[1] < 0.7 * errors[0]
    assert doubts[1] < doubts[0]


def test_shares_of_one_task_are_those_without_tasks():
    points, values = two_tasks(truth, own=30, before=0)
    kernels = kernel_matrices(ranges(points), ranges(points))
    scaled, _, _ = standardised(values)
    alone = learn_components(kernels, scaled)
    tasks = Tasks(np.zeros(30, dtype=np.int64), first_agreement(0))
    same = learn_components(kernels, scaled, tasks=tasks)
    assert same.parameters == pytest.approx(alone.parameters, rel=1e-4, abs=1e-7)
    assert same.noise == pytest.approx(alone.noise, rel=1e-4)


@settings(max_examples=50)
@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=20),
    st.lists(st.floats(0, 1), min_size=3, max_size=3),
)
def test_it_is_a_covariance(of, agreement):
    tasks = Tasks(np.array(of), np.array([1.0, *agreement]))
    among = tasks.among()
    assert np.allclose(among, among.T)
    assert np.allclose(np.diag(among), 1.0)
    assert np.linalg.eigvalsh(among).min() > -1e-9
