"""Margins of limits: as wide as an unchanged configuration needs, and no wider."""

from dataclasses import replace

import numpy as np
import pytest

from optimizer.budget.budget import divide
from optimizer.budget.power import (
    margin_words,
    with_limit_margins,
)
from optimizer.confirmation.proof import declared_test
from optimizer.objective.objective import Objective, Term, parse_limit
from optimizer.trials.trial import History, Purpose
from tests.support.optimizer.pretend_bench import problem_of, trial_of

RNG = np.random.default_rng(49)
PLAN = divide(90)


def limited(*limits: str) -> Objective:
    return Objective("o", (Term("waf", "min"),), tuple(map(parse_limit, limits)))


def planned(values: list[float], *limits: str, metric: str = "rate", host: str = "h", **more):
    problem = replace(problem_of("random"), objective=limited(*limits), **more)
    runs = [
        trial_of(n, {"waf": 3.0, metric: value}, purpose=Purpose.BASELINE, host=host)
        for n, value in enumerate(values, 1)
    ]
    return with_limit_margins(problem, PLAN, History(runs))


def noisy(noise: float, runs: int = 8, level: float = 1000.0) -> list[float]:
    return (level * np.exp(noise * RNG.standard_normal(runs))).tolist()


def test_without_limits_the_plan_stays():
    assert planned(noisy(0.05)) == PLAN and margin_words(PLAN) == ""


def test_an_unchanged_configuration_needs_a_margin_only_near_the_bound():
    values = noisy(0.03)
    on, near, far = (
        planned(values, f"rate >= {multiple} baseline").margins[0] for multiple in (1, 0.97, 0.8)
    )
    assert on.share > near.share > far.share == 0
    assert on.runs == 8 and on.spread == pytest.approx(0.03, rel=0.6)
    # A limit that asks for an improvement has the margin of a configuration on its bound.
    assert planned(values, "rate >= 1.2 baseline").margins[0].share == on.share
    # More is worse here, so the margin lies above the bound.
    above = planned(values, "rate <= 1 baseline").margins[0].share
    assert (1 + above) * (1 - on.share) == pytest.approx(1, abs=0.002)


def test_a_bound_in_figures_is_compared_with_the_level_of_the_baseline():
    values = noisy(0.1)
    assert planned(values, "rate >= 500 ops/s").margins[0].share == 0
    near = planned(values, "rate >= 960 ops/s").margins[0].share
    beyond = planned(values, "rate >= 2000 ops/s").margins[0].share
    assert 0 < near < beyond
    # At another scale the level is not known, so the margin is that of the bound itself.
    larger = planned(values, "rate >= 500 ops/s", confirm=problem_of("random").workload)
    assert larger.margins[0].share == beyond


@pytest.mark.parametrize("values", [[], [1000.0]])
def test_without_noise_that_is_known_there_is_no_margin(values):
    (margin,) = planned(values, "rate >= 1 baseline").margins
    assert (margin.share, margin.spread, margin.runs) == (0.0, None, len(values))
    assert margin_words(planned(values, "rate >= 1 baseline")).endswith(
        "rate >= 1 baseline without a margin (noise unknown)"
    )


def test_counters_that_repeat_and_stalls_of_0_need_none():
    assert planned([5.0] * 4, "rate >= 1 baseline").margins[0].share == 0
    stalls = planned([0.0] * 4, "stall_percent <= 0", metric="stall_percent")
    assert stalls.margins[0].share == 0
    some = planned([0.0, 2.0, 1.0, 0.0], "stall_percent <= 1 baseline", metric="stall_percent")
    assert some.margins[0].share > 0


def test_hosts_have_levels_of_their_own():
    problem = replace(problem_of("random"), objective=limited("rate >= 1 baseline"))
    runs = [
        trial_of(n, {"waf": 3.0, "rate": level}, purpose=Purpose.BASELINE, host=host)
        for n, (host, level) in enumerate([("a", 1000.0), ("b", 200.0)] * 4, 1)
    ]
    assert with_limit_margins(problem, PLAN, History(runs)).margins[0].share == 0


def test_several_limits_are_to_be_kept_together():
    values = noisy(0.05)
    alone = planned(values, "rate >= 1 baseline").margins[0].share
    both = planned(values, "rate >= 1 baseline", "waf <= 1 baseline").margins
    assert [each.limit for each in both] == ["rate >= 1 baseline", "waf <= 1 baseline"]
    assert both[0].share > alone and both[1].share == 0


def test_margins_are_told_and_declared_before_the_runs():
    plan = planned([1000.0, 1020.0, 990.0, 1010.0, 1000.0], "rate >= 1 baseline")
    (margin,) = plan.margins
    percent = 100 * margin.share
    assert margin_words(plan) == (
        f"limits as 7 pairs can show them: rate >= 1 baseline within a margin of {percent:.1f}% "
        f"(noise of 5 baseline runs: {100 * margin.spread:.2g}%)"
    )
    declared = declared_test(limited("rate >= 1 baseline"), 5, plan)
    assert declared["margins"] == [
        {"limit": "rate >= 1 baseline", "margin": pytest.approx(percent),
         "noise": 100 * margin.spread, "runs": 5}
    ]  # fmt: skip
    # What is told is what is tested: whole tenths of a percent.
    assert percent == pytest.approx(round(percent, 1), abs=1e-9)
