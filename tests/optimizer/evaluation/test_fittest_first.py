"""Trials put in order at once, beside what looking at each of them says."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizer.evaluation.baseline import Baseline, summarise
from optimizer.evaluation.evaluation import Evaluation, fittest_first
from optimizer.objective.objective import Objective, Term
from optimizer.trials.trial import History, Purpose, Trial
from tests.support.optimizer.pretend_bench import problem_of, trial_of

OBJECTIVE = Objective("both", (Term("time", "min"), Term("waf", "min", 2.0)))
HOSTS = (None, "a", "b", "c")  # "c" has one run of the baseline, None has none where others do


def measured(number: int, host: str | None, rng: np.random.Generator) -> dict[str, float]:
    """Clocks that drift by a third from end to end, on "b" from twice the level."""
    level = (1 + number / 150) * (2 if host == "b" else 1)
    return {"time": 10 * level * rng.normal(1, 0.02), "waf": rng.normal(3, 0.1)}


def baseline_on(hosts: Sequence[str | None]) -> Baseline:
    rng = np.random.default_rng(5)
    runs = [
        trial_of(n, measured(n, host, rng), purpose=Purpose.BASELINE, host=host)
        for host in hosts
        for n in ([1] if host == "c" else range(1, 50, 3))
    ]
    return summarise(runs)


ONE, MANY = baseline_on(["a"]), baseline_on(["a", "b", "c"])


@st.composite
def trials(draw: st.DrawFn) -> list[Trial]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    found = []
    for number in range(1, draw(st.integers(1, 40)) + 1):
        host = draw(st.sampled_from(HOSTS))
        metrics = measured(number, host, rng)
        if draw(st.integers(0, 9)) == 0:
            del metrics[draw(st.sampled_from(["time", "waf"]))]
        trial = trial_of(number, metrics, host=host)
        unknown = draw(st.integers(0, 9)) == 0
        found.append(replace(trial, started_at=None) if unknown else trial)
    return found


def corrected(baseline: Baseline, trial: Trial) -> dict[str, float]:
    return dict(baseline.corrected(trial.metrics, trial.started_at, trial.host))


@pytest.mark.parametrize("baseline", [ONE, MANY], ids=["one host", "several"])
def test_the_clocks_of_these_baselines_drift(baseline: Baseline):
    assert baseline.noise["time"].drifting


@pytest.mark.parametrize("baseline", [ONE, MANY], ids=["one host", "several"])
@given(known=trials())
def test_is_corrected_as_each_alone(baseline: Baseline, known: list[Trial]):
    many = baseline.corrected_of_many(known, ["waf", "time"])
    alone = [corrected(baseline, trial) for trial in known]
    for name, values in many.items():
        expected = [metrics.get(name, np.nan) for metrics in alone]
        np.testing.assert_array_equal(values, expected)


@pytest.mark.parametrize("baseline", [ONE, MANY], ids=["one host", "several"])
@given(known=trials())
def test_the_order_is_that_of_each_ones_worth(baseline: Baseline, known: list[Trial]):
    worth = {
        t.number: OBJECTIVE.rank_value(corrected(baseline, t), baseline.metrics) for t in known
    }
    expected = sorted(known, key=lambda t: (-worth[t.number], t.number))
    assert fittest_first(OBJECTIVE, baseline, known) == expected


@settings(max_examples=30)
@given(data=st.data())
def test_the_best_are_what_looking_at_all_trials_anew_gives(data: st.DataObject):
    """Whichever host has measured its baseline last, and however often."""
    problem = problem_of(objective=OBJECTIVE)
    grown = Evaluation(problem, History())
    for number in range(1, data.draw(st.integers(4, 12))):
        baseline = number <= 2 or data.draw(st.booleans())
        host = "ab"[number - 1] if number <= 2 else data.draw(st.sampled_from("abc"))
        slow = {"a": 1.0, "b": 2.0, "c": 5.0}[host]
        noise = data.draw(st.floats(0.9, 1.1))
        metrics = {"time": 10 * slow * noise, "waf": 3.0}
        purpose = Purpose.BASELINE if baseline else Purpose.CANDIDATE
        grown.history.put(trial_of(number, metrics, purpose=purpose, host=host))
        anew = Evaluation(problem, History(grown.history))
        found, expected = (
            each.best_first(each.history.of(Purpose.CANDIDATE)) for each in (grown, anew)
        )
        assert [t.number for _, t in found] == [t.number for _, t in expected]
        assert [value for value, _ in found] == pytest.approx([value for value, _ in expected])
