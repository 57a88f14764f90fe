"""What takes seconds to make of trials is made once, until they are others."""

from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from threading import Lock
from time import monotonic
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from sqlalchemy import Engine

_MOST = 16
# Models take seconds of a core each: more than one at a time would slow a trial on this machine.
_one_at_a_time = Lock()
T = TypeVar("T")
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
