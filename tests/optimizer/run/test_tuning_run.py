"""The run of a whole job: what is measured, in which order, and how it goes on."""

from itertools import cycle, pairwise

import pytest

from optimizer.budget.budget import divide
from optimizer.objective.objective import Limit, Objective, Term
from optimizer.run.ports import LeaseLost
from optimizer.trials.trial import Phase, Purpose
from sampler.bench.outcome import TrialState
from sampler.common.errors import InputError
from tests.support.optimizer.pretend_bench import (
    STRATEGY_NAMES,
    PretendBench,
    job_of,
    problem_of,
)
from tests.support.optimizer.tuning_jobs import purposes, run

pytestmark = pytest.mark.usefixtures("quick_ranking", "unranked")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("strategy", "trials"), [*zip(STRATEGY_NAMES, cycle((96, 12, 16, 24, 48, 96)), strict=False)]
)
def test_a_budget_of_trials_is_spent_to_the_last_run(strategy: str, trials: int):
    job = run(trials, strategy, noise=0.02)
    assert [trial.number for trial in job.log.trials()] == list(range(1, trials + 1))
    assert len(job.bench.started) == trials
    assert all(trial.done for trial in job.log.trials())
    plan, found = divide(trials), purposes(job)
    assert found.count(Purpose.CANDIDATE) == plan.explore
    assert found.count(Purpose.SELECT) == plan.select_runs
    assert found.count(Purpose.PROVE) == 2 * plan.pairs


class TestOrder:
    @pytest.mark.parametrize("trials", [48, 64, 120])
    def test_phases_are_entered_once_whatever_the_size(self, trials: int):
        assert run(trials, "genetic", objective="waf").log.phases == list(Phase)

    def test_a_strategy_that_only_draws_has_no_ranking_and_searches_for_fewer_changes_alone(self):
        job = run(48, "lhs")
        usual = [Phase.BASELINE, Phase.SAMPLE, Phase.SEARCH, Phase.CONFIRM]
        assert job.log.phases == usual
        searched = [t for t in job.log.trials() if t.phase is Phase.SEARCH]
        assert searched[0].is_simplified

    def test_the_watcher_is_told_what_is_kept(self):
        job = run(24)
        assert job.watcher.phases == job.log.phases
        assert [t.number for t in job.watcher.started] == list(range(1, 25))
        assert [t for t, _ in job.watcher.ended] == list(job.log.trials())

    def test_every_trial_is_kept_before_it_runs_and_again_when_it_ended(self):
        job = run(12)
        writes = [event for event in job.log.events if event.split()[0] in ("propose", "finish")]
        assert writes == [f"{what} {n}" for n in range(1, 13) for what in ("propose", "finish")]

    def test_trials_tell_who_measured_them_when_and_from_what(self):
        job = run(12)
        moments = [(t.started_at, t.finished_at) for t in job.log.trials()]
        assert all(start < finish for start, finish in moments)
        assert all(a[1] <= b[0] for a, b in pairwise(moments))
        assert {t.host for t in job.log.trials()} == {"pretended-host"}
        assert [t.based_on for t in job.log.trials()] == list(range(12))
        assert all(t.why for t in job.log.trials())

    def test_the_watcher_gets_ticks_while_a_trial_runs(self):
        assert run(12, waits=3).watcher.ticks == 12 * 3


class TestBaseline:
    def test_is_measured_first_and_again_at_intervals(self):
        job = run(96)
        plan, found = divide(96), purposes(job)
        assert found[: plan.first] == [Purpose.BASELINE] * plan.first
        rest = found[plan.first : plan.first + plan.exploring]
        at = [i for i, purpose in enumerate(rest) if purpose is Purpose.BASELINE]
        step = plan.repeat_every + 1
        assert at == [step * i - 1 for i in range(1, len(at) + 1)]
        assert len(at) == plan.exploring - plan.explore >= 4

    def test_repeats_are_of_the_same_configuration(self):
        job = run(96)
        default = job.problem.space.default_configuration()
        for trial in job.log.trials():
            assert trial.is_baseline == (trial.configuration == default)

    def test_that_cannot_be_measured_ends_the_job_in_the_benchmarks_words(self):
        said = "Opening database\nInvalid argument: no such column"
        job = job_of(problem_of(), 24, PretendBench(fails=lambda _: said))
        with pytest.raises(InputError, match="no such column") as refused:
            job.run()
        assert refused.value.field == "the baseline"
        assert "Opening database" not in str(refused.value)
        assert [trial.number for trial in job.log.trials()] == [1, 2]

    def test_that_fails_once_is_forgiven(self):
        job = run(24, fails=lambda t: "hiccup" if t.number == 1 else None)
        assert len(job.log.trials()) == 24

    def test_that_times_out_ends_the_job(self):
        with pytest.raises(InputError, match=r"baseline: .*timed out"):
            run(12, timeout=1.0)

    def test_without_a_metric_of_the_objective_ends_the_job_at_once(self):
        job = job_of(
            problem_of(objective=Objective("mine", (Term("latency", "min"),))), 24, PretendBench()
        )
        with pytest.raises(InputError, match=r"objective \(mine\).*'latency'.*rate, sa"):
            job.run()
        assert len(job.log.trials()) == 1

    def test_without_a_metric_of_a_limit_ends_the_job_at_once(self):
        objective = Objective("mine", (Term("waf", "min"),), (Limit("memry", at_most=1.0),))
        job = job_of(problem_of(objective=objective), 24, PretendBench())
        with pytest.raises(InputError, match="memry"):
            job.run()
        assert len(job.log.trials()) == 1


class TestInterruption:
    @pytest.mark.parametrize(
        ("number", "error"),
        [(1, KeyboardInterrupt()), (9, OSError("disk gone")), (22, LeaseLost())],
    )
    def test_of_a_running_trial_cancels_it_and_passes_on(self, number: int, error):
        job = job_of(problem_of(), 24, PretendBench(raises={number: error}))
        with pytest.raises(type(error)):
            job.run()
        assert job.bench.cancelled == [number]
        assert job.log.kept[number].state is TrialState.RUNNING
        assert len(job.log.trials()) == number

    def test_by_the_watcher_cancels_too(self):
        job = job_of(problem_of(), 24, PretendBench(waits=2))

        def interrupt() -> None:
            raise KeyboardInterrupt

        job.watcher.tick = interrupt
        with pytest.raises(KeyboardInterrupt):
            job.run()
        assert job.bench.cancelled == [1]

    @pytest.mark.parametrize("write", ["propose 5", "finish 5", "enter sample", "enter confirm"])
    def test_by_another_controller_leaves_nothing_running(self, write: str):
        job = job_of(problem_of(), 24)
        job.log.taken_over_at = write
        with pytest.raises(LeaseLost, match=write):
            job.run()
        assert job.bench.running is None
        started = len(job.bench.started)
        assert started == {"propose 5": 4, "finish 5": 5, "enter sample": 3}.get(write, started)
        assert len(job.log.trials()) <= started

    def test_before_the_test_is_declared_starts_no_proof(self):
        job = job_of(problem_of(), 24)
        job.log.taken_over_at = "remember declared_test"
        with pytest.raises(LeaseLost):
            job.run()
        assert Purpose.PROVE not in {t.purpose for t, _ in job.bench.started}
