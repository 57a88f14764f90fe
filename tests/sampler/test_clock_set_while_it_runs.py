"""The machine's clock is set, or the machine sleeps, in the middle of a run."""

import pytest
from real_runs import Measure

from sampler import process
from sampler.outcome import TrialState
from sampler.process import Ended, Ending
from sampler.run_ending import clock_problem


def ran(wall_seconds: float, clock_set_by: float) -> Ended:
    return Ended(
        ending=Ending.EXIT, status=0, wall_seconds=wall_seconds, cpu_seconds=1.0, peak_rss=1,
        device_bytes=0, clock_set_by=clock_set_by,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("wall", "by", "wrong"),
    [(10, 0.0, False), (10, 0.1, False), (10, -0.12, True), (10, 3600, True),
     (3600, 1.8, False), (3600, -1.8, False), (3600, 4.0, True)],
)  # fmt: skip
def test_a_clock_that_is_slewed_is_trusted_and_one_that_is_set_is_not(
    wall: float, by: float, wrong: bool
):
    said = clock_problem(ran(wall, by))
    assert (said is not None) is wrong
    if said:
        assert f"set by {by:+,.1f} s" in said


@pytest.mark.db_bench
@pytest.mark.parametrize("by", [-3600.0, 3600.0])
def test_its_seconds_count_for_nothing_and_it_is_measured_again(
    by: float, measure: Measure, monkeypatch: pytest.MonkeyPatch
):
    real, seen = process._clocks, []

    def clocks() -> tuple[float, float]:
        monotonic, wall = real()
        seen.append(wall)
        return monotonic, wall + (by if len(seen) > 1 else 0.0)

    monkeypatch.setattr(process, "_clocks", clocks)
    outcome = measure({}, settle="flush").outcome
    assert len(seen) == 2
    assert (outcome.state, outcome.metrics) == (TrialState.LOST, {})
    assert outcome.failure is not None and f"set by {by:+,.1f} s" in outcome.failure
    monkeypatch.setattr(process, "_clocks", real)
    assert measure({}, settle="flush").outcome.state is TrialState.DONE
