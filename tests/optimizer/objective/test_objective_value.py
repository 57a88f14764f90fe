import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer.objective.objective import Limit, Objective, Term, pareto_front
from optimizer.objective.objective_file import load_objective

DEFAULT = {"waf": 4.0, "sa": 2.0, "time": 100.0, "rate": 1000.0}
PAPER = load_objective("paper")

VALUES = st.floats(allow_nan=False, allow_infinity=False)


def changed(**percent: float) -> dict[str, float]:
    return {name: value * (1 + percent.get(name, 0) / 100) for name, value in DEFAULT.items()}


class TestEquation2:
    def test_gives_the_papers_fitness_for_the_papers_changes(self):
        found = PAPER.fitness(changed(waf=-20.65, sa=-54.50, time=5.64, rate=89.68), DEFAULT)
        assert found == pytest.approx(206.5 + 545.0 - 56.4 + 896.8)
        assert found == pytest.approx(1590, abs=3)
        assert PAPER.fitness(DEFAULT, DEFAULT) == 0

    def test_is_the_sum_of_the_terms_that_are_shown(self):
        metrics = changed(waf=-10, sa=20, time=30, rate=-40)
        assert PAPER.gains(metrics, DEFAULT) == pytest.approx(
            {"waf": 100, "sa": -200, "time": -300, "rate": -400}
        )
        assert PAPER.fitness(metrics, DEFAULT) == pytest.approx(-800)

    def test_weighs_each_term(self):
        weighed = Objective("w", (Term("waf", "min", 3.0), Term("rate", "max", 0.5)))
        assert weighed.gains(changed(waf=-10, rate=10), DEFAULT) == pytest.approx(
            {"waf": 300, "rate": 50}
        )

    @given(
        st.lists(st.fixed_dictionaries({}, optional=dict.fromkeys(DEFAULT, VALUES)), max_size=9),
        st.fixed_dictionaries({}, optional=dict.fromkeys(DEFAULT, VALUES)),
    )
    def test_of_many_is_that_of_each(
        self, many: list[dict[str, float]], baseline: dict[str, float]
    ):
        columns = {
            name: np.array([metrics.get(name, np.nan) for metrics in many]) for name in DEFAULT
        }
        found = PAPER.fitness_of_many(columns, baseline)
        single = [PAPER.fitness(metrics, baseline) for metrics in many]
        assert [None if math.isnan(value) else value for value in found] == single

    @pytest.mark.parametrize("missing", ["waf", "sa", "time", "rate"])
    def test_is_unknown_where_a_metric_is_missing_on_either_side(self, missing: str):
        lacking = {name: value for name, value in DEFAULT.items() if name != missing}
        assert PAPER.fitness(lacking, DEFAULT) is None
        assert PAPER.fitness(DEFAULT, lacking) is None
        assert set(PAPER.gains(lacking, DEFAULT)) == set(lacking)

    def test_counts_from_zero_where_the_baseline_is_zero(self):
        stalls = Objective("s", (Term("stall_percent", "min"),))
        assert stalls.fitness({"stall_percent": 2.0}, {"stall_percent": 0.0}) == -2000

    @pytest.mark.parametrize(("direction", "sign"), [("min", -1), ("max", 1)])
    def test_a_negative_baseline_does_not_turn_the_direction(self, direction, sign):
        objective = Objective("n", (Term("score", direction),))
        assert objective.fitness({"score": -5.0}, {"score": -10.0}) == pytest.approx(sign * 500)


