"""The server goes away while the queue is asked, and the worker is told to end."""

import threading
from collections.abc import Callable, Iterator

import pytest

from db.connection.engine import make_engine
from jobs.queue.durable_queue import DurableQueue, migrate_queue
from jobs.queue.queue_connections import QueueGivenUp
from tests.support.db.private_server import PrivateServer, private_server
from tests.support.jobs.service_desk import wait_until

ENOUGH = 60.0  # DBOS by itself waits for ever


@pytest.fixture(scope="module")
def server() -> Iterator[PrivateServer]:
    with private_server() as running:
        engine = make_engine(running.url)
        migrate_queue(engine)
        engine.dispose()
        yield running


class Asking:
    """Asks the queue in a thread, and keeps what came of it."""

    def __init__(self, question: Callable[[], object]) -> None:
        self._question = question
        self.answer: object = None
        self.error: Exception | None = None
        self._thread = threading.Thread(target=self._ask, daemon=True)
        self._thread.start()

    def _ask(self) -> None:
        try:
            self.answer = self._question()
        except Exception as error:
            self.error = error

    def waits(self) -> bool:
        return self._thread.is_alive()

    def has_ended(self) -> bool:
        self._thread.join(ENOUGH)
        return not self._thread.is_alive()


def test_a_question_waits_for_the_server_until_the_worker_gives_up(server: PrivateServer):
    given_up, tried = threading.Event(), threading.Event()

    def asked() -> bool:
        tried.set()
        return given_up.is_set()

    engine = make_engine(server.url)
    queue = DurableQueue(engine, lambda *_: None, given_up=asked)
    queue.open()
    try:
        assert queue.stranded() == []
        server.stop()
        waiting = Asking(queue.stranded)
        assert tried.wait(ENOUGH)
        assert waiting.waits()
        server.start()
        assert waiting.has_ended()
        assert (waiting.answer, waiting.error) == ([], None)

        server.stop()
        waiting = Asking(queue.stranded)
        wait_until(waiting.waits, seconds=10, what="it asks")
        given_up.set()
        assert waiting.has_ended()
        assert isinstance(waiting.error, QueueGivenUp)
    finally:
        given_up.set()
        closing = Asking(queue.close)
        ended = closing.has_ended()
        server.start()
        engine.dispose()
    assert ended
    assert closing.error is None


def test_to_open_it_waits_and_is_given_up_too(server: PrivateServer):
    given_up = threading.Event()
    engine = make_engine(server.url)
    queue = DurableQueue(engine, lambda *_: None, given_up=given_up.is_set)
    server.stop()
    try:
        opening = Asking(queue.open)
        given_up.set()
        assert opening.has_ended()
        assert isinstance(opening.error, QueueGivenUp)
    finally:
        closing = Asking(queue.close)
        ended = closing.has_ended()
        server.start()
        engine.dispose()
    assert ended
