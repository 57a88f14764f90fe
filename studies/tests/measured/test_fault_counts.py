"""The counts of the fault table: each sees what it is for, and nothing else."""

from dataclasses import replace

from optimizer.trials.trial import Trial
from sampler.bench.outcome import TrialState
from tests.support.cluster.fault_bench import lines_of
from tests.support.cluster.fault_count import (
    begun,
    changed,
    gone,
    left,
    missing,
    runs_again,
    untraced,
)
from tests.support.db.any_trials import plain_trial
from tests.support.sampler.bench_processes import BenchChild

RECORD = """\
begins a 10 t1
begins b 11 t2
ends b 11 t2 {"waf": 1.5, "rate": 100.25}
begins a 12 t3
ends a 12 t3 {"waf": 2, "rate": 100.5}
begins b 13
"""[:-1]


def measured(number: int, host: str, **metrics: float) -> Trial:
    return replace(plain_trial(number), host=host, metrics=metrics)


def right() -> dict[int, Trial]:
    return {1: measured(1, "b", waf=1.5, rate=100.25), 2: measured(2, "a", waf=2.0, rate=100.5)}


def test_a_job_that_went_right_has_nothing_to_count():
    trials, record = right(), lines_of(RECORD)
    assert begun(record) == 3
    assert missing(2, trials) == gone(trials, trials) == changed(trials, trials, ()) == []
    assert untraced(trials.values(), record) == []
    assert runs_again(trials.values()) == 0


def test_trials_that_are_missing_gone_or_were_not_measured_are_lost():
    trials = right()
    failed = {1: replace(trials[1], state=TrialState.FAILED, failure="no space")}
    assert missing(2, failed) == [
        "trial 1 is failed: no space",
        "trial 2 is missing: it was never begun",
    ]
    assert gone(trials, failed) == ["trial 2 is gone"]


def test_a_result_that_changed_is_seen_unless_it_was_taken_back_in_the_open():
    trials = right()
    now = trials | {1: replace(trials[1], attempt=2, metrics={"waf": 9.0})}
    assert [each.split(":")[0] for each in changed(trials, now, ())] == ["trial 1 has changed"]
    assert changed(trials, now, [{"number": 1, "attempt": 1}]) == []
    assert len(changed(trials, now, [{"number": 1, "attempt": 2}])) == 1


def test_a_result_must_be_that_of_one_run_on_its_host():
    record = lines_of(RECORD)
    twice = [measured(1, "b", waf=1.5, rate=100.25), measured(2, "b", waf=1.5, rate=100.25)]
    assert untraced(twice, record) == ["trials 1 and 2 are of one run"]
    elsewhere = [measured(1, "a", waf=1.5, rate=100.25)]
    assert untraced(elsewhere, record) == ["trial 1 is of 0 runs on a"]
    unheard = [measured(1, "b", waf=1.5, rate=100.26)]
    assert untraced(unheard, record) == ["trial 1 is of 0 runs on b"]


def test_what_older_runs_left_is_told_from_what_runs_now():
    children = [BenchChild("a", 7, "t1"), BenchChild("a", 8, "t3")]
    assert left(children, {"t1", "t2"}) == ["process 7 of the run t1 is left on a"]


def test_runs_that_were_begun_again_are_counted_by_the_rows():
    trials = right()
    trials[2] = replace(trials[2], attempt=3)
    assert runs_again(trials.values()) == 2
