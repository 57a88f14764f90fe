"""`--detect`: as many pairs as the measured noise asks for, and no fewer runs explored before."""

from dataclasses import replace

import numpy as np
import pytest

from optimizer.budget.budget import divide
from optimizer.budget.power import (
    MOST_PAIRS,
    most_pairs,
    pairs_for,
    smallest_change,
    spread_of,
    trials_for,
    with_planned_pairs,
)
from optimizer.evaluation.evaluation import Evaluation
from optimizer.results.result import Conclusion, conclude, job_result
from optimizer.run.planning import Budget, plan_of
from optimizer.trials.trial import History, Phase, Purpose, Trial
from tests.support.models.quick_ranking import no_simplified
from tests.support.optimizer.asking_runner import AskingRunner
from tests.support.optimizer.pretend_bench import (
    Job,
    ListLog,
    PretendBench,
    bowl,
    configurations,
    flat,
    job_of,
    problem_of,
    trial_of,
    unmeasured,
)
from tests.support.optimizer.pretend_hosts import PretendHost, PretendHosts, machines, tuned

pytestmark = pytest.mark.usefixtures("quick_ranking", "unranked", "unsimplified")
QUIET, LOUD = 0.02, 0.15


def job(trials: int = 96, *, noise: float = 0.04, seed: int = 3, detect=0.05, **more) -> Job:
    problem = problem_of(more.pop("strategy", "random"), detect=detect, objective="waf", **more)
    return job_of(problem, trials, PretendBench(flat, noise=noise, seed=seed))


def purposes(trials) -> list[Purpose]:
    return [trial.purpose for trial in trials]


def waf_spread(trials: list[Trial]) -> float:
    return spread_of([t.metrics["waf"] for t in trials if t.purpose is Purpose.BASELINE])


class TestSpread:
    def test_is_that_of_single_runs(self):
        rng = np.random.default_rng(1)
        assert spread_of(np.exp(0.1 * rng.normal(size=5000)).tolist()) == pytest.approx(
            0.1, rel=0.05
        )

    def test_leaves_slow_drift_out_that_pairs_do_not_feel(self):
        noise = 0.02 * np.random.default_rng(2).normal(size=200)
        drifting = np.exp(noise + np.linspace(0, 1, 200))
        assert np.log(drifting).std() > 0.25
        assert spread_of(drifting.tolist()) == pytest.approx(0.02, rel=0.2)

    def test_of_values_that_are_not_above_zero_is_relative_to_their_mean(self):
        assert spread_of([0.0, 2.0, 0.0, 2.0, 1.0]) == pytest.approx(np.sqrt(13 / 8))

    def test_of_one_run_is_unknown(self):
        assert spread_of([3.0]) is None

    def test_of_several_hosts_leaves_out_what_lies_between_them(self):
        rng = np.random.default_rng(6)
        hosts = [(level * np.exp(0.1 * rng.normal(size=2000))).tolist() for level in (1, 3, 20)]
        assert spread_of(*hosts) == pytest.approx(0.1, rel=0.05)
        assert spread_of([3.0], [5.0], [20.0]) is None


class TestBudget:
    def test_half_of_it_confirms_at_most(self):
        for trials in range(24, 600):
            usual, most = divide(trials), most_pairs(trials)
            assert most == usual.pairs or 2 * most + usual.select_runs <= trials // 2

    @pytest.mark.parametrize("pairs", [3, 8, 9, 20, 46, 47, 500])
    def test_that_would_do_is_the_smallest(self, pairs: int):
        trials = trials_for(pairs)
        assert most_pairs(trials) >= pairs
        assert trials == 24 or max(most_pairs(n) for n in range(24, trials)) < pairs


