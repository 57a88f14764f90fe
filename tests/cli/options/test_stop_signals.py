"""SIGTERM and Ctrl-C end a worker wherever they find it."""

import os
import signal
import threading

import pytest

from cli.options.exits import stop_on_signals

SIGNALS = (signal.SIGTERM, signal.SIGINT)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_that_comes_within_a_lock_which_stopping_needs(number: signal.Signals):
    """As when an event is just about to be waited for: its lock is the main thread's."""
    lock, ended = threading.Lock(), threading.Event()

    def stop() -> None:
        if lock.acquire(timeout=5):
            ended.set()

    stop_on_signals(stop)
    with lock:
        os.kill(os.getpid(), number)
        assert not ended.is_set()
    assert ended.wait(30)


def test_every_signal_counts():
    calls: list[int] = []
    twice = threading.Event()

    def stop() -> None:
        calls.append(1)
        if len(calls) == 2:
            twice.set()

    stop_on_signals(stop)
    for _ in range(2):
        os.kill(os.getpid(), signal.SIGTERM)
    assert twice.wait(30)
