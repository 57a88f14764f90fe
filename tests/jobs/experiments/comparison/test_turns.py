"""Whose turn it is, and which runs count: whatever interruptions leave."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from jobs.experiments.experiment import MeasuredRun, order_of_runs, whole_sets

SUBJECTS, WORKLOADS = ("as-is", "half", "double"), ("v", "w")


def runs_in(turns: Sequence[tuple[int, str, str]]) -> list[MeasuredRun]:
    return [
        MeasuredRun(round=number, case=workload, side=name, started_at=f"{place:06}", state="done",
            failure=None, metrics={"rate": float(place)}, seconds=1.0)
        for place, (number, workload, name) in enumerate(turns)
    ]  # fmt: skip


def asked(seed: int, rounds: int = 4) -> list[tuple[int, str, str]]:
    turns = order_of_runs(WORKLOADS, SUBJECTS, rounds=rounds, seed=seed)
    return [(number, workload, name) for number, workload, names in turns for name in names]


@given(st.integers(0, 2**31 - 1))
def test_each_round_measures_everything_once_and_what_is_compared_side_by_side(seed: int):
    turns = asked(seed)
    assert sorted(turns) == sorted(
        (number, workload, name)
        for number in range(1, 5) for workload in WORKLOADS for name in SUBJECTS
    )  # fmt: skip
    assert asked(seed) == turns
    blocks = [turns[start : start + 3] for start in range(0, len(turns), 3)]
    assert all(len({turn[:2] for turn in block}) == 1 for block in blocks)
    assert len(whole_sets(runs_in(turns), SUBJECTS)) == 8


def test_who_goes_first_changes():
    first = [names[0] for _, _, names in order_of_runs("w", SUBJECTS, rounds=300, seed=3)]
    assert all(70 < first.count(name) < 130 for name in SUBJECTS)


@given(st.integers(0, 2**31 - 1))
def test_every_second_round_takes_the_sides_backwards(seed: int):
    orders = {
        (number, workload): names
        for number, workload, names in order_of_runs(WORKLOADS, SUBJECTS, rounds=4, seed=seed)
    }
    for number in (1, 3):
        for workload in WORKLOADS:
            assert orders[number + 1, workload] == orders[number, workload][::-1]


@given(st.integers(0, 2**31 - 1), st.lists(st.integers(0, 24), max_size=5))
def test_gone_on_with_after_any_interruption_every_set_is_of_neighbours(
    seed: int, stops: list[int]
):
    """Each stop cuts the runs somewhere; what is not whole is measured again."""
    made: list[tuple[int, str, str]] = []
    for stop in [*stops, 10_000]:
        there = whole_sets(runs_in(made), SUBJECTS)
        left = [turn for turn in asked(seed) if turn[:2] not in there]
        made += left[:stop]
    sets = whole_sets(runs_in(made), SUBJECTS)
    assert sorted(sets) == [(n, w) for n in range(1, 5) for w in WORKLOADS]
    for runs in sets.values():
        assert set(runs) == set(SUBJECTS)
        places = sorted(int(run.started_at) for run in runs.values())
        assert places == list(range(places[0], places[0] + 3))


def test_what_is_left_of_two_rounds_is_no_set():
    left = [(1, "w", "as-is"), (1, "w", "half"), (2, "w", "double")]
    assert whole_sets(runs_in(left), SUBJECTS) == {}
    whole = whole_sets(runs_in(asked(1)), SUBJECTS)
    assert [*whole_sets(runs_in([*left, *asked(1)]), SUBJECTS)] == [*whole]
