"""Hosts of different speed whose own baseline is hardly known, or not at all."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from optimizer.budget.budget import divide
from optimizer.confirmation.choice import candidates_of, choice_of
from optimizer.evaluation.evaluation import Evaluation
from optimizer.objective.objective import Limit, Objective, Term
from optimizer.trials.trial import BASELINE_TRIAL, History, Phase, Purpose, Trial
from sampler.bench.outcome import TrialState
from tests.support.optimizer.pretend_bench import (
    ListLog,
    Watcher,
    bowl,
    problem_of,
    trial_of,
)
from tests.support.optimizer.pretend_hosts import PretendHost, PretendHosts, tuned

pytestmark = pytest.mark.usefixtures("unranked")
TRIALS = 60
QUICK, SLOW = "quick", "slow"


@pytest.mark.slow
def test_a_host_whose_first_runs_failed_measures_its_baseline_again_before_it_explores():
    """With a single run it is compared with nothing of its own, and leads by being quick."""
    problem = problem_of("random")
    ran: list[int] = []

    def fails(trial: Trial) -> str | None:
        if trial.purpose is not Purpose.BASELINE or len(ran) >= 3:
            return None
        ran.append(trial.number)
        return "disk error" if len(ran) in (1, 2) else None

    hosts = [PretendHost(QUICK, fails=fails), PretendHost(SLOW, slow=2.0)]
    conclusion = tuned(problem, TRIALS, PretendHosts(hosts))
    history = conclusion.history
    mine = [history[n] for n in history.on_host(QUICK, Purpose.BASELINE)]
    explored = [history[n] for n in history.on_host(QUICK, Purpose.CANDIDATE)]
    before = [run for run in mine if run.done and run.number < explored[0].number]
    assert len(ran) == 3 and len(before) >= 2
    truth = bowl(problem.space.default_configuration())
    for value, trial in Evaluation(problem, history).comparable(explored):
        fair = problem.objective.fitness(bowl(trial.configuration), truth)
        assert value == pytest.approx(fair, abs=150)


LIMITED = Objective("limited", (Term("waf", "min"),), limits=(Limit("rate", at_least=80.0),))
GOOD, BROKEN = 7, 8


def chosen_on_a_late_host(slow: float) -> int | None:
    """Of a round on a host that has measured nothing before; ``GOOD`` keeps the limit there."""
    metrics = {
        BASELINE_TRIAL: {"waf": 3.0, "rate": 100.0},
        GOOD: {"waf": 2.0, "rate": 95.0},
        BROKEN: {"waf": 2.9, "rate": 160.0},
    }
    trials = [
        trial_of(n, metrics[BASELINE_TRIAL], purpose=Purpose.BASELINE, host=QUICK)
        for n in range(1, 7)
    ]
    trials += [trial_of(n, metrics[n], host=QUICK) for n in (GOOD, BROKEN)]
    for number, subject in enumerate((BASELINE_TRIAL, GOOD, BROKEN), start=9):
        own = metrics[subject]
        again = trial_of(
            number,
            {"waf": own["waf"], "rate": own["rate"] / slow},
            configuration=trials[subject - 1].configuration,
            purpose=Purpose.SELECT,
            phase=Phase.CONFIRM,
            subject=subject,
            host=SLOW,
        )
        trials.append(replace(again, round=1))
    evaluation = Evaluation(problem_of(objective=LIMITED), History(trials))
    plan = replace(divide(24), candidates=2, rounds=1)
    assert set(candidates_of(evaluation, plan)) == {GOOD, BROKEN}
    return choice_of(evaluation, plan).winner


@pytest.mark.parametrize("slow", [1.0, 2.0, 0.5])
def test_candidates_are_compared_with_the_baseline_beside_them(slow: float):
    assert chosen_on_a_late_host(slow) == GOOD


@pytest.mark.slow
@pytest.mark.parametrize("others", [1, 2])
def test_a_host_that_comes_to_confirm_and_cannot_measure_costs_no_pair(others: int):
    """It fails within a second, and would be given one pair after the other."""
    good = [PretendHost(f"good{n}") for n in range(others)]
    alone = tuned(problem_of("random"), TRIALS, PretendHosts(good))
    begun = next(t.started_at for t in alone.history if t.phase is Phase.CONFIRM)
    at = (begun - min(t.started_at for t in alone.history)).total_seconds()
    late = PretendHost("late", there=(at, math.inf), fails=lambda _trial: "no such file")
    log, watcher = ListLog(), Watcher()
    conclusion = tuned(
        problem_of("random"), TRIALS, PretendHosts([*good, late]), log=log, watcher=watcher
    )
    assert any(host == "late" for host in watcher.aside)
    assert "no such file" in log.documents["hosts_set_aside"]["hosts"]["late"]
    assert conclusion.verdict.pairs == conclusion.plan.pairs == divide(TRIALS).pairs
    assert len(conclusion.history) == TRIALS
    assert {trial.state for trial in conclusion.history} == {TrialState.DONE}


@pytest.mark.slow
def test_a_host_that_comes_to_confirm_and_measures_helps():
    good = PretendHost("good")
    alone = tuned(problem_of("random"), TRIALS, PretendHosts([good]))
    begun = next(t.started_at for t in alone.history if t.phase is Phase.CONFIRM)
    at = (begun - min(t.started_at for t in alone.history)).total_seconds()
    late = PretendHost("late", there=(at, math.inf), slow=2.0)
    conclusion = tuned(problem_of("random"), TRIALS, PretendHosts([good, late]))
    proof = conclusion.history.of(Purpose.PROVE)
    assert {trial.host for trial in proof} == {"good", "late"}
    assert conclusion.verdict is not None and conclusion.verdict.confirmed