class TestPlan:
    def test_is_by_the_noise_of_all_runs_of_the_baseline_before_the_proof(self):
        one = job(noise=0.025)
        conclusion = one.run()
        trials = one.log.trials()
        needed = pairs_for(0.05, waf_spread(trials))
        detection = conclusion.plan.detection
        assert (detection.needed, detection.metric) == (needed, "waf")
        assert detection.runs == purposes(trials).count(Purpose.BASELINE) > 5
        assert [t.phase for t in trials[:6]] == [Phase.BASELINE] * 5 + [Phase.SAMPLE]
        assert purposes(trials).count(Purpose.PROVE) == 2 * conclusion.plan.pairs
        assert conclusion.plan.pairs >= needed > 3
        assert len(trials) == 96

    def test_of_a_quiet_machine_is_the_usual_one(self):
        conclusion = job(noise=0.001).run()
        assert conclusion.plan.pairs == divide(96).pairs
        assert conclusion.plan.detection.needed == 3

    def test_of_a_loud_machine_takes_half_of_the_budget_and_warns_with_figures(self):
        one = job(noise=LOUD)
        conclusion = one.run()
        detection = conclusion.plan.detection
        assert detection.needed > detection.pairs == conclusion.plan.pairs
        assert conclusion.plan.pairs in (most_pairs(96), most_pairs(96) - 1)
        assert most_pairs(detection.trials) >= detection.needed
        assert len(one.log.trials()) == 96

    def test_is_spent_to_the_last_run_however_the_noise_is_seen(self):
        for seed, trials in ((0, 24), (1, 25), (2, 61), (3, 61)):
            one = job(trials, noise=0.06, seed=seed)
            one.run()
            assert len(one.log.trials()) == trials

    def test_grows_when_the_machine_gets_louder_while_it_explores(self):
        class Louder(PretendBench):
            def measure(self, trial: Trial):
                self.noise = 0.01 if trial.number <= 5 else 0.06
                return super().measure(trial)

        problem = problem_of("lhs", detect=0.05, objective="waf")
        one = Job(problem, Budget(trials=120), Louder(flat, seed=5))
        conclusion = one.run()
        first = with_planned_pairs(problem, divide(120), History(one.log.trials()[:5]))
        assert conclusion.plan.pairs > first.pairs
        assert conclusion.plan.explore == first.explore  # the hypercube was laid out for it
        assert len(one.log.trials()) == 120

    def test_is_of_the_noisiest_metric_or_of_the_one_that_is_named(self):
        noise = {"waf": 0.02, "sa": 0.01, "time": 0.06, "rate": 0.04}
        bench = PretendBench(flat, noise=noise, seed=1)
        every = job_of(problem_of(detect=0.05), 60, bench).run().plan.detection
        assert (every.metric, every.needed > 10) == ("time", True)
        bench = PretendBench(flat, noise=noise, seed=1)
        named = job_of(problem_of(detect=0.05, detect_metric="sa"), 60, bench).run().plan.detection
        assert (named.metric, named.needed) == ("sa", pairs_for(0.05, named.spread))
        assert 0.005 < named.spread < 0.02

    def test_without_it_is_the_usual_one(self):
        conclusion = job(48, detect=None, noise=LOUD).run()
        assert conclusion.plan == divide(48)

    @pytest.mark.slow
    @pytest.mark.parametrize("count", [2, 4])
    def test_on_several_hosts_is_by_the_noise_within_each(self, count: int):
        hosts = PretendHosts(machines(count), function=flat, seed=5)
        problem = problem_of("random", detect=0.05, objective="rate")
        conclusion = tuned(problem, 300, hosts)
        baselines = conclusion.history.of(Purpose.BASELINE)
        rates = {trial.host: trial.metrics["rate"] for trial in baselines}
        assert len(rates) == count and max(rates.values()) / min(rates.values()) > 1.25
        plan = conclusion.plan
        assert plan.detection is not None and plan.detection.runs == len(baselines)
        assert plan.detection.spread == pytest.approx(0.01, rel=0.5)
        assert plan.pairs == divide(300).pairs

    def test_with_failures_among_the_first_rests_on_those_that_ended_well(self):
        one = job(60)
        one.bench.fails = lambda trial: "no" if trial.number in (2, 4) else None
        conclusion = one.run()
        assert conclusion.plan.detection.runs < purposes(one.log.trials()).count(Purpose.BASELINE)
        assert len(one.log.trials()) == 60

    def test_in_minutes_works_as_well(self):
        problem = problem_of(detect=0.05, objective="waf")
        one = Job(problem, Budget(minutes=20), PretendBench(flat, noise=0.03, seed=2))
        conclusion = one.run()
        assert conclusion.plan.detection is not None
        assert purposes(one.log.trials()).count(Purpose.PROVE) == 2 * conclusion.plan.pairs
        few = Job(problem, Budget(minutes=0.1), PretendBench(flat, noise=0.03, seed=2)).run()
        assert few.plan.trials == 24


