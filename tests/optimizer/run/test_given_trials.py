"""Trials that were measured before the job teach it, may win, and cost none of its budget."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizer.budget.budget import divide
from optimizer.confirmation.choice import candidates_of, choice_of
from optimizer.evaluation.evaluation import Evaluation
from optimizer.run.planning import ProgressTracker
from optimizer.strategies.genetic import searched_parameters
from optimizer.trials.trial import History, Phase, Purpose
from sampler.bench.outcome import TrialState
from sampler.space.space import memory_bytes
from sampler.space.space_file import load_space
from tests.support.optimizer.asking_runner import AskingRunner, drawn
from tests.support.optimizer.pretend_bench import (
    STRATEGY_KINDS,
    PretendBench,
    bowl,
    candidates,
    problem_of,
    trial_of,
)

pytestmark = pytest.mark.usefixtures("quick_ranking", "unranked")
BEST = {"x": 0.3, "y": 181, "codec": "fast", "sync": False, "idle": 1.0}


def runner_of(strategy: str, trials: int = 48, **more: object) -> AskingRunner:
    return AskingRunner(problem_of(strategy, **more), trials, PretendBench(noise=0.02))


@pytest.mark.slow
@settings(max_examples=3, deadline=None)
@pytest.mark.parametrize("strategy", STRATEGY_KINDS)
@given(
    before=st.integers(0, 200),
    baselines=st.integers(1, 20),
    share=st.sampled_from([0.0, 0.05, 0.3]),
    seed=st.integers(0, 2**32),
)
def test_never_change_how_many_trials_the_job_makes(strategy, before, baselines, share, seed):
    runner, random = runner_of(strategy, objective="waf"), Random(seed)
    for index in range(before):
        configuration = None if index < baselines else drawn(runner.problem, random)
        failed = index > 1 and random.random() < 0.2
        runner.give(configuration, TrialState.FAILED if failed else TrialState.DONE)
    runner.wander(random, lost=0.1, give=share)
    runner.check()
    assert len(runner.own()) == 48
    assert len(runner.history) == 48 + runner.history.given


class TestTheyTeach:
    def learned(self, runner: AskingRunner, count: int) -> None:
        runner.give()
        random = Random(3)
        for _ in range(count):
            runner.give(drawn(runner.problem, random))

    def test_what_matters(self):
        runner = runner_of("genetic", objective="waf", top=1)
        self.learned(runner, 200)
        assert Evaluation(runner.problem, runner.history).ranking()[0] == "x"
        assert searched_parameters(Evaluation(runner.problem, runner.history)) == ("x",)

    @pytest.mark.slow
    def test_so_that_the_search_begins_sooner(self):
        runner = runner_of("genetic")
        explore = runner.plan.explore
        self.learned(runner, explore // 2 - 3)
        runner.finish(4)
        own = runner.history.own
        samples = round(explore / 2)
        assert len(own(Purpose.CANDIDATE, Phase.SAMPLE)) == samples - (explore // 2 - 3)
        assert len(own(Purpose.CANDIDATE)) == explore

    def test_nothing_by_having_failed(self):
        runner = runner_of("genetic")
        runner.give()
        for index in range(5):
            runner.give({**BEST, "idle": index / 100}, TrialState.FAILED)
        assert runner.history.given_samples == 0  # the search begins no sooner

    def test_the_search_keeps_its_parameters_whatever_is_given_meanwhile(self):
        runner = runner_of("genetic", objective="waf", top=1)
        random = Random(5)
        while not runner.complete:
            runner.ask(1)
            for number in list(runner.out):
                runner.tell(number)
            if len(runner.history.own(Purpose.CANDIDATE, Phase.SEARCH)) == 4:
                for _ in range(60):  # from somewhere else, where only `idle` matters
                    configuration = drawn(runner.problem, random)
                    runner.give(configuration, metrics={"waf": 1.0 + configuration["idle"]})
        searched = candidates(runner.history, Phase.SEARCH)
        assert len({tuple(trial.point) for trial in searched}) == 1
        assert Evaluation(runner.problem, runner.history).ranking()[0] == "idle"

    def test_say_nothing_about_drift(self):
        runner = runner_of("random")
        for index in range(30):
            level = 10.0 + index  # told all at once, whenever they were measured
            runner.give(metrics={"waf": 3.0, "sa": 1.2, "time": level, "rate": 1e5})
        runner.finish(4)
        noise = Evaluation(runner.problem, runner.history).baseline.noise["time"]
        assert (noise.drifting, noise.range) == (False, None)
        assert runner.history[1].started_at is None

    def test_plain_draws_are_the_same_points_with_and_without_them(self):
        taught, alone = runner_of("sobol"), runner_of("sobol")
        self.learned(taught, 30)
        points = []
        for runner in (taught, alone):
            runner.finish(6)
            points.append([trial.point for trial in candidates(runner.own())])
        # The runs that no simplified version needs are draws, too, in no design.
        design = taught.plan.explore - taught.plan.simplified
        assert points[0][:design] == points[1][:design]
        assert len(points[0]) >= design

    def test_the_baseline_is_measured_as_often_all_the_same(self):
        runner = runner_of("random")
        for _ in range(10):
            runner.give()
        asked = runner.ask(100)
        assert [t.purpose for t in asked.trials] == [Purpose.BASELINE] * runner.plan.first
        assert [t.number for t in asked.trials] == [11, 12, 13]

    def test_a_baseline_that_failed_elsewhere_condemns_nobody(self):
        runner = runner_of("random")
        for _ in range(4):
            runner.give(state=TrialState.FAILED)
        runner.finish(4)
        runner.check()


class TestTheyMayWin:
    @pytest.mark.slow
    @pytest.mark.parametrize(("strategy", "trials"), [("random", 12), ("genetic", 48)])
    def test_and_are_confirmed_on_fresh_runs(self, strategy: str, trials: int):
        runner = runner_of(strategy, trials)
        runner.give()
        best = runner.give(BEST, metrics=bowl(BEST))
        runner.finish(5)
        runner.check()
        winner = choice_of(Evaluation(runner.problem, runner.history), runner.plan).winner
        # A simplified version of it is as good: the search has found nothing better.
        simplified = runner.history[winner].why.startswith(f"simplified: trial {best.number} ")
        assert winner == best.number or simplified
        proof = runner.history.of(Purpose.PROVE)
        assert {trial.subject for trial in proof} == {1, winner}
        assert len(proof) == 2 * runner.plan.pairs
        fresh = [trial for trial in proof if trial.subject == best.number]
        assert all(t.configuration == BEST and not t.given and t.done for t in fresh)

    @pytest.mark.parametrize("begun", [Purpose.SELECT, Purpose.PROVE])
    def test_but_not_when_the_choice_is_being_confirmed(self, begun: Purpose):
        # Without noise, which goes by the number: trials that are given move the numbers.
        runner, alone = (AskingRunner(problem_of("random"), 48, PretendBench()) for _ in range(2))
        alone.finish()
        while not runner.complete:
            runner.ask(1)
            for number in list(runner.out):
                runner.tell(number)
            if len(runner.history.numbers(begun)) == 3 and not runner.history.given:
                # So much better, and a baseline so different, that either would turn the order.
                runner.give(BEST, metrics={"waf": 0.1, "sa": 0.1, "time": 0.1, "rate": 1e9})
                for _ in range(20):
                    runner.give(metrics={"waf": 90.0, "sa": 1e-3, "time": 1e3, "rate": 1.0})
        runner.check()
        subjects = [t.subject for t in runner.own() if t.phase is Phase.CONFIRM]
        assert subjects == [t.subject for t in alone.own() if t.phase is Phase.CONFIRM]

    def test_but_not_above_the_memory_budget(self):
        space = load_space("default")
        budget = memory_bytes(space.context)
        problem = problem_of(space=space, memory=budget, objective="waf")
        default = space.default_configuration()
        double = {**default, "write_buffer_size": 2 * default["write_buffer_size"]}
        small = {**default, "max_background_jobs": 4}
        trials = [
            trial_of(1, {"waf": 4.0}, purpose=Purpose.BASELINE, configuration=default),
            trial_of(2, {"waf": 1.0}, configuration=double, given=True),
            trial_of(3, {"waf": 3.0}, configuration=small, given=True),
        ]
        history = History(trials)
        assert candidates_of(Evaluation(problem, history), divide(48)) == [3]
        assert ProgressTracker(problem, history).progress(48).best == (3, 250.0)
        unbound = replace(problem, memory=None)
        assert candidates_of(Evaluation(unbound, history), divide(48)) == [2, 3]
