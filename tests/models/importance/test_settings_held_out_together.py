"""A configuration that was measured again is never learned from and judged by alike.

Each trial has a target of its own, so what a forest was grown of tells which trials they were.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from models import random_forest as forest
from models.importance import agreement, stability
from models.importance.design import FeatureMatrix

Rows = list[int]
quick = settings(
    max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
# How often each setting was measured, and the order in which all that came in.
measured = st.integers(10, 24).flatmap(
    lambda count: st.tuples(
        st.lists(st.integers(1, 4), min_size=count, max_size=count), st.randoms()
    )
)


def table_of(often: list[int], order: Any) -> tuple[FeatureMatrix, np.ndarray, list[int]]:
    """Settings, a target a trial, and which setting each row measured."""
    setting = [place for place, times in enumerate(often) for _ in range(times)]
    order.shuffle(setting)
    once = np.random.default_rng(len(often)).random((len(often), 3))
    features = FeatureMatrix(once[setting], ("a", "b", "c"), np.arange(3))
    return features, np.arange(len(setting), dtype=float), setting


@pytest.fixture
def grown(monkeypatch: pytest.MonkeyPatch) -> list[Rows]:
    """The rows that each forest was grown of; they are grown as ever."""
    seen: list[Rows] = []

    def watched(grow: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(x: np.ndarray, y: np.ndarray, **more: Any) -> Any:
            seen.append(y.astype(int).tolist())
            return grow(x, y, **more)

        return wrapper

    grow = watched(forest.grow_forest)
    for module in (forest, stability):
        monkeypatch.setattr(module, "grow_forest", grow)
    return seen


@pytest.fixture
def halved(monkeypatch: pytest.MonkeyPatch) -> list[Rows]:
    """The rows of each half, one after the other."""
    seen: list[Rows] = []
    grow = agreement.quick_forests

    def watched(features: Any, targets: Any, rows: np.ndarray, **more: Any) -> Any:
        seen.append(rows.tolist())
        return grow(features, targets, rows, **more)

    monkeypatch.setattr(agreement, "quick_forests", watched)
    return seen


def settings_of(rows: Rows, setting: list[int]) -> set[int]:
    return {setting[row] for row in rows}


@quick
@given(drawn=measured, seed=st.integers(0, 99))
def test_halves_share_no_setting(drawn: Any, seed: int, halved: list[Rows]):
    features, target, setting = table_of(*drawn)
    halved.clear()
    agreement.split_half(features, {"y": target}, seed=seed, top_k=1, splits=2, trees=2)
    for first, second in zip(halved[::2], halved[1::2], strict=True):
        assert not settings_of(first, setting) & settings_of(second, setting)
        counts, often = Counter(setting), Counter(setting[row] for row in [*first, *second])
        assert all(counts[each] == times for each, times in often.items())
        assert len(often) >= len(counts) - 1


@quick
@given(drawn=measured, seed=st.integers(0, 99))
def test_no_fold_and_no_split_judges_by_a_setting_that_it_was_grown_of(
    drawn: Any, seed: int, grown: list[Rows]
):
    features, target, setting = table_of(*drawn)
    grown.clear()
    fitted = forest.fit_forest(features, target, seed=seed, trees=2)
    assert len(fitted.folds) >= 2
    for fold, rows in zip(fitted.folds, grown, strict=False):  # the first forests are the folds'
        held_out = fold.held_out.tolist()
        assert sorted([*rows, *held_out]) == list(range(len(setting)))
        assert not settings_of(rows, setting) & settings_of(held_out, setting)
    judged = sorted(row for fold in fitted.folds for row in fold.held_out.tolist())
    assert judged == list(range(len(setting)))
    # The forest of the split, and the one of all trials; in whatever order.
    (learned,) = [rows for rows in grown[len(fitted.folds) :] if len(rows) < len(setting)]
    assert Counter(setting[row] for row in learned) == {
        each: Counter(setting)[each] for each in settings_of(learned, setting)
    }


@quick
@given(drawn=measured, seed=st.integers(0, 99))
def test_a_resample_draws_all_measurements_of_a_setting_or_none(
    drawn: Any, seed: int, grown: list[Rows]
):
    features, target, setting = table_of(*drawn)
    grown.clear()
    reference = np.array([0.5, 0.3, 0.2])
    stability.rank_stability(features, target, reference, seed=seed, resamples=3, trees=2)
    assert len(grown) == 3
    for rows in grown:
        drawn_times = Counter(rows)
        for each in settings_of(rows, setting):
            times = {drawn_times[row] for row, own in enumerate(setting) if own == each}
            assert len(times) == 1 and times != {0}
