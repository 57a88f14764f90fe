"""Asked for any number at a time and told in any order, a job comes out as it should."""

from dataclasses import asdict
from itertools import permutations
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizer.evaluation import evaluation
from optimizer.run.ports import DECLARED_TEST
from optimizer.trials.trial import Phase, Purpose, Trial
from sampler.bench.outcome import Outcome, TrialState
from sampler.common.errors import InputError
from tests.support.optimizer.asking_runner import AskingRunner, drawn
from tests.support.optimizer.pretend_bench import (
    STRATEGY_KINDS,
    STRATEGY_NAMES,
    PretendBench,
    job_of,
    problem_of,
)

pytestmark = pytest.mark.usefixtures("quick_ranking", "unranked")
FAILED = Outcome(state=TrialState.FAILED, failure="no luck\nno such column")
LOST = Outcome(state=TrialState.LOST, failure="the host died")


def fails(trial: Trial) -> str | None:
    return "no" if trial.number in (2, 9, 14, 15, 21) else None


def noisy() -> PretendBench:
    return PretendBench(noise=0.03, seed=4, fails=fails)


@pytest.mark.slow
@settings(max_examples=4, deadline=None)
@pytest.mark.parametrize("strategy", STRATEGY_KINDS)
@given(
    trials=st.sampled_from([12, 13, 24, 31, 48]),
    lost=st.sampled_from([0.0, 0.2]),
    seed=st.integers(0, 2**32),
)
def test_any_order_of_asking_and_telling_divides_the_budget_as_planned(
    strategy, trials, lost, seed
):
    runner = AskingRunner(problem_of(strategy, objective="waf"), trials, noisy())
    runner.wander(Random(seed), lost=lost)
    runner.check()


@pytest.mark.slow
@settings(max_examples=3, deadline=None)
@given(count=st.integers(1, 100), seed=st.integers(0, 2**32))
def test_without_failures_the_job_makes_exactly_as_many_trials_as_asked_for(count, seed):
    problem = problem_of("genetic", objective="waf")
    runner = AskingRunner(problem, 48, PretendBench(noise=0.03))
    runner.finish(count, Random(seed).choice)
    runner.check()
    assert len(runner.history) == 48
    assert {attempt for _, attempt in runner.handed} == {1}


class TestOneAtATime:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("strategy", "trials"),
        [("random", 110), *((name, 48) for name in STRATEGY_NAMES), ("greedy", 12)],
    )
    def test_is_what_a_tuning_run_does(self, strategy: str, trials: int):
        job = job_of(problem_of(strategy), trials, noisy())
        expected = job.run()
        runner = AskingRunner(problem_of(strategy), trials, noisy())
        runner.finish()
        assert [proposed(t) for t in runner.history] == [proposed(t) for t in job.log.trials()]
        assert runner.driver.conclude().winner == expected.winner
        declared = [log.documents.get(DECLARED_TEST) for log in (runner.log, job.log)]
        assert declared[0] == declared[1]

    def test_is_so_also_where_all_candidates_fail(self):
        def no(trial: Trial) -> str | None:
            return "no" if trial.purpose is Purpose.CANDIDATE else None

        job = job_of(problem_of("genetic"), 24, PretendBench(fails=no))
        job.run()
        runner = AskingRunner(problem_of("genetic"), 24, PretendBench(fails=no))
        runner.finish()
        assert [proposed(t) for t in runner.history] == [proposed(t) for t in job.log.trials()]


def proposed(trial: Trial) -> dict[str, object]:
    clocks = ("host", "started_at", "finished_at")
    return {name: value for name, value in asdict(trial).items() if name not in clocks}


