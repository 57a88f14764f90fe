import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from models.random_forest import FeatureMatrix

VALUES = np.arange(12.0).reshape(3, 4)
OWNER = np.array([0, 1, 1, 0])


def matrix(values=VALUES, names=("a", "b"), owner=OWNER):
    return FeatureMatrix(values=values, names=names, owner=owner)


@st.composite
def matrices(draw):
    n_parameters = draw(st.integers(1, 6))
    more = draw(st.lists(st.integers(0, n_parameters - 1), max_size=6))
    owner = np.array(draw(st.permutations([*range(n_parameters), *more])))
    n_trials = draw(st.integers(1, 8))
    values = np.random.default_rng(draw(st.integers(0, 99))).random((n_trials, owner.size))
    return matrix(values, tuple(f"p{i}" for i in range(n_parameters)), owner)


def test_columns_are_summed_to_their_parameter():
    assert matrix().sum_columns(np.array([1.0, 10.0, 100.0, 1000.0])).tolist() == [1001.0, 110.0]


def test_all_columns_of_a_parameter_move_together():
    permuted = matrix().permute(1, np.array([2, 0, 1]))
    assert permuted.tolist() == [[0, 9, 10, 3], [4, 1, 2, 7], [8, 5, 6, 11]]
    assert VALUES[0].tolist() == [0, 1, 2, 3]  # the original is not touched


@given(matrices(), st.data())
def test_a_permutation_keeps_other_columns_and_rows_within(features, data):
    parameter = data.draw(st.integers(0, features.n_parameters - 1))
    order = np.array(data.draw(st.permutations(range(features.n_trials))))
    permuted = features.permute(parameter, order)
    mine = features.owner == parameter
    np.testing.assert_array_equal(permuted[:, ~mine], features.values[:, ~mine])
    np.testing.assert_array_equal(permuted[:, mine], features.values[order][:, mine])


@given(
    st.lists(st.lists(st.sampled_from([0.0, -0.0, 1.5, math.nan]), min_size=2, max_size=2)),
    st.data(),
)
def test_rows_of_a_setting_stay_together(values, data):
    table = np.array(values, dtype=np.float64).reshape(len(values), 2)
    features = FeatureMatrix(values=table, names=("a", "b"), owner=np.arange(2))
    some = data.draw(st.permutations(range(len(values))))[: len(values) // 2]
    parts = features.by_setting(np.array(some, dtype=np.intp))
    assert sorted(row for part in parts for row in part.tolist()) == sorted(some)
    assert [part[0] for part in parts] == sorted((p[0] for p in parts), key=some.index)

    def setting(row: int) -> str:
        return str([0.0 if value == 0 else value for value in values[row]])

    assert all(len({setting(row) for row in part.tolist()}) == 1 for part in parts)
    assert len({setting(row) for row in some}) == len(parts)
