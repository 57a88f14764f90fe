"""What every strategy keeps, whoever wrote it: a class of tests to be told the strategies."""

import random
import tempfile
from collections.abc import Iterable
from functools import cache
from itertools import product

import numpy as np
import pytest

from optimizer.budget.budget import divide
from optimizer.evaluation.evaluation import Evaluation
from optimizer.strategies.registry import find_strategy
from optimizer.strategies.strategy import DrawThenSearch, Proposal
from optimizer.trials.problem import Problem
from optimizer.trials.trial import History, Phase, Purpose, Trial
from sampler.bench.outcome import Outcome, TrialState
from sampler.space.space import digest, memory_bytes
from sampler.space.space_file import load_space, space_from_document
from tests.support.optimizer.pretend_bench import (
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

TRIALS = 32
EXPLORE = divide(TRIALS).explore


def bench() -> PretendBench:
    return PretendBench(noise=0.02, fails=lambda trial: "no" if trial.number == 8 else None)


@cache
def finished(strategy: str) -> Job:
    """A finished job, run when it is first asked for."""
    job = job_of(problem_of(strategy), TRIALS, bench())
    job.run()
    return job


def histories(strategy: str) -> list[list[Trial]]:
    """The trials of the job as they were when each candidate was proposed, an early one first."""
    trials = list(finished(strategy).log.trials())
    return [trials[: trial.number - 1] for trial in candidates(trials)]


def propose(problem: Problem, trials: list[Trial], explore: int = EXPLORE) -> Proposal | None:
    history = History(trials)
    return find_strategy(problem.strategy).propose(
        Evaluation(problem, history), number=history.next_number, explore=explore
    )


def measured(history: History, proposal: Proposal, problem: Problem) -> Trial:
    """The proposal as a trial that runs."""
    return Trial(
        number=history.next_number,
        phase=proposal.phase,
        purpose=Purpose.CANDIDATE,
        seed=problem.seed_of(history.next_number),
        configuration=proposal.configuration,
        digest=digest(proposal.configuration),
        point=proposal.point,
        subject=proposal.subject,
        host="pretended-host",
        started_at=history[1].started_at,
    )


def new(trials: Iterable[Trial]) -> list[str]:
    """The digests of the candidates that are new: those measured again on purpose left out."""
    return [trial.digest for trial in candidates(trials) if trial.subject is None]


def end(trial: Trial) -> Trial:
    outcome = Outcome(state=TrialState.DONE, metrics=bowl(trial.configuration), bench_seconds=12.0)
    return trial.ended(outcome, host="pretended-host", finished_at=trial.started_at)


class StrategyContract:
    """Each test takes the name of a strategy; a subclass parametrises ``strategy``."""

    def test_the_same_history_gives_the_same_proposal(self, strategy: str):
        for seen in histories(strategy)[::-8]:
            first = propose(problem_of(strategy), seen)
            assert first is not None
            assert propose(problem_of(strategy), seen) == first

    def test_proposals_do_not_depend_on_those_made_before(self, strategy: str):
        job = finished(strategy)
        for seen in histories(strategy)[::-8]:  # the last first
            proposal = propose(problem_of(strategy), seen)
            trial = job.log.kept[len(seen) + 1]
            assert (proposal.configuration, proposal.point, proposal.why) == (
                trial.configuration, trial.point, trial.why,
            )  # fmt: skip

    def test_global_generators_are_neither_used_nor_moved(self, strategy: str):
        seen = histories(strategy)[-1]
        assert seen[0].configuration == problem_of(strategy).space.default_configuration()
        proposals = []
        for seed in (1, 2):
            random.seed(seed)
            np.random.seed(seed)
            states = random.getstate(), np.random.get_state()[1].tolist()
            proposals.append(propose(problem_of(strategy), seen))
            assert (random.getstate(), np.random.get_state()[1].tolist()) == states
        assert proposals[0] == proposals[1]

    def test_nothing_is_said_or_written(self, strategy: str, capfd, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        assert propose(problem_of(strategy), histories(strategy)[-1]) is not None
        assert capfd.readouterr() == ("", "")
        assert list(tmp_path.iterdir()) == []

    def test_another_seed_proposes_another_configuration(self, strategy: str):
        # At the end two that follow models may well agree.
        first = histories(strategy)[0]
        mine, other = (
            propose(problem_of(strategy), first),
            propose(problem_of(strategy, seed=8), first),
        )
        assert mine.configuration != other.configuration

    def test_no_configuration_is_measured_twice(self, strategy: str):
        trials = {trial.number: trial for trial in finished(strategy).log.trials()}
        found = new(trials.values())
        assert len(found) == len(set(found))
        again = [t for t in candidates(trials.values()) if t.subject is not None]
        assert len(found) + len(again) == EXPLORE
        assert len(again) <= EXPLORE / 10
        assert all(t.configuration == trials[t.subject].configuration for t in again)
        assert not again or find_strategy(strategy).has_models

    def test_points_lie_in_the_cube_and_stand_for_the_configurations(self, strategy: str):
        problem = problem_of(strategy)
        for trial in candidates(finished(strategy).log.trials()):
            assert all(0 <= coordinate < 1 for coordinate in trial.point.values())
            assert all(type(coordinate) is float for coordinate in trial.point.values())
            assert problem.configuration(trial.point) == trial.configuration
            assert ("level" in trial.configuration) == (trial.configuration["codec"] == "tight")
            assert trial.seed == problem.seed_of(trial.number) and 0 <= trial.seed < 2**63

    def test_proposals_end_with_the_budget(self, strategy: str):
        explored = candidates(finished(strategy).log.trials())[-1].number
        assert propose(problem_of(strategy), finished(strategy).log.trials()[:explored]) is None

    def test_draws_come_first_and_a_search_after_them(self, strategy: str):
        draws = find_strategy(strategy).samples(problem_of(strategy), EXPLORE)
        phases = [trial.phase for trial in candidates(finished(strategy).log.trials())]
        assert phases == [Phase.SAMPLE] * draws + [Phase.SEARCH] * (EXPLORE - draws)

    @pytest.mark.parametrize("hosts", [2, 5])
    def test_trials_in_flight_neither_repeat_nor_stop_it(self, strategy: str, hosts: int):
        problem, running = problem_of(strategy), []
        history = History(finished(strategy).log.trials()[:3])
        while True:
            proposal = propose(problem, list(history))
            if proposal is None:
                break
            history.put(measured(history, proposal, problem))
            running.append(history.next_number - 1)
            if len(running) == hosts:  # the last that began is the first to end
                history.put(end(history[running.pop()]))
        found = new(history)
        assert len(found) == len(set(found)) >= 0.9 * EXPLORE
        assert len(history.of(Purpose.CANDIDATE)) == EXPLORE
        assert len(history.unfinished()) == hosts - 1

    def test_a_proposal_waits_for_no_outcome(self, strategy: str):
        seen = list(histories(strategy)[-1])
        for place in [i for i, t in enumerate(seen) if t.purpose is Purpose.CANDIDATE][-6:]:
            seen[place] = unmeasured(seen[place])
        assert propose(problem_of(strategy), seen) is not None

    def test_nor_is_it_stopped_where_all_have_failed(self, strategy: str):
        def fails(trial: Trial) -> str | None:
            return "no" if trial.purpose is Purpose.CANDIDATE else None

        job = job_of(problem_of(strategy), 24, PretendBench(fails=fails))
        job.run()
        found = [trial.digest for trial in candidates(job.log.trials())]
        assert len(found) == len(set(found)) >= divide(24).explore

    def test_equal_measurements_do_not_stop_it(self, strategy: str):
        job = job_of(problem_of(strategy), 24, PretendBench(flat))
        job.run()
        assert len({t.digest for t in candidates(job.log.trials())}) == divide(24).explore

    def test_a_killed_job_goes_on_as_if_nothing_had_happened(self, strategy: str, whole: bool):
        job = finished(strategy)
        once = ((2, False), (10, True), (18, False))
        for length, running in product((2, 10, 18), (False, True)) if whole else once:
            again = Job(job.problem, job.budget, bench(), job.log.cut(length, running=running))
            again.run()
            assert configurations(again.log.trials()) == configurations(job.log.trials())
            assert [t.point for t in again.log.trials()] == [t.point for t in job.log.trials()]

    def test_what_it_searches_gets_better(self, strategy: str):
        if not isinstance(find_strategy(strategy), DrawThenSearch):
            pytest.skip(f"{strategy} draws at random as well as it searches")
        job = job_of(problem_of(strategy, objective="waf", over=("x", "y"), seed=3), 40)
        job.run()
        drawn = [t.metrics["waf"] for t in candidates(job.log.trials(), Phase.SAMPLE)]
        searched = [t.metrics["waf"] for t in candidates(job.log.trials(), Phase.SEARCH)]
        assert np.median(searched[len(searched) // 2 :]) < np.median(drawn)

    def test_named_parameters_alone_are_searched(self, strategy: str):
        if "over" not in find_strategy(strategy).settings:
            pytest.skip(f"{strategy} draws over all parameters: --over is refused")
        job = job_of(problem_of(strategy, over=("y", "codec")), 24, bench())
        job.run()
        searched = candidates(job.log.trials(), Phase.SEARCH)
        assert searched
        assert all(trial.point.keys() == {"y", "codec"} for trial in searched)
        assert {trial.configuration["x"] for trial in searched} == {0.9}

    def test_what_is_never_searched_stays_at_the_baseline(self, strategy: str):
        if "samples" not in find_strategy(strategy).settings:
            pytest.skip(f"{strategy} searches nothing")
        problem = problem_of(strategy, space=load_space("paper"), objective="waf")
        bench = PretendBench(lambda c: flat(c) | {"waf": 1.0 + c["threads"]})
        job = job_of(problem, 24, bench)
        job.run()
        searched = candidates(job.log.trials(), Phase.SEARCH)
        assert {trial.configuration["threads"] for trial in searched} == {1}

    def test_every_proposal_keeps_the_memory_budget(self, strategy: str):
        if strategy == "sobol":
            pytest.skip("warns that its draws are no power of two in so many dimensions")
        space = load_space("default").at_baseline({"write_buffer_size": 2**24})
        budget = memory_bytes(space.context) + 2**23

        def hungry(configuration):
            held = memory_bytes(space.complete(configuration)) / 2**20
            return flat(configuration) | {"waf": 1 + 100 / held}

        problem = problem_of(
            strategy, space=space, memory=budget, objective="waf",
            over=("write_buffer_size", "max_write_buffer_number"),
        )  # fmt: skip
        job = job_of(problem, 24, PretendBench(hungry))
        job.run()
        found = candidates(job.log.trials())
        held = [memory_bytes(space.complete(trial.configuration)) for trial in found]
        assert max(held) <= budget
        assert len(set(held)) > 5

    def test_a_space_of_the_baseline_alone_has_no_winner(self, strategy: str):
        only = {"name": "way", "type": "cat", "choices": ["only"]}
        space = space_from_document({"name": "one", "parameter": [only]})
        job = job_of(problem_of(strategy, space=space), 12, PretendBench(flat))
        conclusion = job.run()
        assert candidates(job.log.trials()) == []
        assert (conclusion.winner, conclusion.verdict) == (None, None)

    def test_a_tiny_space_is_exhausted(self, strategy: str):
        document = {
            "name": "tiny",
            "parameter": [
                {"name": "on", "type": "bool"},
                {"name": "way", "type": "cat", "choices": ["a", "b", "c"]},
                {"name": "only", "type": "cat", "choices": ["one"]},
            ],
        }
        bench = PretendBench(
            lambda c: flat(c) | {"waf": 2.0 + "abc".index(c["way"]) - 0.5 * c["on"]}
        )
        space = space_from_document(document)
        job = job_of(problem_of(strategy, space=space, objective="waf"), 24, bench)
        conclusion = job.run()
        found = {trial.digest for trial in candidates(job.log.trials())}
        assert len(found) == len(candidates(job.log.trials())) == 5
        best = conclusion.history[conclusion.winner].configuration
        assert (best["on"], best["way"]) == (True, "a")
        assert conclusion.verdict.confirmed
