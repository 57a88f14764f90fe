"""What every strategy keeps: pure, new, within the memory budget, fit for trials in flight."""

import random

import pytest
from pretend_bench import (
    STRATEGY_NAMES,
    Job,
    PretendBench,
    bowl,
    candidates,
    configurations,
    flat,
    job_of,
    problem_of,
    unmeasured,
)

from optimizer.budget import divide
from optimizer.history import History
from optimizer.problem import Problem
from optimizer.strategies import find_strategy
from optimizer.strategy import Proposal
from optimizer.trial import Phase, Purpose, Trial
from sampler.errors import InputError
from sampler.outcome import Outcome, TrialState
from sampler.space import digest, memory_bytes
from sampler.space_file import load_space, space_from_document

pytestmark = pytest.mark.usefixtures("quick_ranking")
EVERY = pytest.mark.parametrize("strategy", STRATEGY_NAMES)
TRIALS = 48
EXPLORE = divide(TRIALS).explore


def propose(problem: Problem, trials: list[Trial]) -> Proposal | None:
    history = History(trials)
    strategy = find_strategy(problem.strategy)
    return strategy.propose(problem, history, number=history.next_number, explore=EXPLORE)


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
        with pytest.raises(InputError, match=r"--strategy.*random, lhs, sobol, genetic"):
            find_strategy("annealing")


