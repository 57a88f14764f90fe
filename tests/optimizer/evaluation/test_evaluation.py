"""What is learned from trials: which of them count, on which scale, and what they say."""

import math
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from models.importance import rank_parameters
from optimizer.evaluation import evaluation as knowledge
from optimizer.evaluation.evaluation import (
    Evaluation,
)
from optimizer.trials.trial import Basis, History, Phase, Purpose, Trial
from sampler.bench.outcome import TrialState
from sampler.space.space_file import load_space
from tests.support.models.quick_ranking import no_ranking
from tests.support.optimizer.pretend_bench import (
    PretendBench,
    bowl,
    flat,
    job_of,
    problem_of,
    small_space,
    trial_of,
)

BASELINE = bowl(small_space().default_configuration())


@pytest.fixture
def taught(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the models were given; the ranking itself is made with small forests."""
    seen: dict[str, Any] = {}

    def spy(features, targets, **more):
        seen.update(features=features, targets=targets, **more)
        return rank_parameters(features, targets, **more, trees=5)

    monkeypatch.setattr(knowledge, "rank_parameters", spy)
    return seen


@cache
def trials_of_a_job() -> list[Trial]:
    job = job_of(problem_of("random"), 96, PretendBench())
    with no_ranking():
        job.run()
    return job.log.trials()


def draws(count: int) -> list[Trial]:
    """A baseline and a sample, drawn as a job draws it."""
    first, *others = trials_of_a_job()
    return [first, *[trial for trial in others if trial.purpose is Purpose.CANDIDATE][:count]]


class TestComparable:
    def test_leaves_out_what_has_no_measurement(self):
        states = [s for s in TrialState if s not in (TrialState.DONE, TrialState.CENSORED)]
        trials = [trial_of(10 + i, BASELINE, state=s) for i, s in enumerate(states)]
        history = History([trial_of(1, BASELINE, purpose=Purpose.BASELINE), *trials])
        assert Evaluation(problem_of(), history).comparable(history) == [(0.0, history[1])]

    def test_best_first_puts_cut_off_ones_last_and_equals_by_number(self):
        better = {name: value * 0.9 for name, value in BASELINE.items()} | {"rate": 1e6}
        history = History(
            [
                trial_of(1, BASELINE, purpose=Purpose.BASELINE),
                trial_of(2, {"time": 60.0, "rate": 1e4}, state=TrialState.CENSORED),
                trial_of(3, BASELINE),
                trial_of(4, better),
                trial_of(5, BASELINE),
            ]
        )
        ranked = Evaluation(problem_of(), history).best_first(history.of(Purpose.CANDIDATE))
        assert [trial.number for _, trial in ranked] == [4, 3, 5, 2]

    def test_the_baseline_is_that_of_all_its_runs_in_whatever_phase(self):
        history = History(
            [
                trial_of(1, {"waf": 4.0}, purpose=Purpose.BASELINE),
                trial_of(2, {"waf": 5.0}, purpose=Purpose.SELECT, subject=1),
                trial_of(3, {"waf": 6.0}, purpose=Purpose.PROVE, subject=1),
                trial_of(4, {"waf": 9.0}, purpose=Purpose.PROVE, subject=2),
            ]
        )
        assert Evaluation(problem_of(), history).baseline.metrics == {"waf": 5.0}


class TestWhatTheModelsAreTaught:
    def test_all_parameters_with_values_in_effect(self, taught: dict[str, Any]):
        trials = draws(12)
        clipped = replace(trials[3], effective=dict(trials[3].configuration) | {"x": 0.125})
        trials[3] = clipped
        Evaluation(problem_of(), History(trials)).ranking()
        features = taught["features"]
        assert features.names == small_space().names
        x = features.values[:, list(features.owner).index(0)]
        assert x[2] == 0.125
        assert x.tolist() == [trial.features["x"] for trial in trials[1:]]

    def test_genuine_draws_alone(self, taught: dict[str, Any]):
        trials = draws(12)
        # One of this version, and one of a job that an earlier version stored.
        trials[3] = replace(trials[3], basis=Basis.START)
        trials[7] = replace(trials[7], basis=None, why="starting point benchmark.sh")
        expected = [t.features["x"] for t in trials[1:] if not t.is_start]
        Evaluation(problem_of(), History(trials)).ranking()
        x = taught["features"].values[:, list(taught["features"].owner).index(0)]
        assert x.tolist() == expected

    def test_clocks_on_a_logarithmic_scale_and_ratios_as_they_are(self, taught: dict[str, Any]):
        trials = draws(12)
        Evaluation(problem_of(), History(trials)).ranking()
        for name in ("time", "rate"):
            logs = [math.log(trial.metrics[name]) for trial in trials[1:]]
            assert taught["targets"][name] == pytest.approx(logs)
        for name in ("waf", "sa"):
            plain = [trial.metrics[name] for trial in trials[1:]]
            assert taught["targets"][name] == pytest.approx(plain)

    def test_cut_off_trials_teach_their_bounds_and_nothing_else(self, taught: dict[str, Any]):
        trials = draws(12)
        trials[5] = replace(
            trials[5],
            state=TrialState.CENSORED,
            metrics={"time": 60.0, "rate": 500.0, "waf_partial": 0.1},
        )
        Evaluation(problem_of(), History(trials)).ranking()
        assert taught["targets"]["time"][4] == pytest.approx(math.log(60))
        assert taught["targets"]["rate"][4] == pytest.approx(math.log(500))
        assert np.isnan(taught["targets"]["waf"][4]) and np.isnan(taught["targets"]["sa"][4])

    def test_failed_searched_and_running_trials_teach_nothing(self, taught: dict[str, Any]):
        trials = draws(14)
        trials[2] = replace(trials[2], state=TrialState.FAILED, metrics={})
        trials[3] = replace(trials[3], state=TrialState.RUNNING, metrics={})
        trials[4] = replace(trials[4], phase=Phase.SEARCH)
        Evaluation(problem_of(), History(trials)).ranking()
        assert len(taught["features"].values) == 11

    def test_the_objectives_metrics_alone_and_as_it_is_what_is_not_above_zero(
        self, taught: dict[str, Any]
    ):
        trials = draws(12)
        trials[1] = replace(trials[1], metrics={**trials[1].metrics, "rate": 0.0})
        Evaluation(problem_of(objective="rate", seed=31), History(trials)).ranking()
        assert taught["targets"]["rate"][0] == 0.0
        assert taught["targets"].keys() == {"rate"} and taught["seed"] == 31

    @pytest.mark.slow
    @pytest.mark.usefixtures("taught")
    def test_facts_of_the_load_are_among_the_parameters(self):
        problem = problem_of("random", space=load_space("paper"), objective="waf")
        conclusion = job_of(problem, 24, PretendBench(flat)).run()
        evaluation = Evaluation(problem, conclusion.history)
        assert {"threads", "compression_ratio"} <= set(evaluation.ranking())
        (_, tested) = evaluation.draw_tests()
        assert set(tested["waf"]["threads"].labels) <= {"1", "2", "4"}


class TestRanking:
    def test_is_learned_once_from_the_same_trials(self, taught: dict[str, Any]):
        evaluation = Evaluation(problem_of(), History(draws(12)))
        first = evaluation.ranking()
        taught.clear()
        assert evaluation.ranking() is first
        assert taught == {}

    def test_is_learned_anew_when_another_draw_has_ended(self, taught: dict[str, Any]):
        trials = draws(14)
        evaluation = Evaluation(problem_of(), History(trials[:13]))
        history = evaluation.history
        evaluation.ranking()
        history.put(trials[13])
        evaluation.ranking()
        assert len(taught["features"].values) == 13

    def test_is_learned_anew_when_a_lost_draw_was_run_again(self, taught: dict[str, Any]):
        trials = draws(12)
        evaluation = Evaluation(problem_of(), History(trials))
        history = evaluation.history
        history.put(replace(trials[4], state=TrialState.LOST, metrics={}))
        evaluation.ranking()
        history.put(trials[4])
        evaluation.ranking()
        assert len(taught["features"].values) == 12

    def test_is_not_mistaken_for_another_jobs(self, taught: dict[str, Any]):
        history = History(draws(12))
        for objective in ("waf", "sa"):
            Evaluation(problem_of(objective=objective), history).ranking()
            assert taught["targets"].keys() == {objective}

    @pytest.mark.usefixtures("taught")
    def test_finds_what_the_function_depends_on(self):
        ranking = Evaluation(problem_of(objective="waf"), History(draws(60))).ranking()
        assert set(ranking[:2]) == {"x", "y"}

    @pytest.mark.usefixtures("taught")
    def test_of_no_draws_keeps_the_spaces_order(self):
        ranking = Evaluation(problem_of(), History(draws(12)[:1])).ranking()
        assert ranking == small_space().names
