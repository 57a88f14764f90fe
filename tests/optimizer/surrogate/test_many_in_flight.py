"""However many suggestions are out, what models are told of them stays small."""

from __future__ import annotations

import numpy as np
import pytest

from optimizer.evaluation.evaluation import Evaluation
from optimizer.strategies.strategy import axes_of, observations_of
from optimizer.surrogate.job_model import surrogate_of
from optimizer.trials.trial import MOST_IN_FLIGHT, History
from sampler.bench.outcome import TrialState
from tests.support.optimizer.known_effects import additive, history_of, problem
from tests.support.optimizer.pretend_bench import trial_of

DRAWS = 40


def asked_for(count: int) -> Evaluation:
    """Some draws have ended, and so many more suggestions are out."""
    asked = problem()
    history = History(history_of(asked, additive, draws=DRAWS))
    rng = np.random.default_rng(8)
    for number in range(history.next_number, history.next_number + count):
        point = {name: float(rng.random()) for name in asked.space.names}
        configuration = asked.configuration(point)
        out = trial_of(number, configuration=configuration, state=TrialState.RUNNING, point=point)
        history.put(out)
    return Evaluation(asked, history)


@pytest.mark.parametrize("count", [0, 3, MOST_IN_FLIGHT, 1000])
def test_a_model_has_a_row_for_each_of_the_newest(count: int):
    evaluation = asked_for(count)
    names = evaluation.problem.searched
    surrogate = surrogate_of(evaluation, names)
    rows = 1 + DRAWS + min(count, MOST_IN_FLIGHT)
    assert len(surrogate.data.points) == rows
    assert all(len(each.known.rows) <= rows for each in surrogate.metrics.values())
    if count:
        newest = evaluation.history.unfinished()[-1]
        np.testing.assert_array_equal(
            surrogate.data.points[-1], [newest.point[name] for name in names]
        )


@pytest.mark.parametrize("count", [3, 1000])
def test_the_other_searches_are_told_of_no_more(count: int):
    evaluation = asked_for(count)
    observations = observations_of(evaluation, axes_of(evaluation.problem))
    assert len(observations.running) == min(count, MOST_IN_FLIGHT)
    newest = evaluation.history.unfinished()[-1].point
    assert newest is not None and observations.running[-1] == dict(newest)
