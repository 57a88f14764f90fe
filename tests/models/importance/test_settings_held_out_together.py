"""Measurements of one configuration are in the same half of the trials."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from models import importance
from models.random_forest import FeatureMatrix

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
def halved(monkeypatch: pytest.MonkeyPatch) -> list[Rows]:
    """The rows of each half, one after the other."""
    seen: list[Rows] = []
    grow = importance.quick_forests

    def watched(features: Any, targets: Any, rows: np.ndarray, **more: Any) -> Any:
        seen.append(rows.tolist())
        return grow(features, targets, rows, **more)

    monkeypatch.setattr(importance, "quick_forests", watched)
    return seen


def settings_of(rows: Rows, setting: list[int]) -> set[int]:
    return {setting[row] for row in rows}


@quick
@given(drawn=measured, seed=st.integers(0, 99))
def test_halves_share_no_setting(drawn: Any, seed: int, halved: list[Rows]):
    features, target, setting = table_of(*drawn)
    halved.clear()
    importance.split_half(features, {"y": target}, seed=seed, top_k=1, splits=2, trees=2)
    for first, second in zip(halved[::2], halved[1::2], strict=True):
        assert not settings_of(first, setting) & settings_of(second, setting)
        counts, often = Counter(setting), Counter(setting[row] for row in [*first, *second])
        assert all(counts[each] == times for each, times in often.items())
        assert len(often) >= len(counts) - 1
