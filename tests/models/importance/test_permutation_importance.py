import numpy as np
import pytest

from models.importance import permutation_importance
from models.random_forest import FeatureMatrix, held_out_folds


def folds_of(features, target):
    return held_out_folds(features, target, seed=0)


@pytest.fixture(scope="module")
def folds(planted):
    return folds_of(planted.features, planted.target)


@pytest.fixture(scope="module")
def lost(planted, folds):
    return permutation_importance(planted.features, planted.target, folds, seed=0)


def test_parameters_without_effect_are_within_noise_of_zero(lost):
    assert np.abs(lost[3:].mean(axis=1)).max() < 0.01
    assert lost[:3].mean(axis=1).min() > 0.02


def test_it_matches_what_the_effect_explains(lost):
    # Shuffling an additive effect e adds 2 Var(e) to the squared error: see how far R2 drops.
    strong, codec, weak, noise = 6**2 / 12, 2.5**2 * 3 / 16, 1.5**2 / 12, 0.3**2
    expected = 2 * np.array([strong, codec]) / (strong + codec + weak + noise)
    np.testing.assert_allclose(lost[:2].mean(axis=1), expected, rtol=0.15)


def test_one_hot_columns_are_shuffled_together():
    # Both columns say the same, so a forest that may use either is fooled only if both move.
    rng = np.random.default_rng(0)
    x = rng.integers(2, size=(200, 1)).astype(float)
    y = x[:, 0] * 5 + rng.normal(scale=0.1, size=200)
    values = np.hstack([x, 1 - x, rng.random((200, 1))])
    features = FeatureMatrix(values=values, names=("two", "idle"), owner=np.array([0, 0, 1]))
    drop = permutation_importance(features, y, folds_of(features, y), seed=0).mean(axis=1)[0]
    assert drop == pytest.approx(2, abs=0.25)  # halves of the level variance, twice


def test_it_asks_about_unseen_trials_only():
    # Noise looks important to a forest that is asked about the trials it learned from.
    rng = np.random.default_rng(3)
    features = FeatureMatrix(values=rng.random((200, 4)), names=tuple("abcd"), owner=np.arange(4))
    noise = rng.normal(size=200)
    lost = permutation_importance(features, noise, folds_of(features, noise), seed=0)
    assert lost.mean(axis=1).max() < 0.1


def test_the_seed_decides(planted, folds):
    def raw(seed):
        return permutation_importance(planted.features, planted.target, folds, seed=seed).tolist()

    assert raw(1) == raw(1)
    assert raw(1) != raw(2)
