import numpy as np
import pytest

from studies.rank_stability.sample_size import COMBINED, importances_of, rank_at_size
from tests.support.models.planted import Planted, plant


@pytest.fixture(scope="module")
def planted() -> Planted:
    return plant(400)


@pytest.fixture(scope="module")
def targets(planted):
    noise = np.random.default_rng(9).random(400)
    return {"y": planted.target, "noise": noise}


@pytest.fixture(scope="module")
def reference(planted, targets):
    return importances_of(planted.features, targets, np.arange(400), seed=0, trees=40)


def at(planted, targets, reference, size, **more):
    arguments = {"seed": 1, "top_k": 2, "repeats": 6, "trees": 8} | more
    return rank_at_size(planted.features, targets, size, reference, **arguments)


def test_agreement_and_prediction_grow_with_the_subsample(planted, targets, reference):
    few, many = (at(planted, targets, reference, size)["y"] for size in (20, 180))
    assert few.overlap.mean() < many.overlap.mean() == 1
    assert few.apart_overlap.mean() < many.apart_overlap.mean() == 1
    assert few.r2.mean() < 0.5 < 0.7 < many.r2.mean()


def test_noise_is_not_predicted_and_two_subsamples_apart_do_not_agree(planted, targets, reference):
    noise = at(planted, targets, reference, 180)["noise"]
    assert noise.r2.mean() < 0.1
    assert noise.apart_tau.mean() < 0.6
    assert noise.apart_overlap.mean() < 0.8


def test_the_combined_ranking_is_of_the_mean_share(reference):
    assert reference[COMBINED] == pytest.approx((reference["y"] + reference["noise"]) / 2)


def test_above_half_of_the_trials_there_are_no_two_apart(planted, targets, reference):
    half, more = (at(planted, targets, reference, size, repeats=2) for size in (200, 201))
    assert half[COMBINED].apart_overlap.shape == half[COMBINED].apart_tau.shape == (2,)
    assert more[COMBINED].apart_overlap is more[COMBINED].apart_tau is None
    assert more[COMBINED].r2 is None


def test_where_no_trial_is_left_nothing_is_predicted(planted, targets, reference):
    found = at(planted, targets, reference, 400, repeats=2)
    assert np.isnan(found["y"].r2).all()
    assert found["y"].overlap.tolist() == [1, 1]


def test_too_few_to_learn_agree_on_nothing(planted, targets, reference):
    found = at(planted, targets, reference, 9, repeats=2)
    assert found[COMBINED].overlap.tolist() == found[COMBINED].apart_overlap.tolist() == [0, 0]


def test_the_seed_decides(planted, targets, reference):
    def taus(seed):
        found = at(planted, targets, reference, 60, seed=seed)
        return found[COMBINED].kendall_tau.tolist()

    assert taus(1) == taus(1)
    assert taus(1) != taus(2)


@pytest.mark.parametrize("size", [0, 401])
def test_sizes_beyond_the_trials_are_refused(planted, targets, reference, size):
    with pytest.raises(ValueError, match="within 1 and 400"):
        at(planted, targets, reference, size)


def test_wrong_shapes_are_refused(planted, reference):
    with pytest.raises(ValueError, match="400 trials"):
        at(planted, {"y": np.ones(3)}, reference, 20)
