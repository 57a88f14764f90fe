"""Whose turn it is within a round."""

from hypothesis import given
from hypothesis import strategies as st

from optimizer.confirmation.choice import BlockRun, next_in_block, order_of
from optimizer.trials.trial import History, Phase, Purpose
from tests.support.optimizer.pretend_bench import trial_of

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


def test_a_host_turns_round_its_own_order_rather_than_that_of_another():
    def proved(number: int, host: str, round_number: int) -> None:
        subject = turn_of(host, 6).subject
        more = {"host": host, "round": round_number, "phase": Phase.CONFIRM}
        history.put(trial_of(number, {"waf": 1.0}, purpose=Purpose.PROVE, subject=subject, **more))

    def turn_of(host: str, count: int) -> BlockRun:
        turn = next_in_block(history, Purpose.PROVE, [1, 7], count, seed=1, host=host)
        assert turn is not None
        return turn

    history = History()
    assert turn_of("a", 6).round == 1
    proved(10, "a", 1)
    assert turn_of("b", 6).round == 3, "its own, and not the other half of what `a` measures"
    proved(11, "b", 3)
    proved(12, "a", 1)
    proved(13, "b", 3)
    assert (turn_of("a", 6).round, turn_of("b", 6).round) == (2, 4)
    assert turn_of("b", 3).round == 2, "where nothing else is left it is measured all the same"
