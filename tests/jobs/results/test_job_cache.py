"""What is remembered of jobs: made once for each state, and never of many."""

from itertools import count

import pytest
from sqlalchemy import Engine, create_engine

from jobs.results.cache import JobCache


@pytest.fixture
def engines() -> tuple[Engine, Engine]:
    return create_engine("sqlite://"), create_engine("sqlite://")


def test_it_is_made_once_for_each_state_and_database(engines: tuple[Engine, Engine]):
    made, known = count(), JobCache[int]()

    def asked(engine: Engine, subject: int, state: str) -> int:
        return known.of(engine, subject, state, lambda: next(made))

    one, other = engines
    assert [asked(one, 1, "a"), asked(one, 1, "a"), asked(one, 2, "a")] == [0, 0, 1]
    assert [asked(other, 1, "a"), asked(one, 1, "b"), asked(one, 1, "b")] == [2, 3, 3]


def test_nothing_is_an_answer_too(engines: tuple[Engine, Engine]):
    asked, known = list[str](), JobCache[None]()
    for _ in range(3):
        assert known.of(engines[0], 1, "a", lambda: asked.append("made")) is None
    assert asked == ["made"]


def test_of_many_it_forgets(engines: tuple[Engine, Engine]):
    made, known = count(), JobCache[int]()
    for subject in [*range(17), 0]:
        last = known.of(engines[0], subject, "a", lambda: next(made))
    assert last == 17
