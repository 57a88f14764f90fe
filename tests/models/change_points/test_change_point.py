import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from models.change_points import (
    chance,
    cuts_within,
    detect_changes,
    outlier_p,
    pooled_autocorrelation,
    size_of,
    split_p,
    strongest_cuts,
)

# Halves of a thousand steps: exact sums, and no two roundings of the same series.
series = arrays(np.float64, st.integers(5, 30), elements=st.integers(-500, 500).map(float))
nights = st.integers(0, 2**32 - 1).map(lambda seed: np.random.default_rng(seed))


@given(nights, st.integers(8, 40), st.floats(1e-3, 1e3), st.floats(0.1, 100))
@settings(max_examples=50)
def test_unit_of_a_metric_changes_nothing(
    rng: np.random.Generator, length: int, unit: float, stretch: float
) -> None:
    values = 0.1 * rng.standard_normal((1, length))
    one, other = strongest_cuts(values), strongest_cuts(values * stretch + np.log(unit))
    assert one.at == other.at
    assert one.t_squared == pytest.approx(other.t_squared, rel=1e-6)
    assert one.autocorrelation == pytest.approx(other.autocorrelation, abs=1e-6)


@given(series)
@settings(max_examples=50)
def test_better_and_worse_are_found_alike(values: np.ndarray) -> None:
    one, other = strongest_cuts(values[None]), strongest_cuts(-values[None])
    assert one.t_squared == pytest.approx(other.t_squared)
    assert one.at == other.at


@given(nights, st.integers(3, 20), st.integers(2, 20))
@settings(max_examples=50)
def test_size_does_not_depend_on_the_order_before_the_change(
    rng: np.random.Generator, before: int, after: int
) -> None:
    old, new = rng.standard_normal(before), 3 + rng.standard_normal(after)
    size = size_of(old, new)
    other = size_of(rng.permutation(old), new)
    mirrored = size_of(-old, -new)
    assert size.low < size.change < size.high
    assert (size.change, size.low, size.high) == pytest.approx(
        (other.change, other.low, other.high)
    )
    assert (-mirrored.change, -mirrored.high, -mirrored.low) == pytest.approx(
        (size.change, size.low, size.high)
    )


def test_the_cut_is_where_the_level_changes_and_its_interval_holds_it() -> None:
    values = np.random.default_rng(1).standard_normal(40)
    values[22:] += 4
    assert strongest_cuts(values[None]).at[0] == 22
    low, high = cuts_within(values)
    assert low <= 22 <= high
    blurred = cuts_within(np.where(np.arange(40) < 22, values, values - 3))
    assert blurred[1] - blurred[0] > high - low


def test_one_bad_night_is_an_outlier_and_no_change() -> None:
    values = np.random.default_rng(2).standard_normal((8, 60)) * 0.05
    values[0, 30] += 2.0
    watched = detect_changes(values)
    assert not watched.alarms
    mine = [o for o in watched.outliers if o.series == 0]
    assert [o.night for o in mine] == [30]
    assert mine[0].distance == pytest.approx(2.0, abs=0.2)


def test_the_first_nights_of_a_change_are_no_outliers_any_more() -> None:
    values = np.random.default_rng(2).standard_normal((8, 40)) * 0.05
    values[0, 30:] += 1.0
    alone = detect_changes(values[:, :31])
    assert [o.night for o in alone.outliers] == [30]
    assert not alone.alarms
    watched = detect_changes(values)
    assert [(a.since, a.reported <= 33) for a in watched.alarms] == [(30, True)]
    assert not watched.outliers


def test_a_steady_metric_that_moves_is_found_and_rounding_is_not() -> None:
    steady = np.zeros((1, 30))
    rounded = steady + 1e-6 * (np.arange(30) % 7 == 0)
    rounded[0, 20:] += 1e-6
    assert not detect_changes(rounded).alarms
    steady[0, 20:] += 0.02
    assert [a.since for a in detect_changes(steady).alarms] == [20]


def test_nights_that_lack_a_value_are_stepped_over() -> None:
    values = np.random.default_rng(3).standard_normal((8, 40)) * 0.05
    values[0, 30:] += 1.0
    holed = np.insert(values, [4, 12, 31], np.nan, axis=1)
    whole, found = detect_changes(values), detect_changes(holed)
    assert [a.since for a in whole.alarms] == [30]
    assert [a.since for a in found.alarms] == [32]
    assert found.alarms[0].p == whole.alarms[0].p
    assert found.alarms[0].size == whole.alarms[0].size


def test_more_series_share_the_same_false_alarms() -> None:
    values = np.random.default_rng(4).standard_normal((40, 30)) * 0.05
    values[0, 24:] += 0.17
    alone, together = detect_changes(values[:1]), detect_changes(values)
    mine = [a for a in together.alarms if a.series == 0]
    assert alone.alarms and alone.alarms[0].since == 24
    assert alone.alarms[0].by_chance <= 1.0
    assert not mine or mine[0].reported > alone.alarms[0].reported
    assert detect_changes(values[:1], per_100_nights=1e-6).alarms == ()


def test_autocorrelation_of_neighbours_is_seen_and_weakens_the_test() -> None:
    rng = np.random.default_rng(6)
    noise = rng.standard_normal((200, 60))
    alike = noise.copy()
    for night in range(1, 60):
        alike[:, night] = 0.5 * alike[:, night - 1] + noise[:, night]
    weights = np.ones(200)
    found = pooled_autocorrelation(strongest_cuts(alike).autocorrelation, weights)
    none = pooled_autocorrelation(strongest_cuts(noise).autocorrelation, weights)
    assert 0.3 < float(found) < 0.6
    assert float(none) < 0.05
    t_squared = np.array([20.0])
    assert split_p(t_squared, 30, 0.3) > 5 * split_p(t_squared, 30)


def test_chance_pays_for_the_choice_of_the_cut() -> None:
    p = np.logspace(-12, 0, 200)
    for length in (5, 7, 8, 20, 100):
        stated = chance(p, length)
        assert (np.diff(stated) >= 0).all()
        assert (stated[:-1] >= p[:-1]).all() and stated[-1] == 1.0


def test_outlier_p_is_that_of_one_more_normal_value() -> None:
    rng = np.random.default_rng(8)
    found = outlier_p(rng.standard_normal((5000, 20)))
    assert 0.04 < (found < 0.05).mean() < 0.08
