import pickle
import sys
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer.trials.trial import PackedPoint

POINTS = st.dictionaries(st.text(max_size=8), st.floats(0, 1, exclude_max=True), max_size=40)


@given(POINTS)
def test_it_is_what_it_was_made_from(point: dict[str, float]):
    packed = PackedPoint(point)
    assert packed == point
    assert list(packed.items()) == list(point.items())
    assert len(packed) == len(point)


@given(POINTS)
def test_it_comes_back_from_another_process(point: dict[str, float]):
    packed = pickle.loads(pickle.dumps(PackedPoint(point)))
    assert packed == point
    assert isinstance(packed, PackedPoint)


def test_other_coordinates_and_other_names_make_it_another_point():
    assert PackedPoint({"a": 0.1, "b": 0.2}) != {"a": 0.1, "b": 0.3}
    assert PackedPoint({"a": 0.1, "b": 0.2}) != {"a": 0.1, "c": 0.2}
    assert PackedPoint({"a": 0.1, "b": 0.2}) == {"b": 0.2, "a": 0.1}
    assert PackedPoint.of(None) is None
    with pytest.raises(KeyError, match="'b'"):
        PackedPoint({"a": 0.1})["b"]


def test_points_over_the_same_parameters_keep_their_names_once():
    names = [f"option_{i}" for i in range(30)]
    loose = [{name: i / 31 for i, name in enumerate(names, 1)} for _ in range(2)]
    first, second = (PackedPoint(point) for point in loose)
    assert first._places is second._places
    kept = sys.getsizeof(first) + sys.getsizeof(array("d", first._values))
    assert kept < sys.getsizeof(loose[0]) / 2
