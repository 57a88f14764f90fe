"""How commands end: exit statuses, signals, and one clear line for what went wrong."""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum, unique
from queue import SimpleQueue
from typing import NoReturn

import typer

from sampler.common.untrusted_text import printable


@unique
class Exit(IntEnum):
    """Exit statuses that scripts rely on; each number has one name, whichever command ends so."""

    DONE = 0
    TOOL_FAILED = 1
    BAD_INPUT = 2
    # All went well, and the answer is no: nothing better was proven (tune, show, options), or this
    # machine is not fit (doctor).
    ANSWER_IS_NO = 3
    INTERRUPTED = 130


def complain(message: str) -> None:
    """Writes one line to standard error, whatever the message holds."""
    line = printable(" ".join(message.split()))
    sys.stderr.write(f"rocktune: {line}\n")


def leave(message: str, status: Exit = Exit.ANSWER_IS_NO) -> NoReturn:
    """Ends the command with one line on standard error."""
    complain(message)
    raise typer.Exit(status)


def terminate_like_interrupt() -> None:
    """From now on SIGTERM ends what goes on as Ctrl-C does."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@contextmanager
def interruptible(message: str) -> Iterator[None]:
    """Within, SIGTERM and Ctrl-C end the command with a line that says what is left."""
    terminate_like_interrupt()
    try:
        yield
    except KeyboardInterrupt:
        leave(message, Exit.INTERRUPTED)


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
