"""What is remembered of jobs: made once for each state, and never of many."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from threading import Barrier, Event

import pytest
from sqlalchemy import Engine, create_engine

from jobs.results.fits import JobCache


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


def test_threads_that_ask_at_once_share_what_one_makes(engines: tuple[Engine, Engine]) -> None:
    known, asking, made = JobCache[int](), Barrier(12), count(1)
    others_wait = Event()

    def make() -> int:
        assert others_wait.wait(60)
        return next(made)

    def ask() -> int:
        asking.wait(60)
        return known.of(engines[0], 7, "done", make)

    with ThreadPoolExecutor(12) as viewers:
        futures = [viewers.submit(ask) for _ in range(12)]
        others_wait.set()
        assert [future.result(60) for future in futures] == [1] * 12
    assert next(made) == 2


def test_what_cannot_be_made_fails_for_all_and_is_tried_again(
    engines: tuple[Engine, Engine],
) -> None:
    known = JobCache[int]()

    def fail() -> int:
        raise ValueError("no trials")

    for _ in range(2):
        with pytest.raises(ValueError, match="no trials"):
            known.of(engines[0], 7, "done", fail)
    assert known.of(engines[0], 7, "done", lambda: 5) == 5


@pytest.fixture
def threads_take_turns_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("threads_take_turns_often")
def test_models_of_different_jobs_are_made_one_at_a_time(engines: tuple[Engine, Engine]) -> None:
    first, second = JobCache[int](alone=True), JobCache[int](alone=True)
    at_work: list[int] = []

    def make() -> int:
        at_work.append(1)
        most = max(len(at_work) for _ in range(300))
        at_work.pop()
        return most

    with ThreadPoolExecutor(8) as viewers:
        asked = [
            viewers.submit(cache.of, engine, job, "done", make)
            for job in range(10)
            for cache in (first, second)
            for engine in engines
        ]
        assert [future.result(60) for future in asked] == [1] * 40
