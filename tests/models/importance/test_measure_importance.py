import numpy as np
import pytest

from models.importance.design import FeatureMatrix
from models.importance.importance import measure_importance
from models.random_forest import fit_forest


@pytest.fixture(scope="module")
def found(planted):
    forest = fit_forest(planted.features, planted.target, seed=0)
    return forest, measure_importance(planted.features, planted.target, forest, seed=0)


def test_planted_effects_are_found_in_order(found):
    for importances in (found[1].mdi, found[1].permutation_mean):
        assert np.argsort(-importances)[:3].tolist() == [0, 1, 2]


def test_parameters_without_effect_are_within_noise_of_zero(found):
    useless = found[1].permutation_mean[3:]
    assert np.abs(useless).max() < 0.01
    assert found[1].permutation_mean[:3].min() > 0.02


def test_permutation_matches_what_the_effect_explains(found):
    # Shuffling an additive effect e adds 2 Var(e) to the squared error: see how far R2 drops.
    strong, codec, weak, noise = 6**2 / 12, 2.5**2 * 3 / 16, 1.5**2 / 12, 0.3**2
    expected = 2 * np.array([strong, codec]) / (strong + codec + weak + noise)
    np.testing.assert_allclose(found[1].permutation_mean[:2], expected, rtol=0.15)


def test_one_hot_columns_are_summed(planted, found):
    forest, importance = found
    columns = forest.model.feature_importances_
    assert importance.mdi[1] == pytest.approx(columns[1:5].sum())
    assert importance.mdi.sum() == pytest.approx(1)
    assert importance.mdi.shape == (planted.features.n_parameters,)


def test_one_hot_columns_are_shuffled_together():
    # Both columns say the same, so a forest that may use either is fooled only if both move.
    rng = np.random.default_rng(0)
    x = rng.integers(2, size=(200, 1)).astype(float)
    y = x[:, 0] * 5 + rng.normal(scale=0.1, size=200)
    # The third does nothing, but makes the settings differ: few could not be held out.
    features = FeatureMatrix(
        values=np.hstack([x, 1 - x, rng.random((200, 1))]),
        names=("two", "idle"),
        owner=np.array([0, 0, 1]),
    )
    forest = fit_forest(features, y, seed=0)
    drop = measure_importance(features, y, forest, seed=0).permutation_mean[0]
    assert drop == pytest.approx(2, abs=0.25)  # halves of the level variance, twice


def test_mean_and_spread_are_those_of_the_repeats(planted, found):
    forest, importance = found
    assert importance.permutation_raw.shape == (7, 5)
    np.testing.assert_allclose(
        importance.permutation_mean, importance.permutation_raw.mean(axis=1)
    )
    np.testing.assert_allclose(importance.permutation_std, importance.permutation_raw.std(axis=1))
    assert importance.permutation_std[0] > 0
    more = measure_importance(planted.features, planted.target, forest, seed=0, n_repeats=2)
    assert more.permutation_raw.shape == (7, 2)


def test_it_asks_about_unseen_trials_only():
    # Noise looks important to a forest that is asked about the trials it learned from.
    rng = np.random.default_rng(3)
    features = FeatureMatrix(values=rng.random((200, 4)), names=tuple("abcd"), owner=np.arange(4))
    noise = rng.normal(size=200)
    forest = fit_forest(features, noise, seed=0)
    assert measure_importance(features, noise, forest, seed=0).permutation_mean.max() < 0.1


@pytest.mark.slow
def test_a_monotone_change_of_unit_moves_no_impurity():
    rng = np.random.default_rng(0)
    ranks = np.stack([rng.permutation(200) for _ in range(3)], axis=1).astype(float)
    y = ranks[:, 0] + 20 * np.sin(ranks[:, 1] / 30) + rng.normal(size=200)

    def mdi(values):
        features = FeatureMatrix(values=values, names=tuple("abc"), owner=np.arange(3))
        return measure_importance(features, y, fit_forest(features, y, seed=0), seed=0).mdi

    np.testing.assert_allclose(mdi(ranks**3), mdi(ranks), rtol=1e-9)


def test_the_seed_decides(planted, found):
    def raw(seed):
        return measure_importance(
            planted.features, planted.target, found[0], seed=seed
        ).permutation_raw.tolist()

    assert raw(1) == raw(1)
    assert raw(1) != raw(2)


def test_a_forest_without_held_out_trials_is_refused(planted, found):
    few = planted.features.rows(np.arange(8))
    with pytest.raises(ValueError, match="no held-out"):
        measure_importance(
            few, planted.target[:8], fit_forest(few, planted.target[:8], seed=0), seed=0
        )
    with pytest.raises(ValueError, match="n_repeats"):
        measure_importance(planted.features, planted.target, found[0], seed=0, n_repeats=0)
