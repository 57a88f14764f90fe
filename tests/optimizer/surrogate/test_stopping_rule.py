"""When what a search can still gain drowns in noise: it says so, and stops where asked to."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer.evaluation.evaluation import Evaluation
from optimizer.objective.objective_file import load_objective
from optimizer.results.result import Conclusion
from optimizer.results.search import search_end
from optimizer.strategies.registry import find_strategy
from optimizer.surrogate.predictions import SAID, StoppingRule, fitness_noise, scatter
from optimizer.trials.trial import Basis, History, Phase, Purpose
from tests.support.optimizer.pretend_bench import (
    Job,
    PretendBench,
    bowl,
    candidates,
    configurations,
    flat,
    job_of,
    problem_of,
    trial_of,
)

pytestmark = [pytest.mark.usefixtures("quick_ranking", "unranked"), pytest.mark.slow]
TRIALS = 60
NOISE = {"waf": 0.03, "sa": 0.02, "time": 0.1, "rate": 0.1}
PAPER = load_objective("paper")
positive = st.floats(0.5, 2.0)


@cache
def ran(*, stop_early: bool, effects: bool = False) -> tuple[Job, Conclusion]:
    function, noise = (bowl, 0.01) if effects else (flat, NOISE)
    job = job_of(
        problem_of("guided", stop_early=stop_early), TRIALS, PretendBench(function, noise)
    )
    return job, job.run()


def document(conclusion: Conclusion) -> dict:
    found = search_end(conclusion.evaluation, conclusion.plan, find_strategy("guided"))
    assert found is not None
    return found.document()


class TestStopEarly:
    def test_it_stops_where_nothing_matters_and_says_what_that_saved(self):
        _, conclusion = ran(stop_early=True)
        found = document(conclusion)
        assert len(conclusion.history) == TRIALS - found["saved"] < TRIALS
        assert found["exhausted"] and found["gain"] <= found["noise"]
        assert SAID in found["why"] and found["why"].endswith(f": {found['saved']} runs saved")
        assert len(conclusion.history.of(Purpose.PROVE)) == 2 * conclusion.plan.pairs

    def test_the_phase_says_so_before_the_confirmation(self):
        job, conclusion = ran(stop_early=True)
        assert job.watcher.whys[Phase.CONFIRM].endswith(document(conclusion)["why"])

    def test_without_it_the_search_goes_on_and_says_what_it_would_have_saved(self):
        job, conclusion = ran(stop_early=False)
        stopped, _ = ran(stop_early=True)
        assert len(conclusion.history) == TRIALS
        found = document(conclusion)
        assert found["saved"] == 0
        last = candidates(stopped.log.trials())[-1].number
        assert found["since"] == last + 1
        assert SAID in job.log.kept[last + 1].why
        assert configurations(job.log.trials()[:last]) == configurations(
            stopped.log.trials()[:last]
        )

    def test_since_when_does_not_hang_on_the_words(self):
        """But for the trials of earlier versions, which have no more than words."""
        _, conclusion = ran(stop_early=False)
        since = document(conclusion)["since"]

        def found(**change: object) -> object:
            history = History(replace(trial, **change) for trial in conclusion.history)
            changed = Evaluation(conclusion.evaluation.problem, history)
            found = search_end(changed, conclusion.plan, find_strategy("guided")).document()
            return found and found["since"]

        assert since is not None
        assert found(why="by the models") == since
        assert found(basis=None) == since
        assert found(basis=Basis.PLAIN) is None

    def test_it_goes_on_where_there_is_something_to_gain(self):
        job, conclusion = ran(stop_early=True, effects=True)
        found = document(conclusion)
        objective, default = job.problem.objective, {"x": 0.9, "y": 2, "codec": "fast"}
        default["sync"] = False
        optimum = {"x": 0.3, "y": 181, "codec": "fast", "sync": False}
        winner = conclusion.history[conclusion.winner].configuration
        best, mine = (objective.fitness(bowl(c), bowl(default)) for c in (optimum, winner))
        assert mine > 0.95 * best
        assert conclusion.verdict.confirmed
        assert found["gain"] < 0.1 * best

    def test_a_killed_job_stops_where_it_would_have_stopped(self):
        job, _ = ran(stop_early=True)
        last = candidates(job.log.trials())[-1].number
        log = job.log.cut(last, running=True)
        again = Job(job.problem, job.budget, PretendBench(flat, NOISE), log)
        again.run()
        assert configurations(again.log.trials()) == configurations(job.log.trials())


class TestExhausted:
    def test_one_small_step_is_not_enough(self):
        assert StoppingRule(gain=3, lately=5, runs=20, noise=21).exhausted
        assert not StoppingRule(gain=30, lately=5, runs=20, noise=21).exhausted
        assert not StoppingRule(gain=3, lately=50, runs=20, noise=21).exhausted
        # Nor is what is not known.
        assert not StoppingRule(gain=0, lately=0, runs=20, noise=None).exhausted
        assert not StoppingRule(gain=0, lately=None, runs=20, noise=21).exhausted

    def test_it_is_said_in_words(self):
        assert StoppingRule(gain=3, lately=5, runs=20, noise=21).words() == (
            "expected gain 3, below the noise of 21 (the last 20 runs gained 5)"
        )
        assert StoppingRule(30, None, 20, 21).words() == "expected gain 30, noise 21"
        assert StoppingRule(30, None, 20, None).words() == "expected gain 30"


class TestNoise:
    @given(st.lists(positive, min_size=2, max_size=8), positive)
    def test_it_is_the_scatter_of_whole_runs(self, slower: list[float], level: float):
        """Time and rate err together: a sum of variances would be too small."""
        runs = [flat({}) | {"time": 10 * s, "rate": 1e5 / s} for s in slower]
        at = flat({}) | {"rate": 1e5 * level, "time": 10 / level}
        expected = np.std([1000 * (level / s - s / level) for s in slower], ddof=1)
        found = scatter(PAPER, runs, flat({}), at)
        assert found == pytest.approx(float(expected), abs=1e-6)

    def test_the_baselines_own_runs_tell_it(self):
        history = History(
            trial_of(n, flat({}) | {"waf": 3.0 * (1 + e)}, purpose=Purpose.BASELINE)
            for n, e in enumerate((-0.1, 0.0, 0.1), start=1)
        )
        assert fitness_noise(Evaluation(problem_of("guided"), history)) == pytest.approx(100)

    def test_a_baseline_of_zero_scatters_by_differences(self):
        runs = [flat({}) | {"waf": value} for value in (0.0, 0.0, 0.3)]
        found = scatter(PAPER, runs, flat({}) | {"waf": 0.0}, flat({}) | {"waf": 0.0})
        assert found is not None and 0 < found < math.inf
        assert scatter(PAPER, [flat({})], flat({}), flat({})) is None  # one run tells nothing
