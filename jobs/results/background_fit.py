"""Models fitted for viewers: in a process of their own, at idle priority.

A trial that is measured on this machine goes before it, to the last core. A thread could not step
back like that: it would hold the interpreter's lock, and every answer of the server would wait.
The process lives for one fit. So no memory is held between, and a fit ends with its server.

On a machine that is always busy an idle process never has its turn. Where nothing is measured it
need not step back so far: ``ROCKTUNE_STEP_BACK=0``.
"""

import multiprocessing
import os
import signal
import traceback
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from threading import Lock, Thread
from typing import Any, TypeVar

from sampler.runner.settings import load_settings

T = TypeVar("T")
# Not forked: the child of a process with threads could find a lock that nobody gives back.
_processes = multiprocessing.get_context("spawn")
_one_at_a_time = Lock()
_running: set[BaseProcess] = set()


class FitFailed(RuntimeError):
    """The process has failed, or was ended; told with its traceback where it left one."""


def fitted(fit: Callable[..., T], *given: Any) -> T:
    """What ``fit(*given)`` returns; one at a time, others wait. FitFailed if it raised.

    ``fit`` stands in a module under its name. What is given, and what it returns, can be pickled.
    """
    with _one_at_a_time:
        here, there = _processes.Pipe()
        child = _processes.Process(target=_work, args=(there,), name="models", daemon=True)
        with here:
            try:
                child.start()
                _running.add(child)
                there.close()
                here.send((fit, given))
                ended, value = here.recv()
            except (EOFError, OSError) as error:
                raise FitFailed("the process that fits models was killed") from error
            finally:
                _running.discard(child)
                if child.pid is not None:
                    child.kill()
                    child.join()
                    child.close()
    if not ended:
        raise FitFailed(value)
    result: T = value
    return result


def end_fits() -> None:
    """Ends what is being fitted, for a server that stops."""
    for child in list(_running):
        with suppress(ValueError):  # it has just ended by itself
            child.kill()


def _work(server: Connection) -> None:
    """The child: steps back before it loads what it needs, which takes a second or two."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends this one
    if load_settings().step_back:
        os.nice(19)
        with suppress(AttributeError, OSError):  # Linux alone has it
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    else:
        os.nice(5)  # the server's own answers go first
    Thread(target=_end_with_server, daemon=True).start()
    try:
        fit, given = server.recv()
        answer = (True, fit(*given))
    except Exception:
        answer = (False, traceback.format_exc())
    server.send(answer)


def _end_with_server() -> None:
    """However the server ends, kill -9 too."""
    server = multiprocessing.parent_process()
    if server is not None:
        server.join()
        os._exit(1)
