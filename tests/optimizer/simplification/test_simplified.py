"""Simplified versions of the best: what does nothing goes back, what matters stays."""

from dataclasses import replace

import pytest

from optimizer.confirmation.choice import best_explored, candidates_of, choice_of
from optimizer.evaluation.evaluation import Evaluation
from optimizer.explained import Estimate, Explanation, PathStep, SteppedOption
from optimizer.objective.objective import Limit
from optimizer.results.winner import option_changes
from optimizer.strategies.changes import Changes, noticed, simplified_version
from optimizer.surrogate.predictions import predicted_changes
from optimizer.trials.trial import Basis, Phase, Purpose, Trial
from sampler.space.space_file import load_space
from tests.support.optimizer.known_effects import additive, history_of, problem
from tests.support.optimizer.pretend_bench import PretendBench, job_of

pytestmark = pytest.mark.usefixtures("quick_ranking", "unranked")
MATTERS = {"much", "some", "little"}
ALL = {
    "much": 0.9,
    "some": 0.9,
    "idle": 0.7,
    "lazy": 0.4,
    "inert": 0.8,
    "little": "on",
    "dull": True,
}


def drawn(trials: int = 40) -> Evaluation:
    asked = problem()
    return Evaluation(asked, history_of(asked, additive, draws=trials))


class TestNoticed:
    def test_keeps_what_matters_and_takes_back_what_does_nothing(self):
        evaluation = drawn()
        known, changes = predicted_changes(evaluation), Changes(evaluation.problem, ALL)
        kept = noticed(known, changes)
        assert {"much", "some"} <= kept <= MATTERS

    def test_keeps_a_limit_that_is_kept_with_all_changes(self):
        objective = replace(problem().objective, limits=(Limit("rate", at_least=1.05e5),))
        asked = problem(objective=objective)
        evaluation = Evaluation(asked, history_of(asked, additive, draws=40))
        kept = noticed(predicted_changes(evaluation), Changes(asked, ALL))
        assert "little" in kept  # alone it is worth less than anyone would notice


def test_an_option_has_one_gain_that_of_its_step_in_the_explanation():
    gain = Estimate(expected=120.0, low=80.0, high=160.0)
    changes = [SteppedOption(name=name, before=0, after=1) for name in ("much", "some")]
    step = PathStep(changes=changes, fixed=False, gain=gain, fitness=gain)
    explanation = Explanation(trials=40, predicted=gain, steps=[step])
    rows = {row.name: row for row in option_changes(problem(), ALL, None, explanation)}
    assert rows["much"].gain == rows["some"].gain == gain
    assert rows["much"].reason == "predicted fitness +120 [+80, +160] together with some"
    assert rows["idle"].gain is None
    (first, *_) = option_changes(problem(), ALL, None, None)
    assert (first.gain, first.reason) == (None, "too few trials to predict its effect")


class TestProposal:
    def test_is_one_of_the_best_with_fewer_changes(self):
        evaluation = drawn()
        best = best_explored(evaluation)[:2]
        proposal = simplified_version(evaluation, best)
        before = evaluation.history[best[0]].configuration
        start = evaluation.problem.space.start
        assert (proposal.phase, proposal.basis) == (Phase.SEARCH, Basis.SIMPLIFIED)
        assert proposal.why.startswith(f"simplified: trial {best[0]} with ")
        for name, value in proposal.configuration.items():
            assert value in (before[name], start[name])
        assert any(before[n] != value for n, value in proposal.configuration.items())

    def test_is_none_where_too_little_is_known(self):
        evaluation = drawn(4)
        assert simplified_version(evaluation, best_explored(evaluation)[:1]) is None


def test_a_job_measures_them_last_and_beside_the_full_one_and_proves_what_matters_alone():
    job = job_of(problem(), 60, PretendBench(additive, noise=0.02))
    conclusion = job.run()
    plan, history = conclusion.plan, conclusion.history
    explored = [t for t in history if t.purpose is Purpose.CANDIDATE]
    simplified = [t for t in explored if t.is_simplified]
    assert 1 <= len(simplified) <= plan.simplified
    assert explored.index(simplified[0]) == len(explored) - plan.simplified
    assert len(history) == 60  # what is not needed for them goes on with the search
    chosen = candidates_of(conclusion.evaluation, plan)
    assert {history[number].is_simplified for number in chosen} == {True, False}
    choice = choice_of(conclusion.evaluation, plan)
    own = {each.number: each.own for each in choice.candidates}
    assert choice.fullest is not None and own[choice.fullest.number] > own[choice.winner]
    winner = history[conclusion.winner]
    changed = set(Changes(conclusion.evaluation.problem, winner.configuration).names)
    assert winner.is_simplified and conclusion.verdict.confirmed
    assert "much" in changed <= MATTERS


class Refuting(PretendBench):
    """In the choice the simplified versions do worse than any model expects."""

    def measure(self, trial: Trial) -> dict[str, float]:
        simple = {each.digest for each, _ in self.started if each.is_simplified}
        worse = 1.3 if trial.purpose is Purpose.SELECT and trial.digest in simple else 1.0
        return {n: v * (worse if n == "waf" else 1.0) for n, v in super().measure(trial).items()}


def test_models_however_sure_do_not_overrule_what_was_measured():
    conclusion = job_of(problem(), 60, Refuting(additive, noise=0.02)).run()
    choice = choice_of(conclusion.evaluation, conclusion.plan)
    measured = {each.number: each.fitness for each in choice.candidates}
    assert any(conclusion.history[number].is_simplified for number in measured)
    assert not conclusion.history[conclusion.winner].is_simplified
    assert conclusion.verdict.confirmed


class TestLeaders:
    def test_a_change_that_a_rule_asks_for_follows(self):
        asked = problem(load_space("default"))
        trigger, slowdown = "level0_file_num_compaction_trigger", "level0_slowdown_writes_trigger"
        start = asked.space.start
        winner = {**start, trigger: start[slowdown] + 2, slowdown: start[slowdown] + 4}
        changes = Changes(asked, winner)
        assert {*changes.names} == {trigger, slowdown}
        assert changes.leaders == {slowdown: (trigger,)}
        assert changes.own == 1

    def test_a_change_that_no_rule_asks_for_does_not(self):
        changes = Changes(problem(), ALL)
        assert changes.leaders == {}
        assert changes.own == len(ALL)
