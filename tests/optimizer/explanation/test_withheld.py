"""An explanation of too few configurations is withheld, and says what it would need."""

from dataclasses import replace
from typing import Any

import pytest

from jobs.report.changed import withheld_words
from optimizer.budget.budget import divide
from optimizer.evaluation.evaluation import Evaluation
from optimizer.explanation import explain_winner, explained
from optimizer.trials.trial import History, Purpose
from sampler.bench.outcome import TrialState
from sampler.space.space_file import space_from_document
from tests.support.optimizer.known_effects import additive, history_of, problem

WINNER = {
    "much": 0.9, "some": 0.8, "idle": 0.7, "lazy": 0.4, "inert": 0.9, "little": "on", "dull": True,
}  # fmt: skip


def withheld_from(history: History, winner: Any = WINNER) -> dict[str, Any] | None:
    explanation, withheld = explained(Evaluation(problem(), history), winner, low=10.0, high=50.0)
    assert withheld is None or explanation is None
    return withheld


def again(history: History, number: int, times: int) -> None:
    """Measures a trial's configuration so many times more, as a proof does."""
    for _ in range(times):
        repeat = replace(history[number], number=history.next_number, purpose=Purpose.PROVE)
        history.put(repeat)


def test_four_draws_explain_nothing_and_say_what_would():
    history = history_of(problem(), additive, draws=4)
    withheld = withheld_from(history)
    assert withheld == {
        "configurations": 4,
        "needed": 10,
        "changes": 7,
        "trials": 18,
        "why": "withheld: 4 different configurations succeeded, and an explanation needs 10 "
        "(as many as a ranking of the options); --trials 18 measures that many",
    }
    assert divide(18).explore >= 10 > divide(17).explore
    assert withheld_words(withheld) == f"Explanation {withheld['why']}."


def test_runs_of_the_same_configuration_again_do_not_count():
    """A proof repeats the winner: with four draws there were twelve trials, and still four."""
    history = history_of(problem(), additive, draws=4)
    again(history, 4, 16)
    again(history, 1, 16)  # of the baseline
    assert (withheld_from(history) or {})["configurations"] == 4


@pytest.mark.parametrize(("draws", "told"), [(9, False), (10, True)])
def test_as_many_as_a_ranking_needs_are_enough(draws: int, told: bool):
    history = history_of(problem(), additive, draws=draws)
    assert (withheld_from(history) is None) is told
    assert (explain_winner(Evaluation(problem(), history), WINNER, error=10.0) is not None) is told


def test_failed_configurations_do_not_count():
    history = history_of(problem(), additive, draws=10)
    history.put(replace(history[9], state=TrialState.FAILED, metrics={}))
    assert (withheld_from(history) or {})["configurations"] == 9


@pytest.mark.slow
def test_each_change_of_the_winner_takes_a_configuration():
    """Of 24 changes 23 configurations cannot tell one from another."""
    names = [f"x{place}" for place in range(24)]
    rows = [{"name": n, "type": "float", "low": 0.0, "high": 1.0, "default": 0.0} for n in names]
    asked = problem(space_from_document({"name": "many", "parameter": rows}))

    def truth(configuration: Any) -> dict[str, float]:
        return {"waf": 3 - configuration["x0"], "sa": 1.2, "time": 10.0, "rate": 1e5}

    winner = dict.fromkeys(names, 0.5)
    few, withheld = explained(
        Evaluation(asked, history_of(asked, truth, draws=23)), winner, low=10.0, high=50.0
    )
    assert few is None and withheld is not None
    assert (withheld["configurations"], withheld["needed"]) == (23, 24)
    assert "(one for each of the 24 options that the winner changes)" in withheld["why"]
    one = {**asked.space.default_configuration(), "x0": 0.5}
    fewer, _ = explained(
        Evaluation(asked, history_of(asked, truth, draws=23)), one, low=10.0, high=50.0
    )
    assert fewer is not None
    _, doubtful = explained(
        Evaluation(asked, history_of(asked, truth, draws=19)), one, low=10.0, high=50.0
    )
    assert doubtful is not None and doubtful["needed"] == 20
    assert "with fewer, its intervals are too narrow" in doubtful["why"]


def test_a_winner_that_is_the_baseline_is_not_withheld():
    history = history_of(problem(), additive, draws=4)
    default = problem().space.default_configuration()
    assert explained(Evaluation(problem(), history), default, low=10.0, high=50.0) == (None, None)


def test_results_of_earlier_versions_withhold_nothing():
    assert withheld_words(None) is None
