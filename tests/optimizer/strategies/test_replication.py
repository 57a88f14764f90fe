"""The strategy `guided` measures again what its models doubt, and no more than that."""

from dataclasses import replace
from functools import cache

import pytest

from optimizer.confirmation.choice import candidates_of
from optimizer.evaluation.evaluation import Evaluation, replicated
from optimizer.run.planning import Budget, plan_of
from optimizer.strategies import guided
from optimizer.strategies.strategy import Proposal
from optimizer.trials.trial import History, Phase, Purpose, Trial
from sampler.bench.outcome import TrialState
from tests.support.optimizer import strategy_contract
from tests.support.optimizer.pretend_bench import (
    PretendBench,
    bowl,
    candidates,
    flat,
    job_of,
    problem_of,
)

pytestmark = pytest.mark.usefixtures("quick_ranking", "unranked")
TRIALS = 48
PROBLEM = problem_of("guided", seed=6)
EXPLORE = plan_of(PROBLEM, Budget(trials=TRIALS), History()).explore


@cache
def ran() -> list[Trial]:
    """A job on a bench without outliers."""
    job = job_of(PROBLEM, TRIALS, PretendBench(noise=0.02))
    job.run()
    return list(job.log.trials())


def searching() -> list[Trial]:
    """Its trials with some of the search ahead, and nothing measured again so far."""
    searched = candidates(ran(), Phase.SEARCH)
    trials = [trial for trial in ran() if trial.number < searched[8].number]
    return [trial for trial in trials if trial.purpose is Purpose.BASELINE or not trial.subject]


def lucky(trials: list[Trial], factor: float = 0.5) -> tuple[list[Trial], int]:
    """The same with one of the worst draws measured far better than it is."""
    objective = PROBLEM.objective
    drawn = candidates(trials, Phase.SAMPLE)
    worst = min(drawn, key=lambda t: objective.fitness(bowl(t.configuration), trials[0].metrics))
    best = max(drawn, key=lambda t: objective.fitness(t.metrics, trials[0].metrics))
    metrics = {name: value * factor for name, value in best.metrics.items()}
    metrics["rate"] = best.metrics["rate"] / factor
    moved = replace(worst, metrics=metrics)
    return [moved if t.number == worst.number else t for t in trials], worst.number


def propose(trials: list[Trial], problem=PROBLEM) -> Proposal:
    proposal = strategy_contract.propose(problem, trials, EXPLORE)
    assert proposal is not None
    return proposal


def measured(trials: list[Trial], proposal: Proposal, **outcome: object) -> list[Trial]:
    number = trials[-1].number + 1
    outcome = {"state": TrialState.DONE, "metrics": bowl(proposal.configuration)} | outcome
    first = next(t for t in trials if t.number == proposal.subject)
    return [*trials, replace(first, number=number, phase=proposal.phase, why=proposal.why,
                             subject=proposal.subject, **outcome)]  # fmt: skip


@pytest.mark.slow
def test_a_lucky_run_is_measured_again_and_then_no_longer_believed():
    trials, number = lucky(searching())
    proposal = propose(trials)
    first = trials[number - 1]
    assert (proposal.subject, proposal.configuration) == (number, first.configuration)
    assert proposal.point == first.point
    assert proposal.why.startswith(f"replication of trial {number}: measured fitness ")
    plan = plan_of(PROBLEM, Budget(trials=TRIALS), History(trials))
    assert number in candidates_of(Evaluation(PROBLEM, History(trials)), plan)
    known = measured(measured(trials, proposal), proposal)
    assert number not in candidates_of(Evaluation(PROBLEM, History(known)), plan)


@pytest.fixture
def whatever_share(monkeypatch: pytest.MonkeyPatch):
    """So that it is not the share that ends the doubts."""
    monkeypatch.setattr(guided, "REPLICATED_SHARE", 1.0)


@pytest.mark.usefixtures("whatever_share")
def test_while_it_is_measured_again_it_is_not_asked_for_once_more():
    trials, number = lucky(searching())
    running = measured(trials, propose(trials), state=TrialState.RUNNING, metrics={})
    assert propose(running).subject != number


def test_what_scatters_no_more_than_the_noise_or_repeats_to_the_byte_is_believed():
    assert propose(searching()).subject is None  # it scatters no more than the noise
    trials, _ = lucky([replace(t, metrics=bowl(t.configuration)) for t in searching()])
    assert propose(trials).subject is None


@pytest.mark.usefixtures("whatever_share")
def test_no_configuration_is_measured_more_than_three_times(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(guided, "Z_THRESHOLD", 0.0)
    trials, number = lucky(searching())
    proposal = propose(trials)
    stubborn = trials[number - 1].metrics
    trials = measured(trials, proposal, metrics=stubborn)
    assert propose(trials).subject == number
    trials = measured(trials, proposal, metrics=stubborn)
    assert propose(trials).subject != number


@pytest.mark.slow
def test_no_more_than_a_tenth_of_what_is_explored_measures_again(monkeypatch: pytest.MonkeyPatch):
    """Where half a standard deviation is a doubt, there would be many more."""
    bench = PretendBench(flat, noise={"waf": 0.3, "sa": 0.01, "time": 0.02, "rate": 0.02})
    job = job_of(PROBLEM, TRIALS, bench)
    monkeypatch.setattr(guided, "Z_THRESHOLD", 0.5)
    job.run()
    explored = candidates(job.log.trials())
    assert len(replicated(explored)) == len(explored) // 10 == 2


@pytest.mark.slow
def test_what_was_given_and_does_not_fit_the_memory_is_not_measured():
    trials, number = lucky(searching())
    given = [replace(t, given=True, point=None) if t.number == number else t for t in trials]
    assert propose(given).subject == number
    assert propose(given).point is None
    poor = replace(PROBLEM)
    object.__setattr__(poor, "affords", lambda _: False)
    assert propose(given, poor).subject is None
