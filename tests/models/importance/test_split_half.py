from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from models import importance
from models.importance import split_half
from models.random_forest import FeatureMatrix


def halves(planted, rows, *, target=None, **more):
    values = planted.target if target is None else target
    arguments = {"seed": 0, "top_k": 2, "splits": 6} | more
    return split_half(planted.features.rows(rows), {"y": values[rows]}, **arguments)


def test_halves_agree_on_clear_effects_and_more_so_with_more_trials(planted):
    many, few = halves(planted, np.arange(400)), halves(planted, np.arange(24))
    assert many.overlap.tolist() == [1] * 6
    assert many.kendall_tau.mean() > few.kendall_tau.mean()
    assert many.overlap.mean() > few.overlap.mean()


@pytest.mark.slow
def test_halves_of_noise_agree_by_chance(planted):
    rng = np.random.default_rng(1)
    found = [
        halves(planted, np.arange(100), target=rng.permutation(planted.target), seed=seed).overlap
        for seed in range(12)
    ]
    # `codec` has four columns of two levels, the others are continuous: 2 of about 6.
    assert 0.15 < np.mean(found) < 0.5


def test_gaps_of_one_metric_leave_the_others_alone(planted):
    gap = np.full(400, np.nan)
    with_gap = split_half(
        planted.features, {"y": planted.target, "z": gap}, seed=3, top_k=2, splits=2
    )
    alone = split_half(planted.features, {"y": planted.target}, seed=3, top_k=2, splits=2)
    assert with_gap.kendall_tau.tolist() == alone.kendall_tau.tolist()


def test_what_is_constant_teaches_nothing(planted):
    found = halves(planted, np.arange(100), target=np.ones(400))
    assert found.overlap.tolist() == found.kendall_tau.tolist() == [0] * 6
    assert halves(planted, np.arange(19)).overlap.tolist() == [0] * 6  # 9 a half: too few to learn


@pytest.mark.slow
def test_the_seed_decides(planted):
    def taus(seed):
        return halves(planted, np.arange(60), seed=seed).kendall_tau.tolist()

    assert taus(1) == taus(1)
    assert taus(1) != taus(2)


def test_the_top_is_no_more_than_everything(planted):
    assert halves(planted, np.arange(100), top_k=50, splits=2).overlap.tolist() == [1, 1]


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
