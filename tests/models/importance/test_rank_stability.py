import numpy as np
import pytest

from models.importance.stability import compare_rankings, rank_stability

TRUTH = np.array([0.6, 0.25, 0.05, 0.03, 0.03, 0.02, 0.02])


def test_rankings_are_summed_up_as_by_hand():
    importances = np.array([[0.5, 0.3, 0.2], [0.5, 0.3, 0.2], [0.3, 0.5, 0.2], [0.2, 0.5, 0.3]])
    found = compare_rankings(importances, np.array([0.5, 0.3, 0.2]), top_k=1)
    assert found.rank_mean.tolist() == [7 / 4, 6 / 4, 11 / 4]
    assert found.top_k_frequency.tolist() == [0.5, 0.5, 0]
    assert found.top_k_overlap == 0.5
    # Pairs in the reference's order less pairs against it, of 3: 3, 3, 1, -1.
    assert found.kendall_tau == pytest.approx((1 + 1 + 1 / 3 - 1 / 3) / 4)
    assert found.rank_low.tolist() == pytest.approx([1, 1, 2.075])
    assert found.rank_high.tolist() == pytest.approx([2.925, 2, 3])


def test_the_top_is_shared_in_part():
    found = compare_rankings(np.array([[4.0, 1, 3, 2]]), np.array([4.0, 3, 2, 1]), top_k=2)
    assert found.top_k_overlap == 0.5
    assert found.top_k_frequency.tolist() == [1, 0, 1, 0]


def test_no_order_is_no_agreement():
    found = compare_rankings(np.zeros((1, 3)), np.array([3.0, 2, 1]), top_k=1)
    assert found.kendall_tau == 0
    assert found.rank_mean.tolist() == [2, 2, 2]


def test_clear_effects_keep_their_rank_and_noise_does_not(planted):
    found = rank_stability(planted.features, planted.target, TRUTH, seed=0, top_k=2)
    assert found.rank_high[:2].tolist() == [1, 2]
    assert found.top_k_frequency.tolist() == [1, 1, 0, 0, 0, 0, 0]
    assert found.top_k_overlap == 1
    assert found.kendall_tau > 0.4
    assert (found.rank_high - found.rank_low)[3:].min() >= 2
    assert ((found.rank_low <= found.rank_mean) & (found.rank_mean <= found.rank_high)).all()


def test_a_wrong_reference_is_told(planted):
    found = rank_stability(planted.features, planted.target, TRUTH[::-1], seed=0, top_k=2)
    assert found.kendall_tau < 0
    assert found.top_k_overlap == 0


@pytest.mark.slow
def test_few_trials_are_less_certain(planted):
    few = planted.features.rows(np.arange(25))
    small = rank_stability(few, planted.target[:25], TRUTH, seed=0)
    large = rank_stability(planted.features, planted.target, TRUTH, seed=0)
    widths = [(found.rank_high - found.rank_low)[:3].sum() for found in (small, large)]
    assert widths[0] > widths[1] + 2


def test_rows_without_a_target_are_not_drawn(planted):
    target = planted.target.copy()
    target[::2] = np.nan
    kept = np.arange(1, 400, 2)
    gaps = rank_stability(planted.features, target, TRUTH, seed=5, resamples=4)
    alone = rank_stability(planted.features.rows(kept), target[kept], TRUTH, seed=5, resamples=4)
    assert gaps.rank_mean.tolist() == alone.rank_mean.tolist()


def test_the_seed_decides(planted):
    def ranks(seed):
        return rank_stability(
            planted.features, planted.target, TRUTH, seed=seed, resamples=6
        ).rank_mean.tolist()

    assert ranks(1) == ranks(1)
    assert ranks(1) != ranks(2)


def test_the_top_is_no_more_than_everything(planted):
    found = rank_stability(planted.features, planted.target, TRUTH, seed=0, top_k=50, resamples=2)
    assert found.top_k == 7
    assert found.top_k_overlap == 1


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"resamples": 0}, "resamples"),
        ({"top_k": 0}, "top_k"),
        ({"reference": np.ones(3)}, "7 importances"),
        ({"target": np.full(400, np.nan)}, "no trial"),
    ],
)
def test_nonsense_is_refused(planted, change, complaint):
    arguments = {"target": planted.target, "reference": TRUTH, "seed": 0} | change
    with pytest.raises(ValueError, match=complaint):
        rank_stability(planted.features, **arguments)
