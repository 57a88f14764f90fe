"""A strategy is run by its protocol alone, and judged by the truth."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from optimizer.strategies.registry import find_strategy
from optimizer.strategies.strategy import Strategy
from optimizer.trials.trial import Purpose
from sampler.bench.outcome import TrialState
from studies.search.best import Effort, search_best
from studies.search.run import run
from studies.tests.learned.known_truth import DEFAULT
from studies.tests.learned.toy_function import toy

CHECKPOINTS = (25, 100)


def judged_by(strategy, seed=0, evaluations=100, function=None):
    return run(
        function or toy(), strategy, seed=seed, evaluations=evaluations, checkpoints=CHECKPOINTS
    )


@dataclass
class Watched(Strategy):
    """Random draws, of which the history is looked at; proposes nothing after `most`."""

    most: int = 1000
    asked: list = field(default_factory=list)

    def samples(self, problem, explore):  # noqa: ARG002
        return explore

    def propose(self, evaluation, *, number, explore):
        history = evaluation.history
        self.asked.append((number, len(history.numbers(Purpose.BASELINE)), explore))
        if len(history.numbers(Purpose.CANDIDATE)) >= self.most:
            return None
        random = find_strategy("random")
        return random.propose(evaluation, number=number, explore=explore)


@dataclass
class Stubborn(Watched):
    """Prefers the trial that it proposed first, whatever was measured."""

    silent: bool = False

    def preferred(self, evaluation):
        history = evaluation.history
        assert len(history.numbers(Purpose.CANDIDATE)) in CHECKPOINTS
        return [] if self.silent else history.numbers(Purpose.CANDIDATE)[:1]


def test_random_draws_come_nearer_to_the_best_with_more_evaluations():
    function = toy()
    best = search_best(function, Effort(2000, 5, 20, 20)).fitness
    found = [judged_by(find_strategy("random"), seed) for seed in range(8)]
    shares = [np.mean([judged[at].fitness for judged in found]) / best for at in (0, 1)]
    assert 0 < shares[0] < shares[1] - 0.03 < 1


def test_the_best_that_exists_is_beyond_its_draws():
    function = toy()
    short, long = (
        search_best(function, effort)
        for effort in (Effort(2000, 1, 0, 1), Effort(2000, 4, 40, 30))
    )
    assert long.fitness > short.fitness + 50
    assert long.fitness == pytest.approx(function.fitness([long.configuration])[0])
    assert long.fitness == long.starts[0] >= long.starts[-1]
    # The formula's optimum in two parameters that matter alone.
    assert long.configuration["codec"] == "fast"
    assert long.configuration["files"] == pytest.approx(0.3, abs=0.05)


def test_runs_of_the_baseline_are_made_as_in_a_job_and_not_counted():
    watched = Watched()
    judged_by(watched)
    assert len(watched.asked) == 100
    assert watched.asked[0] == (4, 3, 100)  # three runs of the baseline came first
    assert watched.asked[-1] == (112, 12, 100)  # and one again after every ten


def test_a_run_is_repeated_by_its_seed():
    genetic = find_strategy("genetic")
    fitness = [[j.fitness for j in judged_by(genetic, s, evaluations=40)] for s in (1, 1, 2)]
    assert fitness[0] == fitness[1] != fitness[2]


def test_a_strategys_own_word_comes_before_the_best_measured():
    watched = Stubborn()
    judged = judged_by(watched)
    assert judged[0].fitness == judged[1].fitness
    assert None not in (judged[0].measured, judged[1].measured)
    silent = judged_by(Stubborn(silent=True))
    assert [j.fitness for j in silent] == [j.fitness for j in judged_by(Watched())]
    assert silent[1].fitness > judged[1].fitness


def test_what_was_recommended_last_stands_when_nothing_more_is_proposed():
    watched = Watched(most=30)
    judged = judged_by(watched)
    assert len(watched.asked) == 31
    until = judged_by(Watched(), evaluations=100)
    assert judged[0].fitness == until[0].fitness
    assert judged[1].measured is not None


def test_a_trial_that_is_too_slow_is_cut_off_as_in_a_job():
    function, history_of = toy(), []

    class Keeps(Watched):
        def propose(self, evaluation, *, number, explore):
            history = evaluation.history
            history_of.append(history)
            return super().propose(evaluation, number=number, explore=explore)

    cutoff = function.problem.search.model_copy(update={"cutoff": 1.0})
    judged_by(
        Keeps(), function=replace(function, problem=replace(function.problem, search=cutoff))
    )
    trials = list(history_of[-1])
    cut = [trial for trial in trials if trial.state is TrialState.CENSORED]
    assert cut and len(cut) < 100
    assert all(trial.metrics.keys() == {"time", "rate"} for trial in cut)
    assert all(trial.purpose is Purpose.CANDIDATE for trial in cut)
    times = [trial.metrics["time"] for trial in trials if trial.purpose is Purpose.CANDIDATE]
    assert max(times) < 1.2 * function.truth.metrics(DEFAULT)["time"]
