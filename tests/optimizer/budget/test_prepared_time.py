"""What preparing a database costs is planned with, whether or not a trial found it prepared.

And what reads of the trees of the proof cost.
"""

from dataclasses import replace

import pytest

from optimizer.budget.budget import confirming_seconds, cutoff_seconds, divide, full_seconds
from optimizer.run.planning import Budget, hurried, plan_of
from optimizer.trials.trial import History, Purpose, Trial
from tests.support.optimizer.pretend_bench import problem_of, trial_of

METRICS = {"time": 2.0, "wall_seconds": 3.0, "prepare_seconds": 9.0}


def baseline(number: int, seconds: float) -> Trial:
    return trial_of(number, METRICS, purpose=Purpose.BASELINE, bench_seconds=seconds)


@pytest.mark.parametrize("spent", [12.0, 3.0], ids=["prepared", "copied"])
def test_a_run_takes_as_long_as_one_that_must_prepare(spent: float):
    assert full_seconds(baseline(1, spent)) == 12.0


def test_a_run_without_preparation_takes_what_it_took():
    plain = {"time": 2.0, "wall_seconds": 3.0}
    assert full_seconds(trial_of(1, plain, bench_seconds=3.5)) == 3.5
    # A figure of the user's own by that name means nothing here.
    assert full_seconds(trial_of(1, {"wall_seconds": 99.0}, bench_seconds=3.5)) == 3.5


def test_a_cutoff_allows_as_many_times_the_preparation():
    plain = cutoff_seconds(4.0, {"time": 2.0, "wall_seconds": 3.0})
    prepared = cutoff_seconds(4.0, METRICS)
    assert plain is not None and prepared is not None
    assert prepared == plain + 4 * 9.0


def test_minutes_become_as_many_trials_as_if_each_were_prepared():
    problem, budget = problem_of(), Budget(minutes=20)
    first = History([baseline(1, 12.0), baseline(2, 3.0)])
    alike = History([baseline(1, 12.0), baseline(2, 12.0)])
    assert plan_of(problem, budget, first) == plan_of(problem, budget, alike)
    plain = {"time": 5.0, "wall_seconds": 6.0}
    shorter = History([
        trial_of(n, plain, purpose=Purpose.BASELINE, bench_seconds=6.0) for n in (1, 2)
    ])  # fmt: skip
    assert plan_of(problem, budget, shorter).trials > plan_of(problem, budget, first).trials


def test_the_confirmation_is_said_to_prepare_anew():
    assert confirming_seconds(problem_of(), History([baseline(1, 3.0)])) == 12.0


def test_the_proof_is_left_time_for_reads_of_its_trees():
    problem, plan = problem_of(), divide(24)
    runs = [trial_of(n, {"waf": 1.0}, bench_seconds=6.0) for n in range(1, 13)]
    history = History(runs)
    until = 6.0 * (len(runs) + plan.confirm_runs + plan.simplified)  # all is spent by then
    more = 3 * 2.0 * plan.sides * plan.pairs  # three rounds of 2 s
    for seconds, with_reads in ((until - 1, True), (until + 1, True), (until + more + 1, False)):
        budget = Budget(minutes=seconds / 60)
        assert hurried(problem, budget, plan, history) == with_reads
        unread = replace(problem, price=False)
        assert hurried(unread, budget, plan, history) == (seconds < until)