@EVERY
class TestPurity:
    def test_the_same_history_gives_the_same_proposal(self, strategy: str, jobs: Jobs):
        for seen in before_candidates(jobs[strategy])[::8]:
            again = propose(problem_of(strategy), seen)
            assert again == propose(problem_of(strategy), seen)
            assert again is not None

    def test_a_proposal_does_not_depend_on_those_made_before(self, strategy: str, jobs: Jobs):
        histories = before_candidates(jobs[strategy])[::8]
        problem = problem_of(strategy)
        forward = [propose(problem, seen) for seen in histories]
        backward = [propose(problem, seen) for seen in reversed(histories)]
        assert forward == backward[::-1]

    def test_is_what_the_job_measured(self, strategy: str, jobs: Jobs):
        job = jobs[strategy]
        for seen in before_candidates(job)[::8]:
            proposed = propose(problem_of(strategy), seen)
            trial = job.log.kept[len(seen) + 1]
            assert proposed.configuration == trial.configuration
            assert (proposed.point, proposed.phase, proposed.why) == (
                trial.point,
                trial.phase,
                trial.why,
            )

    def test_the_global_generator_is_neither_used_nor_moved(self, strategy: str, jobs: Jobs):
        for seen in before_candidates(jobs[strategy])[-2:]:  # a newcomer and a child
            proposals = []
            for seed in (1, 2):
                random.seed(seed)
                state = random.getstate()
                proposals.append(propose(problem_of(strategy), seen))
                assert random.getstate() == state
            assert proposals[0] == proposals[1]

    def test_the_history_is_left_as_it_is(self, strategy: str, jobs: Jobs):
        history = History(before_candidates(jobs[strategy])[-1])
        before = list(history)
        find_strategy(strategy).propose(
            problem_of(strategy), history, number=history.next_number, explore=EXPLORE
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


def tiny_problem(strategy: str) -> Problem:
    space = space_from_document(
        {
            "name": "tiny",
            "parameter": [
                {"name": "on", "type": "bool"},
                {"name": "way", "type": "cat", "choices": ["a", "b", "c"]},
            ],
        }
    )
    return problem_of(strategy, space=space, objective="waf")


def tiny_bench() -> PretendBench:
    return PretendBench(lambda c: flat(c) | {"waf": 2.0 + "abc".index(c["way"]) - 0.5 * c["on"]})


@EVERY
class TestNewConfigurations:
    def test_none_is_proposed_twice(self, strategy: str, jobs: Jobs):
        found = [trial.digest for trial in candidates(jobs[strategy].log.trials())]
        assert len(found) == len(set(found)) == EXPLORE

    def test_the_baseline_is_measured_first_and_is_no_candidate(self, strategy: str, jobs: Jobs):
        job = jobs[strategy]
        default = job.problem.space.default_configuration()
        first = job.log.kept[1]
        assert (first.purpose, first.configuration) == (Purpose.BASELINE, default)
        assert first.digest not in {trial.digest for trial in candidates(job.log.trials())}

    def test_a_tiny_space_is_exhausted_and_the_job_ends_well(self, strategy: str):
        job = job_of(tiny_problem(strategy), 24, tiny_bench())
        conclusion = job.run()
        found = candidates(job.log.trials())
        assert len({trial.digest for trial in found}) == len(found) == 5
        best = conclusion.history[conclusion.winner]
        assert best.configuration == {"on": True, "way": "a"}
        assert conclusion.verdict.confirmed

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

    def test_configurations_and_points_agree(self, strategy: str, jobs: Jobs):
        problem = problem_of(strategy)
        for trial in candidates(jobs[strategy].log.trials()):
            assert problem.configuration(trial.point) == trial.configuration
            assert digest(trial.configuration) == trial.digest

    def test_inactive_parameters_are_left_out(self, strategy: str, jobs: Jobs):
        for trial in candidates(jobs[strategy].log.trials()):
            assert ("level" in trial.configuration) == (trial.configuration["codec"] == "tight")

    def test_proposals_end_with_the_budget(self, strategy: str, jobs: Jobs):
        trials = list(jobs[strategy].log.trials())
        explored = candidates(trials)[-1].number
        assert propose(problem_of(strategy), trials[: explored - 1]) is not None
        assert propose(problem_of(strategy), trials[:explored]) is None


def end(trial: Trial) -> Trial:
    outcome = Outcome(state=TrialState.DONE, metrics=bowl(trial.configuration), bench_seconds=12.0)
    return trial.ended(outcome, host="pretended", finished_at=trial.started_at)


@EVERY
@pytest.mark.parametrize("hosts", [2, 5])
class TestTrialsInFlight:
    def test_neither_repeat_nor_stop_a_proposal(self, strategy: str, hosts: int):
        problem = problem_of(strategy)
        history = History(finished_job(strategy).log.trials()[:3])
        running: list[int] = []
        while True:
            number = history.next_number
            proposal = find_strategy(strategy).propose(
                problem, history, number=number, explore=EXPLORE
            )
            if proposal is None:
                break
            trial = Trial(
                number=number,
                phase=proposal.phase,
                purpose=Purpose.CANDIDATE,
                seed=problem.seed_of(number),
                configuration=proposal.configuration,
                digest=digest(proposal.configuration),
                point=proposal.point,
                started_at=history[1].started_at,
            )
            history.put(trial)
            running.append(number)
            if len(running) == hosts:
                # The last that began is the first to end.
                history.put(end(history[running.pop()]))
        found = [trial.digest for trial in history.of(Purpose.CANDIDATE)]
        assert len(found) == len(set(found)) == EXPLORE
        assert len(history.unfinished()) == hosts - 1

    def test_the_proposal_does_not_wait_for_their_outcome(
        self, strategy: str, hosts: int, jobs: Jobs
    ):
        seen = list(before_candidates(jobs[strategy])[-1])
        for place in [i for i, t in enumerate(seen) if t.phase is Phase.SEARCH][-hosts:]:
            seen[place] = unmeasured(seen[place])
        assert propose(problem_of(strategy), seen) is not None


class TestLatinHypercube:
    def test_draws_each_nth_of_each_range_once(self, jobs: Jobs):
        points = [trial.point for trial in candidates(jobs["lhs"].log.trials())]
        for name in jobs["lhs"].problem.space.names:
            cells = sorted(int(point[name] * EXPLORE) for point in points)
            assert cells == list(range(EXPLORE))

    def test_is_not_what_a_random_draw_does(self, jobs: Jobs):
        points = [trial.point for trial in candidates(jobs["random"].log.trials())]
        assert len({int(point["x"] * EXPLORE) for point in points}) < EXPLORE


class TestSobol:
    def test_spreads_more_evenly_than_chance(self, jobs: Jobs):
        points = [trial.point for trial in candidates(jobs["sobol"].log.trials())][:16]
        for name in jobs["sobol"].problem.space.names:
            assert sorted(int(point[name] * 16) for point in points) == list(range(16))


MEMORY = pytest.mark.parametrize("strategy", ["random", "lhs", "genetic"])


@MEMORY
@pytest.mark.parametrize("share", [1.0, 0.25])
def test_every_proposal_keeps_the_memory_budget(strategy: str, share: float):
    space = load_space("default")
    own = memory_bytes(space.context)
    if share < 1:
        space = space.at_baseline({"write_buffer_size": 2**24})
    budget = int(own * share) + 2**23

    def hungry(configuration):
        held = memory_bytes(space.complete(configuration)) / 2**20
        return flat(configuration) | {"waf": 1 + 100 / held}

    problem = problem_of(
        strategy, space=space, memory=budget, objective="waf", top=len(space.names)
    )
    job = job_of(problem, 48, PretendBench(hungry))
    job.run()
    held = [memory_bytes(space.complete(t.configuration)) for t in candidates(job.log.trials())]
    assert max(held) <= budget
    assert len(set(held)) > 5


def test_two_jobs_of_one_specification_are_the_same_job():
    one, two = finished_job("genetic"), finished_job("genetic")
    assert configurations(one.log.trials()) == configurations(two.log.trials())
