import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from optimizer.budget.budget import divide
from optimizer.budget.power import ALPHA, LEAST_PAIRS
from optimizer.confirmation.paired_tests import change, interval_of_mean
from optimizer.confirmation.proof import Pair, declared_test, judge
from optimizer.objective.objective_file import load_objective

PAPER = load_objective("paper")
WAF = load_objective("waf")
LEVEL = {"waf": 4.0, "sa": 1.3, "time": 20.0, "rate": 5e4}
NOISE = {"waf": 0.01, "sa": 0.005, "time": 0.05, "rate": 0.05}


def noisy_pairs(
    rng: np.random.Generator, pairs: int, *, better: float = 1.0, noise: float = 1.0
) -> list[Pair]:
    """Runs of the baseline and of a winner whose costs are ``better`` times the baseline's."""

    def run(factor: float) -> dict[str, float]:
        drawn = {n: v * math.exp(noise * NOISE[n] * rng.normal()) for n, v in LEVEL.items()}
        costs = {name: factor * drawn[name] for name in ("waf", "sa", "time")}
        return costs | {"rate": drawn["rate"] / factor}

    return [(run(1.0), run(better)) for _ in range(pairs)]


def waf_pairs(*values: tuple[float, float]) -> list[Pair]:
    return [({"waf": theirs}, {"waf": mine}) for theirs, mine in values]


class TestChange:
    PAIRS = ((10.0, 8.0), (11.0, 9.5), (9.0, 7.0), (10.5, 8.8))

    def test_agrees_with_a_t_test_of_log_ratios(self):
        found = change(self.PAIRS)
        logs = [math.log(mine / theirs) for theirs, mine in self.PAIRS]
        test = stats.ttest_1samp(logs, 0)
        interval = test.confidence_interval(0.95)
        assert found.p == pytest.approx(test.pvalue)
        assert found.percent == pytest.approx(100 * (math.exp(np.mean(logs)) - 1))
        assert found.low == pytest.approx(100 * (math.exp(interval.low) - 1))
        assert found.high == pytest.approx(100 * (math.exp(interval.high) - 1))

    @given(st.lists(st.tuples(st.floats(1e-3, 1e6), st.floats(1e-3, 1e6)), min_size=2, max_size=9))
    def test_lies_within_its_interval(self, pairs):
        found = change(pairs)
        assert found.low <= found.percent <= found.high
        assert 0 <= found.p <= 1
        assert all(map(math.isfinite, (found.percent, found.low, found.high)))

    @pytest.mark.parametrize(
        ("pair", "percent", "p"), [((4.0, 3.0), -25, 0), ((4.0, 4.0), 0, 1), ((0.0, 0.0), 0, 1)]
    )
    def test_without_any_noise_is_certain(self, pair: tuple[float, float], percent: int, p: int):
        found = change([pair] * 3)
        assert (found.percent, found.low, found.high) == pytest.approx((percent,) * 3)
        assert found.p == p

    def test_of_values_that_are_not_above_zero_is_relative_to_the_baselines_mean(self):
        pairs = [(-4.0, 1.0), (-5.0, 0.0), (-6.0, -0.5)]
        found = change(pairs)
        test = stats.ttest_1samp([5 / 5, 5 / 5, 5.5 / 5], 0)
        assert found.percent == pytest.approx(100 * np.mean([1, 1, 1.1]))
        assert found.p == pytest.approx(test.pvalue)

    def test_beyond_all_measure_stays_a_number(self):
        found = change([(1.0, 1e150), (1.0, 2.0)])
        assert math.isfinite(found.high)


@pytest.mark.parametrize("count", [2, 5, 40])
def test_an_interval_of_a_mean_is_that_of_a_t_test(count: int):
    values = np.random.default_rng(count).normal(1, 2, count)
    expected = stats.ttest_1samp(values, 0)
    interval = expected.confidence_interval(0.95)
    mean, half, p = interval_of_mean(values)
    assert (mean - half, mean + half) == pytest.approx((interval.low, interval.high))
    assert p == pytest.approx(expected.pvalue)


