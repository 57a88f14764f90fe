"""Which of a host's trials are taken back: those since the last run of its baseline in line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer.evaluation.evaluation import Evaluation
from optimizer.evaluation.host_outliers import host_outlier, measured_since
from optimizer.objective.objective import Objective, Term
from optimizer.trials.trial import History, Purpose, Trial
from tests.support.optimizer.pretend_bench import problem_of, trial_of

STALLS = Objective("stalls", (Term("stall_percent", "min"),))
QUIET = ({"stall_percent": 0.0}, {})  # nothing stalled, or the runner told nothing


def runs_of(stalls: list[float | None]) -> list[Trial]:
    """Each run of the baseline is followed by a trial; None: a run that did not stall."""
    found = []
    for place, each in enumerate(stalls):
        metrics = QUIET[place % 2] if each is None else {"stall_percent": each}
        baseline = 2 * place + 1
        found.append(trial_of(baseline, metrics, purpose=Purpose.BASELINE, host="a"))
        found.append(trial_of(baseline + 1, {"stall_percent": 1.0}, host="a"))
    return found


@given(
    before=st.lists(st.sampled_from([2.0, 2.01, 1.99, None]), min_size=3, max_size=12),
    between=st.integers(0, 3),
    ends=st.integers(0, 3),
)
def test_a_jump_takes_back_what_came_after_the_last_run_before_it(
    before: list[float | None], between: int, ends: int
):
    """However often the metric is 0, which has no logarithm."""
    stalls = [2.0, 2.01, 1.99, *before, 6.0, *[None] * between, 6.01, *[None] * ends]
    evaluation = Evaluation(problem_of(objective=STALLS), History(runs_of(stalls)))
    found = host_outlier(evaluation, "a")
    assert found is not None and "jumped" in found.why
    last_in_line = max(place for place, each in enumerate(stalls) if each and each < 3)
    assert found.since == 2 * last_in_line + 1
    taken_back = [trial.number for trial in measured_since(evaluation.history, "a", found.since)]
    assert taken_back == list(range(2 * last_in_line + 2, 2 * len(stalls) + 1, 2))


@pytest.mark.parametrize("stalls", [[None] * 6, [2.0] * 6, [2.0, None] * 4])
def test_a_metric_that_is_0_at_times_is_no_jump(stalls: list[float | None]):
    evaluation = Evaluation(problem_of(objective=STALLS), History(runs_of(stalls)))
    assert host_outlier(evaluation, "a") is None
