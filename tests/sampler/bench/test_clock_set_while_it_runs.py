"""The machine's clock is set, or the machine sleeps, in the middle of a run."""

import pytest

from sampler.bench import process
from sampler.bench.outcome import TrialState, clock_problem
from tests.support.sampler.real_runs import Measure, ended


@pytest.mark.parametrize(
    ("by", "wrong"), [(0.0, False), (0.1, False), (-0.1, False), (-0.12, True), (3600, True)]
)
def test_a_clock_that_was_set_is_told(by: float, wrong: bool):
    said = clock_problem(ended(clock_set_by=by))
    assert (said is not None) is wrong
    if said:
        assert f"jumped by {by:+,.1f} s" in said


@pytest.mark.db_bench
@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize("by", [-3600.0, 3600.0])
def test_its_seconds_count_for_nothing_and_it_is_measured_again(
    by: float, times: int, measure: Measure, monkeypatch: pytest.MonkeyPatch
):
    real, runs = process._clocks, iter([*[0.0, by] * times, *[0.0] * 9])

    def clocks() -> tuple[float, float]:
        monotonic, wall = real()
        return monotonic, wall + next(runs)

    monkeypatch.setattr(process, "_clocks", clocks)
    outcome = measure({}, settle="flush").outcome
    if times < 3:
        assert outcome.state is TrialState.DONE
        return
    assert (outcome.state, outcome.metrics) == (TrialState.LOST, {})
    assert outcome.failure is not None and f"jumped by {by:+,.1f} s" in outcome.failure
