"""What takes seconds to make of trials is made once, until they are others."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from time import monotonic
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from sqlalchemy import Engine

_MOST = 16
T = TypeVar("T")


@dataclass(frozen=True)
class _Made(Generic[T]):
    state: Hashable
    value: T
    good_until: float  # whatever the state, by the clock of this process


class JobCache(Generic[T]):
    """What was made last of each of a few subjects, as long as their database is in use.

    It is good enough for ``rest`` times the seconds that it took to make it, though its subject
    has changed since.
    """

    def __init__(self, *, rest: float = 0.0) -> None:
        self._rest = rest
        self._made: WeakKeyDictionary[Engine, dict[Hashable, _Made[T]]] = WeakKeyDictionary()

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
        """
        made, began = self._made.setdefault(engine, {}), monotonic()
        known = made.get(subject)
        if known is not None and (
            known.state == state or (not final and began < known.good_until)
        ):
            return known.value
        if len(made) >= _MOST:
            made.clear()
        value, ended = make(), monotonic()
        made[subject] = _Made(state, value, ended + self._rest * (ended - began))
        return value
