"""A job that is killed anywhere and goes on measures what it would have measured anyway."""

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizer.evaluation.evaluation import Evaluation
from optimizer.results.ranking import ParameterRanking
from optimizer.results.search import parameter_ranking
from optimizer.run import driver
from optimizer.trials.trial import Phase, Purpose
from sampler.bench.outcome import TrialState
from tests.support.optimizer.pretend_bench import (
    STRATEGY_KINDS,
    Job,
    PretendBench,
    configurations,
    job_of,
    problem_of,
)

pytestmark = pytest.mark.usefixtures("quick_ranking", "unranked")
TRIALS = 48


def bench(slope: float = 0.0) -> PretendBench:
    return PretendBench(
        noise=0.03,
        seed=4,
        fails=lambda trial: "no" if trial.number in (7, 20) else None,
        drift=lambda seconds: 1 + slope * seconds,
    )


@cache
def whole(strategy: str) -> Job:
    job = job_of(problem_of(strategy), TRIALS, bench())
    job.run()
    return job


def resumed(job: Job, length: int, *, running: bool, slope: float = 0.0) -> Job:
    again = Job(job.problem, job.budget, bench(slope), job.log.cut(length, running=running))
    again.run()
    return again


@pytest.mark.slow
@settings(max_examples=4, deadline=None)
@pytest.mark.parametrize("strategy", STRATEGY_KINDS)
@given(length=st.integers(1, TRIALS), running=st.booleans())
def test_goes_on_from_any_trial_as_if_nothing_had_happened(strategy, length, running):
    job = whole(strategy)
    again = resumed(job, length, running=running)
    assert configurations(again.log.trials()) == configurations(job.log.trials())
    assert [t.metrics for t in again.log.trials()] == [t.metrics for t in job.log.trials()]
    assert [t.point for t in again.log.trials()] == [t.point for t in job.log.trials()]


@pytest.mark.parametrize("strategy", STRATEGY_KINDS)
def test_the_conclusion_is_the_same(strategy: str):
    job = whole(strategy)
    again, finished = resumed(job, 30, running=True), resumed(job, TRIALS, running=False)
    assert again.bench.started and not finished.bench.started
    first, *others = [
        Job(job.problem, job.budget, bench(), one.log).run() for one in (job, again, finished)
    ]
    for other in others:
        assert (other.winner, other.verdict) == (first.winner, first.verdict)


def test_only_what_was_running_is_measured_again_with_a_new_attempt():
    job = whole("random")
    again = resumed(job, 20, running=True)
    assert [trial.number for trial, _ in again.bench.started] == list(range(20, TRIALS + 1))
    assert again.log.kept[20].attempt == 2
    assert {t.attempt for t in again.log.trials() if t.number != 20} == {1}


@pytest.mark.slow
def test_killed_as_the_last_draw_ended_it_keeps_what_was_learned_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
):
    kept: list[ParameterRanking] = []

    def learned(evaluation: Evaluation) -> ParameterRanking:
        kept.append(parameter_ranking(evaluation))
        return kept[-1]

    monkeypatch.setattr(driver, "parameter_ranking", learned)
    job = job_of(problem_of("guided"), 30, bench())
    job.run()
    before = kept.copy()
    assert len(before) == 2  # of the draws, and of all that was explored
    kept.clear()
    draws = max(t.number for t in job.log.trials() if t.phase is Phase.SAMPLE)
    resumed(job, draws, running=False)
    first, last = kept
    assert first.anova_power == before[0].anova_power  # of the same draws
    assert last == before[1]


def test_a_lost_trial_is_run_again_in_its_place():
    job = whole("lhs")
    log = job.log.cut(15)
    log.kept[9] = whole("lhs").log.cut(9, running=True).kept[9]
    again = Job(job.problem, job.budget, bench(), log)
    again.run()
    first, cutoff = again.bench.started[0]
    assert (first.number, first.attempt) == (9, 2)
    assert cutoff is not None  # a candidate is cut off the second time too
    assert configurations(again.log.trials()) == configurations(job.log.trials())


def test_a_trial_whose_host_dies_is_run_again_by_the_same_run():
    job = job_of(problem_of("random"), 24, PretendBench(lost={2, 8, 22}))
    job.run()
    assert [t.state for t in job.log.trials()] == [TrialState.DONE] * 24
    assert {t.number for t in job.log.trials() if t.attempt == 2} == {2, 8, 22}


def test_a_finished_job_measures_nothing_more():
    again = resumed(whole("genetic"), TRIALS, running=False)
    assert again.bench.started == []
    assert again.log.events == []


@pytest.mark.slow
@pytest.mark.usefixtures("unsimplified")
def test_a_machine_that_became_slower_is_doubted_once_and_not_again_after_a_restart():
    def slower() -> PretendBench:
        return PretendBench(noise=0.01, seed=4, drift=lambda seconds: 1 + 0.5 * (seconds > 400))

    def told(job: Job) -> list[tuple[int, str]]:
        return [(trial.number, trial.why) for trial in job.log.trials()]

    job = job_of(problem_of("random"), 120, slower())
    job.run()
    (doubted,) = [number for number, why in told(job) if why == "repeat: the last run differs"]
    for length, running in ((doubted - 1, False), (doubted, True), (doubted + 1, False)):
        again = Job(job.problem, job.budget, slower(), job.log.cut(length, running=running))
        again.run()
        assert told(again) == told(job)
        assert configurations(again.log.trials()) == configurations(job.log.trials())


@pytest.mark.slow
@pytest.mark.usefixtures("unsimplified")
def test_a_drifting_machine_does_not_change_what_is_searched_after_a_restart():
    """The ranking that the search goes by may not depend on when it was made."""
    slope = 3e-4
    job = job_of(problem_of("genetic", top=2, objective="rate"), 120, bench(slope))
    job.run()
    searched = [t.number for t in job.log.trials() if t.phase is Phase.SEARCH]
    baselines = [
        t.number
        for t in job.log.trials()
        if t.purpose is Purpose.BASELINE and t.number > searched[0]
    ]
    for length in (searched[2], baselines[0], baselines[-1]):
        again = resumed(job, length, running=False, slope=slope)
        assert configurations(again.log.trials()) == configurations(job.log.trials())
