"""Models and charts for viewers: made once of a job's trials, until they are others.

Models are fitted one at a time, in a process of their own at idle priority. A trial that is
measured on this machine goes before it, to the last core. A thread could not step back like that:
it would hold the interpreter's lock, and every answer of the server would wait. The process lives
for one fit. So no memory is held between, and a fit ends with its server. On a machine that is
always busy an idle process never has its turn. Where nothing is measured it need not step back so
far: ``ROCKTUNE_STEP_BACK=0``.

Whether a fit is ready is known here alone: ``without_fitting`` asks for what is ready, and
``ToBeFitted`` says that it is not.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import traceback
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from threading import Lock, RLock, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from sampler.bench.settings import load_settings

if TYPE_CHECKING:  # the process that fits steps back before it loads anything large
    from sqlalchemy import Engine

_MOST = 16
# Models take seconds of a core each: more than one at a time would slow a trial on this machine.
_one_at_a_time = RLock()
T = TypeVar("T")
# Not forked: the child of a process with threads could find a lock that nobody gives back.
_processes = multiprocessing.get_context("spawn")
_running: set[BaseProcess] = set()
_not_now: ContextVar[bool] = ContextVar("not now", default=False)


class ToBeFitted(Exception):
    """Models must be fitted first, which takes seconds: ask again where that may take them."""


@contextmanager
def without_fitting() -> Iterator[None]:
    """Within, what needs a fit that is not known yet raises ``ToBeFitted``."""
    before = _not_now.set(True)
    try:
        yield
    finally:
        _not_now.reset(before)


def about_to_fit() -> None:
    """To be called before unknown models are fitted; ToBeFitted within ``without_fitting``."""
    if _not_now.get():
        raise ToBeFitted


@dataclass(frozen=True)
class _Made(Generic[T]):
    state: Hashable
    value: T
    good_until: float  # whatever the state, by the clock of this process


class JobCache(Generic[T]):
    """What was made last of each of a few subjects, as long as their database is in use.

    Threads that ask for the same at the same time share what one of them makes. What was made is
    good enough for ``rest`` times the seconds that it took to make it, though its subject has
    changed since. With ``alone`` only one thing is made at a time in this process: for models,
    which must not ask for another such thing while they are made.
    """

    def __init__(self, *, rest: float = 0.0, alone: bool = False) -> None:
        self._rest, self._alone = rest, alone
        self._lock = Lock()
        self._made: WeakKeyDictionary[Engine, dict[Hashable, _Made[T]]] = WeakKeyDictionary()
        self._being_made: dict[Hashable, Future[T]] = {}

    def last(self, engine: Engine, subject: Hashable) -> T | None:
        """What was made last of a subject, whatever its state then; None where it is forgotten."""
        with self._lock:
            made = self._made.get(engine, {}).get(subject)
        return None if made is None else made.value

    def of(
        self,
        engine: Engine,
        subject: Hashable,
        state: Hashable,
        make: Callable[[], T],
        *,
        final: bool = False,
    ) -> T:
        """What was made of a subject, as a job's number, in this state, or is made of it now.

        ``final``: whether the subject changes no more, so that only its own state will do.

        Raises:
            ToBeFitted: It is unknown, of models (``alone``), and asked for ``without_fitting``.
            Exception: Whatever ``make`` raised, in every thread that waited for it.
        """
        asked = (id(engine), subject, state)
        with self._lock:
            made = self._made.setdefault(engine, {})
            known = made.get(subject)
            if known is not None and (
                known.state == state or (not final and monotonic() < known.good_until)
            ):
                return known.value
            if self._alone:
                about_to_fit()
            shared = self._being_made.get(asked)
            mine = self._being_made.setdefault(asked, Future())
        if shared is not None:
            return shared.result()
        try:
            with _one_at_a_time if self._alone else nullcontext():
                began = monotonic()
                value, ended = make(), monotonic()
        except BaseException as error:
            with self._lock:
                del self._being_made[asked]
            mine.set_exception(error)
            raise
        with self._lock:
            made.pop(subject, None)
            while len(made) >= _MOST:
                made.pop(next(iter(made)))  # the oldest
            made[subject] = _Made(state, value, ended + self._rest * (ended - began))
            del self._being_made[asked]
        mine.set_result(value)
        return value


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
