"""The share of overwrites is that of a simulated tree, whose keys are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampler.profile.family_events import Held, Merge, Writes, overwrites


def distinct(keys: np.ndarray) -> int:
    return len(np.unique(keys))


@pytest.mark.slow
@given(st.integers(2_000, 400_000), st.integers(2, 30), st.integers(0, 9))
def test_uniform_puts(space: int, flushes: int, seed: int) -> None:
    random, each = np.random.default_rng(seed), 5_000
    drawn = [random.integers(space, size=each) for _ in range(flushes)]
    merges = [Merge(distinct(keys), writes=each) for keys in drawn]
    merges += [
        Merge(distinct(np.concatenate(drawn)), runs=tuple(distinct(keys) for keys in drawn))
    ]
    held = Held(sum(merge.kept for merge in merges[:-1]), merges[-1].kept)
    found = overwrites([Writes(each, 0)] * flushes, merges, held, new=0)
    live = distinct(np.concatenate(drawn))
    assert found.share == pytest.approx(1 - live / (each * flushes), abs=0.03)
    assert found.live_keys == pytest.approx(live, rel=0.06)


@pytest.mark.slow
@given(st.floats(0.0, 0.6), st.integers(0, 9))
def test_puts_and_deletes_of_the_same_keys(deletes: float, seed: int) -> None:
    random, space, each, flushes = np.random.default_rng(seed), 30_000, 5_000, 20
    live = np.zeros(space, bool)
    over = puts = 0
    merges, history = [], []
    for _ in range(flushes):
        keys, deleted = random.integers(space, size=each), random.random(each) < deletes
        for key, gone in zip(keys, deleted, strict=True):
            over += bool(live[key]) and not gone
            live[key] = not gone
        puts += int((~deleted).sum())
        history.append(Writes(int((~deleted).sum()), int(deleted.sum())))
        last = dict(zip(keys.tolist(), deleted.tolist(), strict=True))
        stones = sum(last.values())
        merges.append(Merge(len(last), each, deletes=int(deleted.sum()), tombstones=stones))
    held = Held(each * flushes, 0)
    found = overwrites(history, merges, held, new=0)
    assert found.share == pytest.approx(over / puts, abs=0.03)
    assert found.live_keys == pytest.approx(live.sum(), rel=0.06)


def test_keys_in_order_and_then_again_at_random() -> None:
    random, space = np.random.default_rng(1), 100_000
    again = [random.integers(space, size=5_000) for _ in range(20)]
    merges = [Merge(distinct(keys), writes=5_000) for keys in again]
    history = [Writes(5_000, 0, counts=False)] * 20 + [Writes(5_000, 0)] * 20
    found = overwrites(history, merges, Held(200_000, 100_000), new=space)
    assert found.share == pytest.approx(1.0, abs=0.03)
    assert found.live_keys == pytest.approx(space, rel=0.03)


def test_keys_that_are_each_written_once() -> None:
    found = overwrites([Writes(1_000, 0)] * 9, [], Held(9_000, 5_000), new=9_000)
    assert found.share == pytest.approx(0.0, abs=1e-4)
    assert found.live_keys == pytest.approx(9_000)


def test_the_tree_bounds_the_live_keys() -> None:
    history = [Writes(10_000, 0)] * 10
    # A few hot keys: memtables drop nine of ten entries, but a level holds many more keys.
    hot = [Merge(1_000, writes=10_000)] * 10
    assert overwrites(history, hot, Held(60_000, 50_000), 0).live_keys == pytest.approx(50_000)
    # Nothing tells of the space: what is held is the most that can live.
    assert overwrites(history, [], Held(40_000, 0), 0).live_keys == pytest.approx(40_000)


def test_no_put_counts() -> None:
    found = overwrites([Writes(5, 0, counts=False)], [], Held(5, 5), new=5)
    assert (found.share, found.live_keys) == (None, 5)
    assert overwrites([], [], Held(0, 0), new=0).live_keys == 0


@pytest.mark.parametrize("single", [False, True], ids=["deletes", "single deletes"])
def test_keys_that_are_put_and_deleted_once_are_not_taken_for_overwritten(single: bool) -> None:
    """A queue: a memtable keeps the deletes and drops the puts, or both with SingleDelete."""
    history = [Writes(5_000, 4_000)] * 20
    kept, stones = (1_000, 0) if single else (5_000, 4_000)
    merges = [Merge(kept, 9_000, deletes=4_000, tombstones=stones)] * 20
    found = overwrites(history, merges, Held(20_000, 1_000), new=0)
    assert (found.share, found.live_keys) == (None, None)


def test_deletes_that_always_hit_are_not_taken_for_deletes_at_random() -> None:
    """Nothing is dropped in memory: puts are deleted long after, and compacted away."""
    history = [Writes(5_000, 4_000)] * 20
    merges = [Merge(9_000, 9_000, deletes=4_000, tombstones=4_000)] * 20
    found = overwrites(history, merges, Held(20_000, 20_000), new=0)
    assert (found.share, found.live_keys) == (None, None)


def test_what_a_compaction_filter_removed_was_not_overwritten() -> None:
    history = [Writes(5_000, 0)] * 20
    merges = [Merge(6_000, runs=(5_000,) * 20)]
    found = overwrites(history, merges, Held(6_000, 6_000), new=5_000, removed=94_000)
    assert found.share == pytest.approx(0.0, abs=0.01)
    assert found.live_keys == pytest.approx(6_000, rel=0.01)
    # Beside them half of the puts overwrite.
    half = [Merge(4_000, writes=5_000)] * 20
    assert (overwrites(history, half, Held(1_000, 1_000), 0, 9_700).share or 0) > 0.5
