"""Limits as multiples of the baseline: what they come to, and who keeps them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer.evaluation.evaluation import Evaluation
from optimizer.objective.objective import Limit, Objective, Term, require_possible
from optimizer.run.planning import ProgressTracker
from optimizer.trials.trial import History, Purpose
from sampler.common.errors import InputError
from tests.support.optimizer.pretend_bench import (
    job_of,
    problem_of,
    trial_of,
)

WAF = (Term("waf", "min"),)
FIGURES = st.floats(min_value=1e-3, max_value=1e9)
RATIOS = st.none() | st.floats(min_value=1e-3, max_value=1e3)


class TestBounds:
    def test_are_the_multiple_of_the_baselines_figure(self):
        objective = Objective("o", WAF, (
            Limit("rate", at_least_baseline=0.95), Limit("time", at_most_baseline=1.1),
            Limit("sa", at_most=2.0),
        ))  # fmt: skip
        assert objective.bounds({"rate": 1000.0, "time": 20.0}) == (
            Limit("rate", at_least=950.0), Limit("time", at_most=22.0), Limit("sa", at_most=2.0),
        )  # fmt: skip

    @pytest.mark.parametrize(
        ("level", "expected"),
        [(100.0, Limit("p99", 110.0, 90.0)), (300.0, Limit("p99", 250.0, 270.0))],
    )
    def test_of_a_figure_and_a_multiple_the_tighter_one_holds(self, level, expected):
        both = Limit("p99", at_most=250, at_most_baseline=1.1, at_least_baseline=0.9)
        found = both.resolved({"p99": level})
        assert (found.at_most, found.at_least) == pytest.approx(
            (expected.at_most, expected.at_least)
        )

    @pytest.mark.parametrize("limit", [
        Limit("rate", at_least_baseline=0.1), Limit("rate", at_most_baseline=10),
    ])  # fmt: skip
    def test_without_a_baseline_nothing_keeps_a_multiple_of_it(self, limit: Limit):
        assert not limit.holds({"rate": 1000.0})
        assert not limit.holds({"rate": 1000.0}, {"time": 1.0})
        assert limit.holds({"rate": 1000.0}, {"rate": 1000.0})

    @given(FIGURES, FIGURES, FIGURES | st.just(math.inf), RATIOS, RATIOS)
    def test_in_figures_say_the_same_of_every_measurement(self, value, level, most, up, down):
        limit = Limit("m", most, -math.inf, up, down)
        bound = limit.resolved({"m": level})
        assert (bound.at_most_baseline, bound.at_least_baseline) == (None, None)
        expected = value <= most
        expected &= up is None or value <= up * level
        expected &= down is None or value >= down * level
        assert bound.holds({"m": value}) == expected == limit.holds({"m": value}, {"m": level})


class TestOrder:
    LIMITED = Objective("o", WAF, (Limit("rate", at_least_baseline=0.95),))

    def test_a_broken_multiple_is_sorted_below_all_that_keep_it(self):
        level = {"waf": 4.0, "rate": 1000.0}
        kept = self.LIMITED.rank_value({"waf": 8.0, "rate": 951.0}, level)
        broken = self.LIMITED.rank_value({"waf": 1.0, "rate": 949.0}, level)
        assert kept == -1000 > broken

    def test_follows_the_baseline_that_it_is_given(self):
        metrics = {"waf": 3.0, "rate": 960.0}
        assert self.LIMITED.admissible(metrics, {"waf": 4.0, "rate": 1000.0})
        assert not self.LIMITED.admissible(metrics, {"waf": 4.0, "rate": 1100.0})

    @pytest.mark.parametrize(("slow", "best"), [(100.0, 3), (90.0, 4)])
    def test_each_host_is_held_to_its_own_baseline(self, slow: float, best: int):
        """On a host half as fast a rate of ``slow`` is as good as twice that on the other."""

        def base(number: int, host: str, rate: float):
            metrics = {"waf": 4.0, "rate": rate}
            return trial_of(number, metrics, purpose=Purpose.BASELINE, host=host)

        history = History([
            base(1, "fast", 200.0), base(2, "fast", 200.0),
            trial_of(3, {"waf": 2.0, "rate": slow}, host="slow"),
            trial_of(4, {"waf": 3.0, "rate": 195.0}, host="fast"),
            base(5, "slow", 100.0), base(6, "slow", 100.0),
        ])  # fmt: skip
        problem = problem_of(objective=self.LIMITED)
        ranked = Evaluation(problem, history).best_first(history.of(Purpose.CANDIDATE))
        assert ranked[0][1].number == best
        standing = ProgressTracker(problem, history).progress(12)
        assert standing.best is not None and standing.best[0] == best


class TestJob:
    def test_a_figure_that_contradicts_a_multiple_ends_it_at_once(self):
        limits = (Limit("rate", at_least=1e9), Limit("rate", at_most_baseline=1.1))
        job = job_of(problem_of(objective=Objective("mine", WAF, limits)), 24)
        with pytest.raises(
            InputError, match=r"objective \(mine\).*no value can be rate >= 1000000000"
        ):
            job.run()
        assert len(job.log.kept) == 1


class TestContradictions:
    @pytest.mark.parametrize(
        "limits",
        [
            (Limit("rate", at_least=10.0), Limit("rate", at_most=9.0)),
            (Limit("rate", at_least_baseline=1.1), Limit("rate", at_most_baseline=1.0)),
            (Limit("a", at_most=1.0), Limit("rate", at_least=3.0), Limit("rate", 2.0)),
        ],
    )
    def test_are_refused(self, limits: tuple[Limit, ...]):
        with pytest.raises(InputError, match=r"^here: no value can be rate >= .* and <= "):
            require_possible(limits, field="here")

    @pytest.mark.parametrize(
        "limits",
        [
            (),
            (Limit("rate", at_least=10.0), Limit("time", at_most=9.0)),
            (Limit("rate", at_least=9.0), Limit("rate", at_most=9.0)),
            (Limit("rate", at_least=9.0), Limit("rate", at_most_baseline=1.0)),
            (Limit("rate", at_least=9.0), Limit("rate", at_least=7.0)),
        ],
    )
    def test_what_can_be_kept_is_not(self, limits: tuple[Limit, ...]):
        require_possible(limits, field="here")