class TestLimits:
    @pytest.mark.parametrize(
        ("value", "holds"), [(9.9, False), (10.0, True), (20.0, True), (20.1, False)]
    )
    def test_include_their_bounds(self, value: float, holds: bool):
        assert Limit("p99", at_most=20.0, at_least=10.0).holds({"p99": value}) is holds
        assert not Limit("p99", at_most=20.0).holds({"p50": value})
        assert Limit("p99").holds({"p99": math.inf})

    def test_must_all_hold(self):
        objective = Objective(
            "l", (Term("waf", "min"),), (Limit("sa", at_most=2.0), Limit("rate", at_least=900.0))
        )
        assert objective.admissible(DEFAULT, DEFAULT)
        assert not objective.admissible(DEFAULT | {"sa": 2.1}, DEFAULT)
        assert not objective.admissible(DEFAULT | {"rate": 899.0}, DEFAULT)


class TestOrder:
    LIMITED = Objective("limited", PAPER.terms, (Limit("memory", at_most=100.0),))

    def value(self, metrics: dict[str, float]) -> float:
        return self.LIMITED.rank_value(metrics, DEFAULT)

    def test_a_whole_admissible_measurement_is_worth_its_fitness(self):
        metrics = changed(waf=-10) | {"memory": 100.0}
        assert self.value(metrics) == pytest.approx(self.LIMITED.fitness(metrics, DEFAULT))

    def test_done_beats_cut_off_beats_a_broken_limit(self):
        bad = self.value(changed(waf=20, time=80, rate=-45) | {"memory": 50.0})
        cut_off = self.value({"time": 400.0, "rate": 250.0, "memory": 50.0})
        greedy = self.value(changed(waf=-50, sa=-50, time=-50, rate=900) | {"memory": 101.0})
        assert bad > cut_off > greedy
        assert self.value(DEFAULT) < self.value({"time": 400.0, "memory": 50.0})  # not measured

    def test_a_cut_off_trial_never_beats_the_baseline(self):
        assert PAPER.rank_value({"time": 1.0, "rate": 1e9}, DEFAULT) < 0
        assert load_objective("waf").rank_value({"time": 400.0}, DEFAULT) < 0

    def test_of_two_cut_off_trials_the_one_with_better_bounds_is_first(self):
        assert PAPER.rank_value({"time": 400.0, "rate": 250.0}, DEFAULT) > PAPER.rank_value(
            {"time": 500.0, "rate": 200.0}, DEFAULT
        )

    @pytest.mark.parametrize("objective", ["waf", "paper"])
    def test_even_a_poor_whole_measurement_beats_a_partial_one(self, objective: str):
        whole = changed(waf=250, sa=150, time=150, rate=-60)
        partial = {"time": 400.0, "rate": 250.0}
        found = load_objective(objective)
        assert found.rank_value(whole, DEFAULT) > found.rank_value(partial, DEFAULT)


LEVELS = st.integers(0, 4).map(float)
POINTS = st.dictionaries(
    st.integers(1, 60), st.fixed_dictionaries({"waf": LEVELS, "sa": LEVELS, "rate": LEVELS})
)
TERMS = load_objective("pareto").terms


def dominates(one: dict[str, float], other: dict[str, float]) -> bool:
    no_worse = (
        one["waf"] <= other["waf"] and one["sa"] <= other["sa"] and one["rate"] >= other["rate"]
    )
    return no_worse and one != other


class TestParetoFront:
    @given(POINTS)
    def test_no_member_is_dominated(self, points):
        for member in pareto_front(points, TERMS):
            assert not any(dominates(other, points[member]) for other in points.values())

    @given(POINTS)
    def test_whoever_is_out_is_dominated_by_a_member(self, points):
        front = pareto_front(points, TERMS)
        for key in points.keys() - set(front):
            assert any(dominates(points[member], points[key]) for member in front)

    @given(POINTS.filter(bool))
    def test_is_never_empty(self, points):
        assert pareto_front(points, TERMS)

    def test_leaves_out_what_was_not_wholly_measured(self):
        points = {1: {"waf": 1.0, "sa": 1.0, "rate": 1.0}, 2: {"waf": 0.5, "sa": 0.5}}
        assert pareto_front(points, TERMS) == [1]
        same = points[1]
        assert pareto_front({1: same, 2: dict(same)}, TERMS) == [1, 2]
