import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from models.importance import beyond_chance, compare_rankings, rank_correlation, top_overlap

SCORES = arrays(float, 8, elements=st.floats(0, 1))


def test_the_top_is_compared_as_by_hand():
    first, second = np.array([9.0, 8, 7, 1, 0]), np.array([9.0, 1, 8, 0, 7])
    assert top_overlap(first, second, top_k=1) == 1
    assert top_overlap(first, second, top_k=2) == 0.5
    assert top_overlap(first, second, top_k=3) == pytest.approx(2 / 3)
    assert top_overlap(first, second, top_k=5) == 1


def test_what_ties_across_the_edge_is_in_no_top():
    assert top_overlap(np.array([3.0, 2, 2, 1]), np.array([3.0, 2, 1, 0]), top_k=2) == 0.5
    assert top_overlap(np.zeros(4), np.zeros(4), top_k=2) == 0


@given(order=st.permutations(range(8)), top_k=st.integers(1, 8))
def test_an_order_agrees_with_itself_and_as_much_as_its_top_holds(order, top_k):
    first, second = np.arange(8.0), np.array(order, dtype=float)
    assert top_overlap(second, second, top_k=top_k) == 1
    common = {i for i in range(8) if first[i] >= 8 - top_k and second[i] >= 8 - top_k}
    assert top_overlap(first, second, top_k=top_k) == len(common) / top_k


def test_correlation_of_orders():
    assert rank_correlation(np.array([3.0, 2, 1]), np.array([30.0, 20, 10])) == 1
    assert rank_correlation(np.array([3.0, 2, 1]), np.array([1.0, 2, 3])) == -1
    assert rank_correlation(np.zeros(3), np.array([1.0, 2, 3])) == 0
    assert rank_correlation(np.ones(1), np.ones(1)) == 0


def test_agreement_beyond_chance_is_a_share_of_what_is_possible():
    assert beyond_chance(0.5, top_k=5, n_parameters=30) == pytest.approx(0.4)
    assert beyond_chance(1.0, top_k=5, n_parameters=6) == pytest.approx(1)
    assert beyond_chance(0.8, top_k=5, n_parameters=6) == pytest.approx(-0.2)
    assert beyond_chance(1.0, top_k=5, n_parameters=5) is None
    assert beyond_chance(1.0, top_k=5, n_parameters=4) is None


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
