"""What the strategies propose, beside what ``strategy_contract`` asks of all of them."""

import pytest

from optimizer.budget.budget import divide
from optimizer.evaluation.evaluation import Evaluation
from optimizer.strategies.registry import find_strategy
from optimizer.strategies.strategy import Proposal
from optimizer.trials.problem import Problem
from optimizer.trials.trial import History, Purpose, Trial
from sampler.common.errors import InputError
from sampler.space.space_file import space_from_document
from tests.support.optimizer.pretend_bench import (
    STRATEGY_NAMES,
    Job,
    PretendBench,
    candidates,
    configurations,
    flat,
    job_of,
    problem_of,
)

pytestmark = pytest.mark.usefixtures("quick_ranking", "unranked")
EVERY = pytest.mark.parametrize("strategy", STRATEGY_NAMES)
TRIALS = 48
EXPLORE = divide(TRIALS).explore
# What no simplified version needs is drawn besides, in no design.
DESIGN = EXPLORE - divide(TRIALS).simplified


def propose(problem: Problem, trials: list[Trial]) -> Proposal | None:
    history = History(trials)
    strategy = find_strategy(problem.strategy)
    return strategy.propose(
        Evaluation(problem, history), number=history.next_number, explore=EXPLORE
    )


def finished_job(strategy: str, **more: object) -> Job:
    job = job_of(problem_of(strategy, **more), TRIALS, PretendBench(noise=0.02))
    job.run()
    return job


class Jobs(dict[str, Job]):
    """One finished job for each strategy, run when it is first asked for."""

    def __missing__(self, strategy: str) -> Job:
        self[strategy] = finished_job(strategy)
        return self[strategy]


@pytest.fixture(scope="module")
def jobs() -> Jobs:
    return Jobs()


def before_candidates(job: Job) -> list[list[Trial]]:
    """The history as it was when each new configuration was proposed."""
    trials = list(job.log.trials())
    return [trials[: trial.number - 1] for trial in candidates(trials)]


class TestNames:
    def test_all_are_found(self):
        assert [find_strategy(name) for name in STRATEGY_NAMES]

    def test_another_is_refused(self):
        with pytest.raises(InputError, match=r"^strategy: .*random, lhs, sobol, genetic"):
            find_strategy("annealing")


@EVERY
class TestPurity:
    def test_the_history_is_left_as_it_is(self, strategy: str, jobs: Jobs):
        history = History(before_candidates(jobs[strategy])[-1])
        before = list(history)
        find_strategy(strategy).propose(
            Evaluation(problem_of(strategy), history), number=history.next_number, explore=EXPLORE
        )
        assert list(history) == before

    def test_another_seed_is_another_job(self, strategy: str, jobs: Jobs):
        other = finished_job(strategy, seed=8)
        mine = {t.digest for t in candidates(jobs[strategy].log.trials())}
        assert mine.isdisjoint(t.digest for t in candidates(other.log.trials()))

    def test_a_trial_keeps_the_seed_of_its_number(self, strategy: str, jobs: Jobs):
        problem = problem_of(strategy)
        for trial in jobs[strategy].log.trials():
            assert trial.seed == problem.seed_of(trial.number)
            assert 0 <= trial.seed < 2**63


@EVERY
class TestNewConfigurations:
    def test_the_baseline_is_measured_first_and_is_no_candidate(self, strategy: str, jobs: Jobs):
        job = jobs[strategy]
        default = job.problem.space.default_configuration()
        first = job.log.kept[1]
        assert (first.purpose, first.configuration) == (Purpose.BASELINE, default)
        assert first.digest not in {trial.digest for trial in candidates(job.log.trials())}

    def test_a_space_of_the_baseline_alone_has_no_winner(self, strategy: str):
        space = space_from_document(
            {
                "name": "one",
                "parameter": [{"name": "way", "type": "cat", "choices": ["only"]}],
            }
        )
        job = job_of(problem_of(strategy, space=space), 12, PretendBench(flat))
        conclusion = job.run()
        assert candidates(job.log.trials()) == []
        assert (conclusion.winner, conclusion.verdict) == (None, None)

    def test_inactive_parameters_are_left_out(self, strategy: str, jobs: Jobs):
        for trial in candidates(jobs[strategy].log.trials()):
            assert ("level" in trial.configuration) == (trial.configuration["codec"] == "tight")


class TestLatinHypercube:
    def test_draws_each_nth_of_each_range_once(self, jobs: Jobs):
        points = [trial.point for trial in candidates(jobs["lhs"].log.trials())]
        for name in jobs["lhs"].problem.space.names:
            cells = sorted(int(point[name] * DESIGN) for point in points[:DESIGN])
            assert cells == list(range(DESIGN))

    def test_is_not_what_a_random_draw_does(self, jobs: Jobs):
        points = [trial.point for trial in candidates(jobs["random"].log.trials())]
        assert len({int(point["x"] * DESIGN) for point in points[:DESIGN]}) < DESIGN


class TestSobol:
    def test_spreads_more_evenly_than_chance(self, jobs: Jobs):
        points = [trial.point for trial in candidates(jobs["sobol"].log.trials())][:16]
        for name in jobs["sobol"].problem.space.names:
            assert sorted(int(point[name] * 16) for point in points) == list(range(16))


def test_two_jobs_of_one_specification_are_the_same_job():
    one, two = finished_job("genetic"), finished_job("genetic")
    assert configurations(one.log.trials()) == configurations(two.log.trials())
