import math
from collections import Counter
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from models.anova import group_labels

numbers = st.lists(st.integers(-50, 50), min_size=1, max_size=60)


def test_categories_and_truth_values_are_grouped_by_level():
    assert group_labels(["lz4", "zstd", "lz4"]) == ("lz4", "zstd", "lz4")
    assert group_labels([True, False]) == ("True", "False")
    assert group_labels([f"c{i}" for i in range(20)]) == tuple(f"c{i}" for i in range(20))


def test_few_numbers_keep_a_group_each_and_many_are_cut():
    assert group_labels([1, 2, 8] * 3, max_levels=3) == ("1", "2", "8") * 3
    assert group_labels([1, 2, 3, 4], max_levels=3, quantile_groups=2) == (
        "1 to 2",
        "1 to 2",
        "3 to 4",
        "3 to 4",
    )


def test_quantile_groups_are_of_equal_size():
    values = np.random.default_rng(0).permutation(1000) / 7
    sizes = Counter(group_labels(values.tolist()))
    assert sorted(sizes.values()) == [250, 250, 250, 250]


def test_numpy_numbers_are_numbers():
    values = np.arange(100)
    assert len(set(group_labels(list(values)))) == 4
    assert group_labels(list(values)) == group_labels(values.tolist())


def test_special_values_keep_their_own_group():
    labels = group_labels([-1, 0, *range(1, 41)], special=(-1, 0))
    assert labels[:2] == ("-1", "0")
    assert sorted(Counter(labels[2:]).values()) == [10, 10, 10, 10]
    assert labels[2] == "1 to 10"


def test_large_numbers_are_not_confused():
    values = [10**12 + i for i in range(16)]
    assert len(set(group_labels(values))) == 4
    assert len(set(group_labels(values, max_levels=16))) == 16


def test_inactive_parameters_have_no_group():
    assert group_labels(["a", None]) == ("a", None)
    labels = group_labels([math.nan, *range(40), None])
    assert labels[0] is labels[-1] is None
    assert len(set(labels[1:-1])) == 4


@given(numbers, st.integers(2, 5))
def test_groups_are_whole_intervals(values, groups):
    labels = group_labels(values, quantile_groups=groups, max_levels=5)
    members = {}
    for value, label in zip(values, labels, strict=True):
        members.setdefault(label, set()).add(value)
    assert len(members) <= max(groups, 5)
    spans = sorted((min(m), max(m)) for m in members.values())
    assert all(high < low for (_, high), (low, _) in pairwise(spans))


@given(numbers)
def test_a_monotone_change_of_unit_moves_nobody(values):
    def partition(labels):
        return [labels.index(label) for label in labels]

    cubes = [v**3 + 0.5 for v in values]
    assert partition(group_labels(cubes)) == partition(group_labels(values))