class TestWhatRestsOnTrialsThatAreOut:
    def test_waits_and_says_for_which(self):
        runner = AskingRunner(problem_of(), 24)
        asked = runner.ask(10)
        assert [trial.number for trial in asked.trials] == [1, 2, 3]
        assert asked.why == "the next trials depend on unfinished ones: report 1, 2, 3 first"
        assert runner.ask(10).trials == ()
        runner.tell(2)
        assert runner.ask(10).why.endswith("report 1, 3 first")

    def test_a_search_waits_for_every_draw_and_learns_nothing_from_half_of_them(
        self, monkeypatch: pytest.MonkeyPatch
    ):
        asked_to_rank, rank = [], evaluation.rank_parameters
        monkeypatch.setattr(
            evaluation,
            "rank_parameters",
            lambda *given, **more: asked_to_rank.append(1) or rank(*given, **more),
        )
        runner = AskingRunner(problem_of("genetic", objective="waf"), 48)
        for _ in range(2):  # the first baselines, then the draws
            asked = runner.ask(100)
            *others, last = (trial.number for trial in asked.trials)
            for number in others:
                runner.tell(number)
            learned = len(asked_to_rank)
            again = runner.ask(100)
            assert again.trials == ()
            assert again.why.endswith(f"unfinished ones: report {last} first")
            assert len(asked_to_rank) == learned
            runner.tell(last)
        assert {trial.phase for trial in asked.trials} == {Phase.SAMPLE}
        assert {trial.phase for trial in runner.ask(100).trials} == {Phase.SEARCH}

    def test_plain_draws_go_out_all_at_once(self):
        runner, random = AskingRunner(problem_of("lhs"), 96), Random(1)
        runner.ask(3)
        for number in (1, 2, 3):
            runner.tell(number)
        for _ in range(200):
            runner.give(drawn(runner.problem, random))
        asked = runner.ask(1000)
        # The last are kept for simplified versions of the best, which rest on all that is out.
        drawn_ones = [trial for trial in asked.trials if trial.purpose is Purpose.CANDIDATE]
        assert len(drawn_ones) == runner.plan.explore - runner.plan.simplified

    def test_a_complete_job_says_so_as_often_as_it_is_asked(self):
        runner = AskingRunner(problem_of(), 12)
        runner.finish(5)
        again = runner.ask(5)
        assert (again.trials, again.why, again.complete) == ((), "all trials are done", True)


class TestOverdue:
    def test_is_handed_out_again_before_anything_new_and_begins_anew(self):
        runner = AskingRunner(problem_of(), 24)
        runner.ask(2)
        runner.tell(1, LOST)
        first = runner.history[1]
        assert (first.failure, first.host) == ("the host died", "theirs")
        asked = runner.ask(3)
        assert [(t.number, t.attempt) for t in asked.trials] == [(1, 2), (3, 1)]
        assert asked.trials[0].state is TrialState.RUNNING
        assert (asked.trials[0].failure, asked.trials[0].host) == (None, None)
        assert (asked.trials[0].finished_at, asked.trials[0].bench_seconds) == (None, 0.0)
        again = runner.ask(1, reclaim=True)
        assert [(t.number, t.attempt) for t in again.trials] == [(1, 3)]

    def test_is_not_what_was_just_handed_out(self):
        runner = AskingRunner(problem_of(), 24)
        runner.ask(1)
        runner.ask(3, reclaim=True)
        fresh = {number: trial.started_at for number, trial in runner.out.items()}
        assert len(set(fresh.values())) == 1
        assert [runner.history[number].attempt for number in (1, 2, 3)] == [2, 1, 1]


class TestABaselineThatFails:
    @pytest.mark.parametrize("order", [*permutations([1, 2, 3])])
    def test_is_certain_only_when_none_of_its_runs_is_out(self, order: tuple[int, ...]):
        runner = AskingRunner(problem_of(), 24)
        runner.ask(3)
        for number in order[:2]:
            runner.tell(number, FAILED)
            assert runner.ask(5).trials == ()
        runner.tell(order[2], FAILED)
        with pytest.raises(InputError, match=r"^the baseline: .*no such column$"):
            runner.ask(5)

    def test_is_not_certain_while_one_is_lost(self):
        runner = AskingRunner(problem_of(), 24)
        runner.ask(3)
        for number, outcome in ((1, FAILED), (2, LOST), (3, FAILED)):
            runner.tell(number, outcome)
        assert [t.number for t in runner.ask(5).trials] == [2]
        runner.tell(2)
        runner.finish(4)
        runner.check()

    def test_once_is_forgiven(self):
        runner = AskingRunner(problem_of(), 24)
        runner.ask(3)
        for number, outcome in ((3, FAILED), (1, FAILED), (2, None)):
            runner.tell(number, outcome)
        runner.finish(4)
        runner.check()
