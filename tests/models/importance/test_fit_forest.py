import numpy as np
import pytest

from models.importance.design import FeatureMatrix
from models.random_forest import fit_forest, grow_forest


def table(n_trials, n_columns=3, seed=0):
    values = np.random.default_rng(seed).random((n_trials, n_columns))
    names = tuple(f"p{i}" for i in range(n_columns))
    return FeatureMatrix(values=values, names=names, owner=np.arange(n_columns))


def test_a_learnable_target_is_predicted_on_unseen_trials(planted):
    forest = fit_forest(planted.features, planted.target, seed=0)
    assert forest.r2_split > 0.8
    assert forest.r2_cross_validated > 0.8
    assert 0 < forest.r2_cross_validated_std < 0.1
    assert forest.n_trials == 400
    assert len(forest.model.estimators_) == 100


def test_noise_is_not_predicted():
    features = table(300)
    noise = np.random.default_rng(1).normal(size=300)
    forest = fit_forest(features, noise, seed=0)
    # Scored on rows that were learned from, the forest would reach about 0.7.
    assert forest.r2_split < 0.1
    assert forest.r2_cross_validated < 0.1


def test_folds_hold_out_each_measured_trial_once():
    features = table(60)
    target = features.values[:, 0].copy()
    target[[3, 30]] = np.nan
    forest = fit_forest(features, target, seed=0)
    held_out = np.concatenate([fold.held_out for fold in forest.folds])
    assert len(forest.folds) == 5
    assert sorted(held_out) == [row for row in range(60) if row not in (3, 30)]


def test_a_fold_has_not_seen_what_it_holds_out():
    # An outlier that was learned from pulls the prediction towards itself; an unseen one cannot.
    features = table(100)
    target = np.zeros(100)
    target[[10, 50]] = 1000.0, 1.0
    forest = fit_forest(features, target, seed=0)
    (fold,) = (fold for fold in forest.folds if 10 in fold.held_out)
    assert fold.model.predict(features.values[[10]]).item() < 10
    assert forest.model.predict(features.values[[10]]).item() > 100


def test_the_forest_that_is_kept_learned_from_all_rows():
    features = table(50)
    x, y = features.values.astype(np.float32), features.values[:, 0]
    kept = fit_forest(features, y, seed=3, trees=7).model
    whole = grow_forest(x, y, seed=3, trees=7)
    np.testing.assert_array_equal(kept.predict(x), whole.predict(x))
    other_seed = grow_forest(x, y, seed=4, trees=7)
    assert (other_seed.predict(x) != whole.predict(x)).any()


def test_rows_without_a_target_change_nothing():
    features = table(80)
    target = 3 * features.values[:, 0]
    gap = np.zeros(80, dtype=bool)
    gap[::7] = True
    with_gaps = fit_forest(features, np.where(gap, np.nan, target), seed=4)
    without = fit_forest(features.rows(~gap), target[~gap], seed=4)
    assert with_gaps.n_trials == without.n_trials == 80 - gap.sum()
    assert with_gaps.r2_split == without.r2_split
    assert with_gaps.r2_cross_validated == without.r2_cross_validated
    np.testing.assert_array_equal(
        with_gaps.model.feature_importances_, without.model.feature_importances_
    )


@pytest.mark.parametrize(("n_trials", "folds"), [(9, 0), (10, 2), (24, 4), (25, 5), (60, 5)])
def test_few_trials_have_fewer_folds_and_at_last_no_score(n_trials, folds):
    features = table(n_trials)
    forest = fit_forest(features, features.values[:, 0], seed=0)
    assert len(forest.folds) == folds
    assert (forest.r2_split is None) == (folds == 0)
    assert (forest.r2_cross_validated is None) == (folds == 0)
    assert (forest.r2_cross_validated_std is None) == (folds == 0)


def test_a_constant_target_has_no_score():
    forest = fit_forest(table(40), np.full(40, 2.5), seed=0)
    assert forest.r2_split is None
    assert forest.r2_cross_validated is None
    assert forest.folds == ()
    assert forest.model.predict(table(1).values).tolist() == [2.5]


def test_a_fold_without_variance_is_left_out_of_the_mean():
    target = np.zeros(40)
    target[7] = 1.0  # held out by one fold; the other four hold zeros alone
    forest = fit_forest(table(40), target, seed=0)
    assert np.isfinite(forest.r2_cross_validated)
    assert forest.r2_cross_validated_std == 0


@pytest.mark.slow
def test_the_seed_decides(planted):
    def scores(seed):
        forest = fit_forest(planted.features, planted.target, seed=seed, trees=20)
        predicted = forest.model.predict(planted.features.values[:20]).tolist()
        return forest.r2_split, forest.r2_cross_validated, predicted

    assert scores(1) == scores(1)
    assert scores(1) != scores(2)


def test_inactive_parameters_are_a_value_of_their_own():
    values = np.random.default_rng(0).random((200, 2))
    inactive = np.arange(200) % 2 == 0
    features = FeatureMatrix(
        values=np.where(inactive[:, None] & [True, False], np.nan, values),
        names=("sometimes", "always"),
        owner=np.arange(2),
    )
    assert fit_forest(features, np.where(inactive, 5.0, 0.0), seed=0).r2_cross_validated > 0.95


def test_targets_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="20 trials"):
        fit_forest(table(20), np.zeros(19), seed=0)
    with pytest.raises(ValueError, match="infinite"):
        fit_forest(table(20), np.full(20, np.inf), seed=0)
    with pytest.raises(ValueError, match="no trial"):
        fit_forest(table(20), np.full(20, np.nan), seed=0)


def test_a_setting_is_never_predicted_from_itself():
    """Thirty settings of pure noise, measured three times each with the same result."""
    once = table(30)
    features = once.rows(np.tile(np.arange(30), 3))
    noise = np.tile(np.random.default_rng(1).normal(size=30), 3)
    forest = fit_forest(features, noise, seed=0)
    assert forest.r2_split < 0.1
    assert forest.r2_cross_validated < 0.1
    for fold in forest.folds:
        assert len(fold.held_out) % 3 == 0
        assert len(set((fold.held_out % 30).tolist())) == len(fold.held_out) / 3
    assert sorted(np.concatenate([fold.held_out for fold in forest.folds])) == list(range(90))


def test_few_settings_are_not_judged_however_often_they_were_measured():
    features = table(9).rows(np.repeat(np.arange(9), 5))
    forest = fit_forest(features, np.random.default_rng(1).normal(size=45), seed=0)
    assert (forest.r2_split, forest.r2_cross_validated, forest.folds) == (None, None, ())
    assert forest.n_trials == 45