class TestVerdict:
    def test_of_one_metric_agrees_with_a_t_test_of_its_log_ratios(self):
        pairs = only(noisy_pairs(np.random.default_rng(5), 6, better=0.97), "waf")
        verdict = judge(WAF, pairs, planned=6)
        logs = [math.log(mine["waf"] / theirs["waf"]) for theirs, mine in pairs]
        assert verdict.p == pytest.approx(
            stats.ttest_1samp(logs, 0, alternative="less").pvalue, rel=0.1
        )
        ratio = math.exp(np.mean(logs))
        middle = (verdict.low + verdict.high) / 2
        assert middle == pytest.approx(1000 * (1 - ratio))
        half = stats.sem(logs) * stats.t.ppf(0.975, 5)
        assert verdict.high - middle == pytest.approx(1000 * ratio * half)
        assert verdict.pairs == 6

    def test_is_of_the_fitness_at_the_geometric_means_of_the_ratios(self):
        pairs = noisy_pairs(np.random.default_rng(5), 6, better=0.97)
        verdict = judge(PAPER, pairs, planned=6)
        means = {n: stats.gmean([mine[n] / theirs[n] for theirs, mine in pairs]) for n in LEVEL}
        fitness = PAPER.fitness(means, dict.fromkeys(LEVEL, 1.0))
        assert (verdict.low + verdict.high) / 2 == pytest.approx(fitness)
        told = f"fitness {fitness:.0f} [{verdict.low:.0f}, {verdict.high:.0f}] over 6 paired runs"
        assert f"{told}, one-sided p = " in verdict.why

    def test_its_interval_is_of_the_spread_of_the_fitness(self):
        """The delta method against many proofs that were made anew."""
        rng = np.random.default_rng(6)
        found = [judge(PAPER, noisy_pairs(rng, 12, better=0.9), planned=12) for _ in range(400)]
        middle = np.array([(v.low + v.high) / 2 for v in found])
        half = np.array([(v.high - v.low) / 2 for v in found]) / stats.t.ppf(0.975, 11)
        assert np.sqrt(np.mean(half**2)) == pytest.approx(middle.std(ddof=1), rel=0.15)

    def test_fitness_is_the_middle_of_its_interval_and_levels_are_medians(self):
        pairs = noisy_pairs(np.random.default_rng(6), 5, better=0.9)
        verdict = judge(PAPER, pairs, planned=5)
        for name in LEVEL:
            assert verdict.baseline[name] == np.median([theirs[name] for theirs, _ in pairs])
            assert verdict.winner[name] == np.median([mine[name] for _, mine in pairs])
        assert verdict.fitness == pytest.approx((verdict.low + verdict.high) / 2)
        assert verdict.fitness == pytest.approx(sum(verdict.terms(PAPER).values()))

    def test_passes_just_when_the_interval_of_the_fitness_lies_above_zero(self):
        rng = np.random.default_rng(7)
        seen = set()
        for _ in range(200):
            verdict = judge(WAF, noisy_pairs(rng, 4, better=0.985), planned=4)
            assert verdict.confirmed == (verdict.low > 0)
            seen.add(verdict.confirmed)
        assert seen == {True, False}

    def test_neighbours_are_compared_so_that_common_drift_cancels(self):
        together = waf_pairs((4.0, 3.9), (8.0, 7.8), (16.0, 15.6), (32.0, 31.2))
        assert judge(WAF, together, planned=4).confirmed

    @pytest.mark.parametrize(("waf", "p"), [(5.0, 1), (4.0, 0.5)], ids=["worse", "equal"])
    def test_what_is_no_better_is_not_confirmed_however_sure(self, waf: float, p: float):
        verdict = judge(WAF, waf_pairs(*[(4.0, waf)] * 8), planned=8)
        assert (verdict.confirmed, verdict.p) == (False, p)

    def test_counters_that_never_vary_confirm(self):
        verdict = judge(WAF, waf_pairs(*[(4.0, 3.0)] * 3), planned=3)
        assert verdict.confirmed
        assert (verdict.low, verdict.fitness, verdict.high) == pytest.approx((250, 250, 250))
        assert verdict.p == 0 and "one-sided p < 0.001 (below" in verdict.why

    def test_needs_three_pairs_to_confirm(self):
        verdict = judge(WAF, waf_pairs((4.0, 3.0), (4.0, 3.0)), planned=5)
        assert LEAST_PAIRS == 3
        assert not verdict.confirmed
        assert "only 2 of 5 pairs" in verdict.why

    def test_pairs_that_lack_a_metric_do_not_count(self):
        pairs = [*waf_pairs((4.0, 3.0), (4.0, 3.1), (4.0, 2.9)), ({"waf": 4.0}, {"sa": 1.0})]
        verdict = judge(WAF, pairs, planned=4)
        assert verdict.pairs == 3
        assert verdict.confirmed
        assert "sa" not in verdict.changes

    def test_all_figures_are_of_the_same_pairs(self):
        lacking = ({"waf": 9.0, "sa": 9.0}, {"sa": 9.0})
        pairs = [*waf_pairs((4.0, 3.0), (4.0, 3.1), (4.0, 2.9)), lacking]
        pairs = [(t | {"p99": 5.0}, m | {"p99": 6.0}) for t, m in pairs]
        verdict, alone = judge(WAF, pairs, planned=4), judge(WAF, pairs[:3], planned=4)
        assert verdict == alone
        assert verdict.baseline["waf"] == 4.0 and "sa" not in verdict.baseline

    def test_nothing_is_said_of_fewer_than_two_pairs_or_where_each_lacks_a_metric(self):
        assert judge(PAPER, waf_pairs(*[(4.0, 3.0)] * 5), planned=5) is None
        for few in ([], [(4.0, 3.0)]):
            assert judge(WAF, waf_pairs(*few), planned=3) is None

    def test_tells_the_change_of_every_metric_that_was_measured_throughout(self):
        pairs = noisy_pairs(np.random.default_rng(8), 5, better=0.9)
        pairs = [(t | {"p99": 5.0}, m | {"p99": 6.0}) for t, m in pairs]
        verdict = judge(PAPER, pairs, planned=5)
        assert verdict.changes.keys() == {*LEVEL, "p99"}
        assert verdict.changes["p99"].percent == pytest.approx(20)
        for name, found in verdict.changes.items():
            alone = change([(t[name], m[name]) for t, m in pairs])
            assert found.model_copy(update=dict.fromkeys(("p_adjusted", "detectable"))) == alone
        # Corrected for the metrics that a verdict may name alone.
        assert verdict.changes["p99"].p_adjusted is None
        assert all(verdict.changes[name].p_adjusted >= verdict.changes[name].p for name in LEVEL)

    def test_the_declared_test_is_the_one_that_is_made(self):
        declared = declared_test(PAPER, 17, divide(48))
        assert (declared["winner"], declared["objective"], declared["pairs"]) == (17, "paper", 4)
        assert declared["planned"] is None
        assert declared["alpha"] == ALPHA == 0.025
        assert "one-sided" in declared["test"]


