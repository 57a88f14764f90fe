"""Whose turn it is within a round."""

from hypothesis import given
from hypothesis import strategies as st

from optimizer.rounds import order_of

SUBJECTS = st.lists(st.integers(1, 999), min_size=2, max_size=6, unique=True)
SEEDS = st.integers(0, 2**31 - 1)


@given(SUBJECTS, SEEDS, st.integers(0, 50))
def test_what_gets_slower_step_by_step_slows_all_subjects_of_two_rounds_alike(
    subjects: list[int], seed: int, block: int
):
    first, second = (order_of(subjects, 2 * block + k, seed=seed) for k in (1, 2))
    assert sorted(first) == sorted(subjects)
    waited = {each: first.index(each) + second.index(each) for each in subjects}
    assert set(waited.values()) == {len(subjects) - 1}


def test_who_begins_is_drawn_for_every_second_round():
    for seed in range(3):
        begin = [order_of([1, 7], number, seed=seed)[0] for number in range(1, 41, 2)]
        assert 4 <= begin.count(1) <= 16