def test_runs_that_are_given_do_not_count():
    """Nobody knows on which machine they were measured."""
    problem = problem_of(detect=0.05, objective="waf")
    own = job_of(problem, 60, PretendBench(flat, noise=QUIET))
    own.run()
    before = History(own.log.trials()[:20])
    wild = [
        replace(trial_of(21 + i, {"waf": 10.0**i}, purpose=Purpose.BASELINE), given=True)
        for i in range(3)
    ]
    with_given = History([*before, *wild])
    assert with_planned_pairs(problem, divide(60), with_given) == with_planned_pairs(
        problem, divide(60), before
    )


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["random", "genetic"])
def test_a_job_that_is_killed_anywhere_plans_the_same(strategy: str):
    def bench() -> PretendBench:
        return PretendBench(bowl, noise=0.05, seed=8)

    problem = problem_of(strategy, detect=0.05, objective="waf")
    whole = job_of(problem, 72, bench())
    concluded = whole.run()
    assert concluded.plan.pairs > divide(72).pairs
    for length in (4, 17, 60):
        again = Job(problem, whole.budget, bench(), whole.log.cut(length, running=length % 2 == 0))
        found = again.run()
        assert found.plan == concluded.plan
        assert configurations(again.log.trials()) == configurations(whole.log.trials())


def test_a_runner_that_asks_for_many_at_once_plans_by_the_same_rule():
    problem = problem_of(detect=0.05, objective="waf")
    runner = AskingRunner(problem, 60, PretendBench(flat, noise=0.04, seed=4))
    while not runner.complete:
        for trial in runner.ask(7).trials:
            runner.tell(trial.number)
    trials = list(runner.history)
    plan = plan_of(problem, Budget(trials=60), runner.history)
    assert plan.pairs > divide(60).pairs
    assert purposes(trials).count(Purpose.PROVE) == 2 * plan.pairs
    assert len(trials) in (59, 60)


@pytest.fixture(scope="module")
def loud() -> tuple[Job, Conclusion]:
    one = job(noise=LOUD)
    with no_simplified():
        return one, one.run()


class TestWhatIsTold:
    def test_the_warning_comes_when_it_is_planned_and_when_it_is_final(self, loud):
        one, conclusion = loud
        reasons = one.watcher.whys
        assert "warning: detecting a change of 5% takes" in reasons[Phase.SAMPLE]
        assert "noise of 5 baseline runs" in reasons[Phase.SAMPLE]
        assert f"noise of {conclusion.plan.detection.runs} baseline runs" in reasons[Phase.CONFIRM]
        enough = f"; {conclusion.plan.detection.trials} trials are enough"
        assert reasons[Phase.CONFIRM].endswith(enough)
        assert "pairs" not in reasons[Phase.BASELINE]

    def test_the_declared_test_holds_what_was_planned_and_why(self, loud):
        one, conclusion = loud
        declared = one.log.documents["declared_test"]
        assert declared["pairs"] == conclusion.plan.pairs
        assert declared["planned"] == conclusion.plan.detection.document()
        shown = smallest_change(conclusion.plan.detection.spread, conclusion.plan.pairs)
        assert declared["planned"]["smallest_change"] == pytest.approx(100 * shown)
        assert declared["planned"]["change"] == pytest.approx(5)

    def test_the_result_holds_it_too(self, loud):
        _, conclusion = loud
        document = job_result(conclusion, job={}, environment={}).document()
        assert document["power"]["planned"] == conclusion.plan.detection.document()

    def test_a_hopeless_wish_names_no_budget(self):
        detection = job(24, detect=0.0001, noise=LOUD).run().plan.detection
        assert (detection.needed, detection.trials) == (MOST_PAIRS, None)

    def test_concluding_again_finds_the_same_plan(self, loud):
        one, conclusion = loud
        history = History(one.log.trials())
        plan = plan_of(one.problem, one.budget, history)
        assert plan == conclusion.plan
        assert conclude(Evaluation(one.problem, history), plan).verdict == conclusion.verdict


@pytest.mark.parametrize("seed", [1, 4])
def test_draws_are_laid_out_once_however_many_hosts_measure_their_first_baselines(seed: int):
    """A slower and noisier host ends its first runs while the other one draws."""
    asked = problem_of("random", detect=0.05, seed=seed, objective="waf")
    log, quick = ListLog(), PretendHost("quick", noise=0.02)
    slow = PretendHost("slow", slow=1.7, noise=0.05)
    tuned(asked, 160, PretendHosts([quick, slow], flat, seed), log=log)
    trials = log.trials()
    draws = [t for t in trials if t.purpose is Purpose.CANDIDATE][:12]
    laid_out = set()
    for draw in draws:
        known = [
            t if t.finished_at <= draw.started_at else unmeasured(t)
            for t in trials
            if t.number < draw.number
        ]
        laid_out.add(plan_of(asked, Budget(trials=160), History(known)).laid_out)
    assert len(draws) == 12 and len(laid_out) == 1