def only(pairs: list[Pair], name: str) -> list[Pair]:
    return [({name: theirs[name]}, {name: mine[name]}) for theirs, mine in pairs]


class TestBySimulation:
    @pytest.mark.slow
    @pytest.mark.parametrize("pairs", [3, 8])
    def test_noise_alone_is_seldom_called_better(self, pairs: int):
        rng = np.random.default_rng([21, pairs])
        confirmed = sum(
            judge(PAPER, noisy_pairs(rng, pairs), planned=pairs).confirmed for _ in range(500)
        )
        assert confirmed <= stats.binom.ppf(0.99, 500, ALPHA)
        assert confirmed > 0  # a test that never passes would be no test

    @pytest.mark.slow
    @pytest.mark.parametrize("pairs", [8, 60])
    def test_noise_of_a_fifth_in_a_rate_is_seldom_called_better(self, pairs: int):
        """With 60 pairs the mean of the ratios would be called better in 13%."""
        rng, rate = np.random.default_rng(22), load_objective("rate")
        confirmed = sum(
            judge(rate, only(noisy_pairs(rng, pairs, noise=4.0), "rate"), planned=pairs).confirmed
            for _ in range(500)
        )
        assert confirmed <= stats.binom.ppf(0.99, 500, ALPHA)

    @pytest.mark.parametrize(("pairs", "true"), [(3, 0.0), (5, -30.0), (8, 50.0)])
    def test_intervals_hold_the_truth_in_95_percent(self, pairs: int, true: float):
        rng = np.random.default_rng([23, pairs])
        held = 0
        for _ in range(1000):
            runs = np.exp(0.1 * rng.normal(size=(pairs, 2))) * [10, 10 * (1 + true / 100)]
            found = change(runs.tolist())
            held += found.low <= true <= found.high
        low, high = stats.binom.interval(0.999, 1000, 0.95)
        assert low <= held <= high

    @pytest.mark.parametrize(("pairs", "better"), [(3, 0.96), (8, 0.985)])
    def test_an_improvement_is_confirmed_with_the_power_of_the_t_test(self, pairs, better):
        rng = np.random.default_rng([24, pairs])
        confirmed = sum(
            judge(
                WAF, only(noisy_pairs(rng, pairs, better=better), "waf"), planned=pairs
            ).confirmed
            for _ in range(500)
        )
        deviation = better * NOISE["waf"] * math.sqrt(2)
        shift = (1 - better) / deviation * math.sqrt(pairs)
        critical = stats.t.ppf(1 - ALPHA, pairs - 1)
        power = stats.nct.sf(critical, pairs - 1, shift)
        low, high = stats.binom.interval(0.999, 500, power)
        assert 0.2 < power < 0.95
        assert low <= confirmed <= high


def test_the_conditions_of_runs_are_shown_and_not_tested():
    pairs = [
        ({"waf": 4.0, "others_cpu": 0.1, "machine_speed": 1.0},
         {"waf": 3.0 + n / 100, "others_cpu": 0.4, "machine_speed": 2.0})
        for n in range(6)
    ]  # fmt: skip
    verdict = judge(WAF, pairs, planned=6)
    assert verdict is not None
    assert verdict.changes.keys() == {"waf"}
    assert (verdict.winner["others_cpu"], verdict.baseline["machine_speed"]) == (0.4, 1.0)
