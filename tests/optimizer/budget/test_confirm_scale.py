"""A confirmation at a larger scale: what decides there, and how long it is said to take."""

from dataclasses import replace
from functools import cache

import pytest

from optimizer.budget.budget import Plan, confirming_seconds, divide
from optimizer.results.result import Conclusion, fitness_by_trial, job_result
from optimizer.run.planning import Budget, ProgressTracker, plan_of
from optimizer.trials.problem import Problem
from optimizer.trials.trial import History, Phase, Purpose
from tests.support.optimizer.pretend_bench import Job, bowl, flat, job_of, problem_of, trial_of
from tests.support.optimizer.two_loads import LARGER, TwoLoads

pytestmark = pytest.mark.usefixtures("quick_ranking", "unranked")


def two_loads(strategy: str = "sobol") -> Problem:
    return replace(problem_of(strategy), confirm=LARGER)


@cache
def concluded(larger, trials: int = 60) -> tuple[Job, Conclusion]:
    bench = TwoLoads()
    bench.larger = larger
    job = job_of(two_loads(), trials, bench)
    return job, job.run()


def document(conclusion: Conclusion):
    return job_result(conclusion, job={}, environment={}).document()


@pytest.mark.slow
def test_a_gain_that_is_not_there_at_the_larger_scale_is_not_proved():
    _, same = concluded(bowl)
    assert same.verdict is not None
    assert same.verdict.confirmed
    _, gone = concluded(flat)
    assert gone.verdict is not None
    assert not gone.verdict.confirmed
    assert document(gone)["best"] is None


def test_the_larger_scale_chooses_the_winner():
    def upside_down(configuration):
        good = bowl(configuration)
        return good | {"waf": 9 / good["waf"], "time": 100 / good["time"]}

    job, conclusion = concluded(upside_down)
    select = [t for t in job.log.trials() if t.purpose is Purpose.SELECT and not t.is_baseline]
    best = min(select, key=lambda trial: trial.metrics["waf"])
    assert conclusion.winner == best.subject


def test_without_a_baseline_there_nothing_wins():
    bench = TwoLoads(fails=lambda t: "no" if t.is_baseline and t.phase is Phase.CONFIRM else None)
    conclusion = job_of(two_loads(), 60, bench).run()
    assert (conclusion.winner, conclusion.verdict) == (None, None)


@pytest.mark.slow
def test_figures_of_the_two_loads_are_never_mixed():
    job, conclusion = concluded(bowl)
    result = document(conclusion)
    assert result["baseline"]["metrics"]["time"] == pytest.approx(8 * bowl(baseline(job))["time"])
    assert result["baseline"]["noise"]["time"]["spread"] == pytest.approx(0, abs=1e-9)
    assert result["confirmation"] == {
        "scale": 8, "num": 800_000, "search_scale": 64, "search_num": 100_000,
    }  # fmt: skip
    fitness = fitness_by_trial(conclusion)
    again = {t.number: t.subject for t in job.log.trials() if t.purpose is Purpose.SELECT}
    for number, subject in again.items():
        assert fitness[number] == pytest.approx(fitness.get(subject, 0.0), abs=1e-6)


def baseline(job: Job):
    return job.problem.space.default_configuration()


def test_the_declared_test_and_the_phase_say_where():
    job, _ = concluded(bowl)
    assert job.log.documents["declared_test"]["measured"] == "at scale 8 (800,000 keys)"


def test_time_left_counts_the_larger_runs():
    problem = two_loads()
    first = trial_of(1, {"time": 10.0}, purpose=Purpose.BASELINE, bench_seconds=12.0)
    history = History([first])
    assert confirming_seconds(problem, history) == 82
    board = ProgressTracker(problem, history)
    assert board.progress(11, confirming=4).seconds_left == 6 * 12 + 4 * 82
    proved = trial_of(2, {"time": 60.0}, purpose=Purpose.PROVE, phase=Phase.CONFIRM,
                      bench_seconds=62.0)  # fmt: skip
    history.put(proved)
    board.put(proved)
    assert board.progress(11, confirming=4).seconds_left == 6 * 12 + 3 * 62
    alone = ProgressTracker(problem_of(), History([first]))
    assert alone.progress(11, confirming=4).seconds_left == 10 * 12


@pytest.mark.slow
def test_minutes_hold_the_larger_runs():
    minutes = 60
    job = Job(two_loads(), Budget(minutes=minutes), TwoLoads())
    job.run()
    trials = job.log.trials()
    spent = sum(trial.bench_seconds for trial in trials)
    assert 0.5 * minutes * 60 < spent < 1.1 * minutes * 60
    assert any(trial.purpose is Purpose.PROVE for trial in trials)


@pytest.mark.parametrize("minutes", [60, 600])
def test_minutes_are_planned_with_what_the_larger_runs_will_take(minutes: int):
    runs = [
        trial_of(n, {"time": 10.0}, purpose=Purpose.BASELINE, bench_seconds=12.0) for n in (1, 2)
    ]
    plan = plan_of(two_loads(), Budget(minutes=minutes), History(runs))

    def seconds(plan: Plan) -> float:
        return (plan.trials - plan.confirm_runs) * 12 + plan.confirm_runs * 82

    assert seconds(plan) <= minutes * 60 < seconds(divide(plan.trials + 1))
