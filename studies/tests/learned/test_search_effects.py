"""What `make prove-effects` calls the truth is true, and what its page counts is what it says."""

import numpy as np
import pytest

from studies.search.effects import TOP, agreement, page, run_seed, true_shares
from studies.tests.learned.toy_function import METRICS, Formula, toy

CODECS = ("slow", "fast", "none")
IDLE = 6  # the last of the twelve parameters


def total_by_definition(place: int, rng: np.random.Generator) -> np.ndarray:
    """Of each metric: the mean variance that is left once all others are held (Sobol' 2001)."""
    function, inside = toy(), []
    names = function.problem.space.names

    def configuration(row):
        values = dict(zip(names, row.tolist(), strict=True))
        return values | {"codec": CODECS[int(3 * values["codec"])]}

    for others in rng.random((300, len(names))):
        rows = np.tile(others, (30, 1))
        rows[:, place] = rng.random(30)
        found = Formula().logarithms([configuration(row) for row in rows])
        inside.append([found[metric].var(ddof=1) for metric in METRICS])
    return np.mean(inside, axis=0)


def test_the_truth_is_the_sobol_total_index():
    function, rng = toy(), np.random.default_rng(5)
    totals = np.array([total_by_definition(place, rng) for place in range(12)])
    expected = (totals / totals.sum(axis=0)).mean(axis=1)
    found = true_shares(function)
    assert found == pytest.approx(expected, abs=0.03)
    assert found[-IDLE:] == pytest.approx(np.zeros(IDLE)) and (found[:-IDLE] > 0.001).all()


def test_a_job_tells_by_each_way_what_matters_on_a_function_whose_truth_is_known():
    function = toy(noise=0.01)
    truth, found = true_shares(function), run_seed(function, 0)
    first = int(np.argmax(truth))
    for way in ("shown", "models", "forest", "random", "both", "genetic"):
        assert np.argmax(found[way]) == first
        assert found[way][-IDLE:].sum() < found[way][:-IDLE].sum() / 2
    sure = found["sure"].astype(bool)
    assert sure[first] and not sure[-IDLE:].any()


def test_the_page_counts_what_the_rows_say():
    truth = [0.4, 0.3, 0.15, 0.1, 0.04, 0.006, 0.004]
    turned = truth[::-1]
    row = {"function": "load", "truth": truth, "recorded": turned, "models": truth, "shown": truth,
           "draws": turned, "genetic": turned, "sure": [1, 1, 0, 0, 0, 1, 0]}  # fmt: skip
    none = {"function": "null", "sure": [0, 0]}
    text = page([row, none, none | {"sure": [0, 1]}])
    three = 5 - 2  # of the five first and the five last of seven
    assert agreement(np.array(truth), np.array(turned)) == pytest.approx([-1, three / TOP])
    assert "| load | process, all trials | 1 | 1.00 | 5.0 | -1.00 | 3.0 |" in text
    assert "| load | impurity, the draws of `genetic` | 1 | -1.00 | 3.0 | 1.00 | 5.0 |" in text
    assert "| load | impurity, all recorded draws | 1 | -1.00 | 3.0 |  |  |" in text
    assert "| shown first: of each metric the better one by prediction | 5.00 | 5.00 |" in text
    assert "Of 3 parameters that the 1 jobs call sure to matter 1 make less than 1%" in text
    assert "`null`) 1 of 2 jobs call a parameter" in text
