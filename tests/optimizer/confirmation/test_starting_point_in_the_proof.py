"""The best starting point is among the choices and beside the winner in the proof."""

from dataclasses import replace

import pytest

from optimizer.budget.budget import divide
from optimizer.confirmation.choice import best_without_trade, candidates_of, proof_subjects
from optimizer.confirmation.proof import ProofClocks
from optimizer.evaluation.evaluation import Evaluation
from optimizer.results.winner import (
    best_start,
    no_trade_candidate,
)
from optimizer.trials.problem import starting_point
from optimizer.trials.trial import Basis, History, Purpose, Trial
from tests.support.optimizer.known_effects import additive, problem
from tests.support.optimizer.pretend_bench import PretendBench, job_of, problem_of, trial_of
from tests.support.optimizer.tuning_jobs import TWO_TERMS

pytestmark = pytest.mark.usefixtures("quick_ranking", "unranked")
GUESS = {"much": 0.6, "little": "on"}


def test_is_measured_in_every_block_and_told_beside_the_winner():
    asked = problem()
    point = starting_point(asked, "a guess", GUESS)
    found = job_of(replace(asked, starts=(point,)), 36, PretendBench(additive, noise=0.02))
    conclusion = found.run()
    evaluation = conclusion.evaluation
    start = next(t.number for t in conclusion.history if t.is_start)
    assert start in candidates_of(evaluation, conclusion.plan)
    blocks = {}
    for trial in found.log.trials():
        if trial.purpose is Purpose.PROVE:
            blocks.setdefault(trial.round, set()).add(trial.subject)
    assert list(blocks.values()) == [{1, conclusion.winner, start}] * conclusion.plan.pairs
    told = best_start(evaluation, conclusion.plan, conclusion.clocks).document()
    assert (told["trial"], told["name"], told["is_best"]) == (start, "a guess", False)
    assert told["pairs"] == conclusion.plan.pairs
    assert told["low"] < told["fitness"] < told["high"]
    winner = conclusion.verdict
    assert told["ahead"]["fitness"] + told["fitness"] == pytest.approx(winner.fitness, abs=40)
    assert told["change"]["waf"]["percent"] < 0


def test_that_wins_is_measured_once_in_a_block():
    def again(number: int, waf: float, subject: int, place: int) -> Trial:
        metrics, purpose = {"waf": waf, "sa": 2.0}, Purpose.PROVE
        return trial_of(number, metrics, purpose=purpose, subject=subject, round=place)

    history = History(
        [
            measured(1, 4.0, 2.0, purpose=Purpose.BASELINE),
            measured(2, 2.0, 2.0, basis=Basis.START, why="starting point a guess, within"),
            measured(3, 3.0, 2.0),
            again(4, 4.0, 1, 1),
            again(5, 2.0, 2, 1),
            again(6, 2.2, 2, 2),
            again(7, 4.0, 1, 2),
        ]
    )
    plan = replace(divide(60, starts=True), candidates=1)
    evaluation = Evaluation(problem_of(objective=TWO_TERMS), history)
    assert proof_subjects(evaluation, plan) == [1, 2]
    told = best_start(evaluation, plan, ProofClocks()).document()
    assert (told["name"], told["is_best"], told["ahead"]) == ("a guess", True, None)
    assert told["pairs"] == 2
    assert told["fitness"] == pytest.approx(475, abs=2)


def measured(number: int, waf: float, sa: float, **more) -> Trial:
    return trial_of(number, {"waf": waf, "sa": sa}, **more)


class TestNoTrade:
    HISTORY = (
        measured(1, 4.0, 2.0, purpose=Purpose.BASELINE),
        measured(2, 2.0, 2.4),  # the best, which trades
        measured(3, 3.0, 2.0),
        measured(4, 3.5, 1.9),
        measured(5, 3.9, 1.6, basis=Basis.START),
    )

    def test_is_the_best_that_is_worse_in_no_term(self):
        evaluation = Evaluation(problem_of(objective=TWO_TERMS), History(self.HISTORY))
        assert best_without_trade(evaluation) == 3
        plan = replace(divide(60), candidates=3)
        assert candidates_of(evaluation, plan) == [2, 5, 3]
        told = no_trade_candidate(evaluation, 2, None)
        assert (told.trial, told.is_best, told.proven) == (3, False, False)
        assert told.terms == {"waf": pytest.approx(250), "sa": 0}
        assert told.limits == ["waf <= 1 baseline", "sa <= 1 baseline"]

    def test_is_none_where_all_trade(self):
        evaluation = Evaluation(problem_of(objective=TWO_TERMS), History(self.HISTORY[:2]))
        assert best_without_trade(evaluation) is None
        assert no_trade_candidate(evaluation, 2, None) is None
