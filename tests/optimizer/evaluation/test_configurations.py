"""Several measurements of one configuration: one candidate, with the mean of its runs."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer.budget.budget import divide
from optimizer.confirmation.choice import candidates_of
from optimizer.evaluation.baseline import mean_metrics
from optimizer.evaluation.evaluation import (
    Evaluation,
    configurations_of,
    each_once,
    replicated,
)
from optimizer.results.result import conclude, job_result
from optimizer.run.planning import ProgressTracker
from optimizer.trials.trial import History, Purpose, Trial
from sampler.bench.outcome import TrialState
from tests.support.optimizer.pretend_bench import flat, problem_of, trial_of

pytestmark = pytest.mark.usefixtures("quick_ranking")
PLAN = divide(60)
BASELINES = [trial_of(number, flat({}), purpose=Purpose.BASELINE) for number in (1, 2)]


def measured(number: int, x: float, waf: float, **more: object) -> Trial:
    """A trial of the configuration x; ``waf`` decides its fitness, 3 is the baseline's."""
    return trial_of(number, flat({}) | {"waf": waf}, configuration={"x": x}, **more)


def history_of(*trials: Trial) -> History:
    return History([*BASELINES, *trials])


def chosen(history: History, strategy: str = "random") -> list[int]:
    return candidates_of(Evaluation(problem_of(strategy), history), PLAN)


class TestChoosing:
    def test_it_is_one_candidate_with_its_mean(self):
        lucky, other = measured(3, 0.1, waf=1.0), measured(4, 0.2, waf=2.0)
        assert chosen(history_of(lucky, other)) == [3, 4]
        unlucky = measured(5, 0.1, waf=4.0, subject=3)
        assert chosen(history_of(lucky, other, unlucky)) == [4, 3]

    def test_one_that_failed_when_measured_again_is_none(self):
        failed = measured(5, 0.1, waf=1.0, state=TrialState.FAILED, subject=3)
        history = history_of(measured(3, 0.1, waf=1.0), measured(4, 0.2, waf=2.0), failed)
        assert chosen(history) == [4]

    def test_one_that_is_being_measured_again_is_judged_by_what_is_known(self):
        running = measured(5, 0.1, waf=9.0, state=TrialState.RUNNING, subject=3)
        history = history_of(measured(3, 0.1, waf=1.0), measured(4, 0.2, waf=2.0), running)
        assert chosen(history) == [3, 4]

    @given(st.lists(st.tuples(st.integers(0, 3), st.floats(1.0, 5.0)), min_size=1, max_size=12))
    def test_no_configuration_is_there_twice(self, runs: list[tuple[int, float]]):
        trials = [measured(3 + at, x / 4, waf) for at, (x, waf) in enumerate(runs)]
        history = history_of(*trials)
        found = configurations_of(Evaluation(problem_of(), history), trials)
        assert sum(each.runs for each in found) == len(runs)
        assert len(found) == len({x for x, _ in runs})
        numbers = chosen(history)
        assert len({history[n].digest for n in numbers}) == len(numbers)
        assert len(numbers) == min(PLAN.candidates, len(found))


class TestStanding:
    def test_the_best_is_judged_by_its_mean_as_soon_as_it_is_measured_again(self):
        history = history_of(measured(3, 0.1, waf=1.0), measured(4, 0.2, waf=2.0))
        scores = ProgressTracker(problem_of(), history)
        assert scores.progress(60).best == (3, pytest.approx(1000 * 2 / 3))
        unlucky = measured(5, 0.1, waf=4.0, subject=3)
        history.put(replace(unlucky, state=TrialState.RUNNING, metrics={}))
        history.put(unlucky)
        scores.put(unlucky)
        assert scores.progress(60).best == (4, pytest.approx(1000 / 3))
        assert ProgressTracker(problem_of(), history).progress(60) == scores.progress(60)

    @pytest.mark.parametrize("hosts", [("a", "a"), ("a", "b")])
    def test_on_whichever_host_it_was(self, hosts: tuple[str, str]):
        runs = [replace(b, host=h) for h in dict.fromkeys(hosts) for b in BASELINES]
        trials = [replace(run, number=n) for n, run in enumerate(runs, start=1)]
        history, last = History(trials), len(trials)
        history.put(replace(measured(last + 1, 0.1, waf=1.0), host=hosts[0]))
        scores = ProgressTracker(problem_of(), history)
        unlucky = replace(measured(last + 2, 0.1, waf=4.0, subject=last + 1), host=hosts[1])
        history.put(unlucky)
        scores.put(unlucky)
        assert scores.progress(60).best == (last + 1, pytest.approx(1000 / 6))
        baseline = replace(BASELINES[0], number=last + 3, host=hosts[1])
        history.put(baseline)
        scores.put(baseline)
        assert scores.progress(60) == ProgressTracker(problem_of(), history).progress(60)


def test_it_is_once_on_the_pareto_front():
    lucky, unlucky = measured(3, 0.1, waf=1.0), measured(5, 0.1, waf=4.0, subject=3)
    other = measured(4, 0.2, waf=2.0)

    def front(*trials: Trial) -> list[int]:
        conclusion = conclude(Evaluation(problem_of(), history_of(*trials)), PLAN)
        return job_result(conclusion, job={}, environment={}).document()["pareto"]

    assert front(lucky, other) == [3]
    assert front(lucky, other, unlucky) == [4]


class TestEachOnce:
    def test_plots_show_the_mean_under_the_first_number(self):
        trials = [
            *BASELINES,
            measured(3, 0.1, waf=1.0),
            measured(4, 0.2, waf=2.0),
            measured(5, 0.1, waf=4.0, subject=3),
        ]
        kept, fitness = each_once(trials, {1: 0.0, 2: 0.0, 3: 600.0, 4: 300.0, 5: -400.0})
        assert [trial.number for trial in kept] == [1, 2, 3, 4]
        assert fitness == {1: 0.0, 2: 0.0, 3: 100.0, 4: 300.0}
        assert kept[2].metrics["waf"] == 2.5
        assert [trial.number for trial in replicated(trials)] == [5]

    def test_a_job_that_measured_nothing_again_stays_as_it_is(self):
        trials = [*BASELINES, measured(3, 0.1, waf=1.0), measured(4, 0.2, waf=2.0)]
        assert each_once(trials, {3: 1.0}) == (trials, {3: 1.0})
        assert replicated(trials) == []


def test_a_mean_is_of_what_all_runs_have():
    assert mean_metrics([{"waf": 1.0, "sa": 3.0}, {"waf": 2.0}]) == {"waf": 1.5}
