import numpy as np
import pytest

from models.importance import compare_rankings


def test_rankings_are_summed_up_as_by_hand():
    importances = np.array([[0.5, 0.3, 0.2], [0.5, 0.3, 0.2], [0.3, 0.5, 0.2], [0.2, 0.5, 0.3]])
    found = compare_rankings(importances, np.array([0.5, 0.3, 0.2]), top_k=1)
    assert found.top_k_frequency.tolist() == [0.5, 0.5, 0]
    # Pairs in the reference's order less pairs against it, of 3: 3, 3, 1, -1.
    assert found.kendall_tau == pytest.approx((1 + 1 + 1 / 3 - 1 / 3) / 4)
    assert found.rank_low.tolist() == pytest.approx([1, 1, 2.075])
    assert found.rank_high.tolist() == pytest.approx([2.925, 2, 3])


def test_the_top_is_shared_in_part():
    found = compare_rankings(np.array([[4.0, 1, 3, 2]]), np.array([4.0, 3, 2, 1]), top_k=2)
    assert found.top_k_frequency.tolist() == [1, 0, 1, 0]


def test_no_order_is_no_agreement():
    found = compare_rankings(np.zeros((1, 3)), np.array([3.0, 2, 1]), top_k=1)
    assert found.kendall_tau == 0
    assert found.rank_low.tolist() == found.rank_high.tolist() == [2, 2, 2]
