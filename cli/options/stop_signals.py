"""What runs until it is told to stop: SIGTERM and Ctrl-C tell it from a thread of their own."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from queue import SimpleQueue


def stop_on_signals(stop: Callable[[], None]) -> None:
    """From now on SIGTERM and SIGINT call ``stop``, each time, outside the main thread.

    A handler interrupts the main thread wherever it is, also where it holds a lock that ``stop``
    needs (that of an ``Event`` it is about to wait for), and would wait for it for ever. So the
    handler only hands over: the queue's ``put`` may interrupt itself.
    """
    told: SimpleQueue[None] = SimpleQueue()

    def await_signals() -> None:
        while True:
            told.get()
            stop()

    threading.Thread(target=await_signals, name="signals", daemon=True).start()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: told.put(None))
