import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.oneway import anova_oneway

from models.anova import anova, holm

LABELS = ("low",) * 3 + ("mid",) * 3 + ("high",) * 3
TARGET = [1.0, 2, 3, 2, 3, 4, 6, 7, 8]


def test_an_example_by_hand():
    # Means 2, 3, 7 around 4: between 3 (4 + 1 + 9) = 42 on 2 degrees, within 6 on 6.
    found = anova(LABELS, TARGET)
    assert found.f == pytest.approx(21)
    assert found.p == pytest.approx(1 / 512)  # (1 + 2 F / 6) ** -3 for 2 and 6 degrees
    assert found.eta_squared == pytest.approx(42 / 48)
    assert found.omega_squared == pytest.approx((42 - 2) / (48 + 1))
    assert found.labels == ("low", "mid", "high")
    assert found.means.tolist() == [2, 3, 7]
    assert found.sizes.tolist() == [3, 3, 3]


@pytest.mark.slow
@given(
    st.lists(
        st.lists(st.floats(-100, 100), min_size=2, max_size=12), min_size=2, max_size=5
    ).filter(lambda samples: max(np.ptp(sample) for sample in samples) > 0.01)
)
def test_it_agrees_with_statsmodels_and_sums_of_squares(samples):
    labels = [f"g{i}" for i, sample in enumerate(samples) for _ in sample]
    y = np.concatenate(samples)
    found = anova(labels, y)
    other = anova_oneway(samples, use_var="equal")
    assert found.f == pytest.approx(other.statistic, rel=1e-6, abs=1e-9)
    assert found.p == pytest.approx(other.pvalue, rel=1e-6, abs=1e-12)
    within = sum(np.square(np.array(s) - np.mean(s)).sum() for s in samples)
    total = np.square(y - y.mean()).sum()
    between = total - within
    k, n = len(samples), y.size
    noise = within / (n - k)
    assert found.eta_squared == pytest.approx(between / total, abs=1e-6)
    assert found.omega_squared == pytest.approx(
        (between - (k - 1) * noise) / (total + noise), abs=1e-6
    )


def test_without_effect_p_is_uniform_and_omega_squared_is_zero_on_average():
    rng = np.random.default_rng(0)
    labels = ["a", "b", "c", "d"] * 12
    found = [anova(labels, rng.normal(size=48)) for _ in range(500)]
    assert kstest([a.p for a in found], "uniform").pvalue > 0.05
    assert 0.02 < np.mean([a.p < 0.05 for a in found]) < 0.08
    assert abs(np.mean([a.omega_squared for a in found])) < 0.01
    assert np.mean([a.eta_squared for a in found]) > 0.04  # why omega squared is given too


def test_equal_means_have_an_f_of_zero():
    # Found by Hypothesis: rounding took F just below zero, and p was NaN.
    zeros = [0.0] * 11
    found = anova(["a"] * 12 + ["b"] * 12, [*zeros[1:], 1.0, 0.0, *zeros[2:], 1.0, 0.0, 0.0])
    assert found.f == pytest.approx(0, abs=1e-12)
    assert found.p == pytest.approx(1)


def test_what_cannot_take_part_is_left_out():
    labels = (*LABELS, "alone", None, "low")
    found = anova(labels, [*TARGET, 1e6, 1e6, np.nan])
    assert found.f == pytest.approx(21)
    assert found.labels == ("low", "mid", "high")
    assert found.sizes.tolist() == [3, 3, 3]


@pytest.mark.parametrize(
    ("labels", "target"),
    [
        (["a", "a", "a"], [1.0, 2.0, 3.0]),
        (["a", "a", "b", "b"], [0.1, 0.1, 0.1, 0.1]),
        (["a", "a", "b"], [1.0, 2.0, 3.0]),
        ([None, None], [1.0, 2.0]),
        ([], []),
    ],
    ids=["one group", "constant", "one group and a single", "no labels", "nothing"],
)
def test_nothing_to_compare_is_none(labels, target):
    found = anova(labels, target)
    assert found.f is found.p is found.eta_squared is found.omega_squared is None


def test_a_perfect_separation_has_no_finite_f():
    found = anova(["a", "a", "b", "b"], [1.0, 1.0, 2.0, 2.0])
    assert (found.f, found.p, found.eta_squared, found.omega_squared) == (None, 0, 1, 1)


def test_holm_by_hand():
    # In order: 4 x 0.005, 3 x 0.01, 2 x 0.03, and 1 x 0.04, which may not fall below its elder.
    corrected = holm([0.01, 0.04, None, 0.03, 0.005])
    assert corrected[2] is None
    assert [p for p in corrected if p is not None] == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_holm_stops_at_one_and_takes_nothing():
    assert holm([0.9, 0.8]) == (1, 1)
    assert holm([None, None]) == (None, None)
    assert holm([]) == ()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_agrees_with_statsmodels(p_values):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gc.collect", lambda: 0)  # it would at every correction, which is slow
        np.testing.assert_array_equal(holm(p_values), multipletests(p_values, method="holm")[1])
