"""What takes seconds to make of trials is made once, until they are others."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from sqlalchemy import Engine

_MOST = 16
T = TypeVar("T")


class JobCache(Generic[T]):
    """What was made last of each of a few subjects, as long as their database is in use."""

    def __init__(self) -> None:
        self._made: WeakKeyDictionary[Engine, dict[Hashable, tuple[Hashable, T]]]
        self._made = WeakKeyDictionary()

    def of(self, engine: Engine, subject: Hashable, state: Hashable, make: Callable[[], T]) -> T:
        """What was made of a subject in this state, or is made of it now.

        Args:
            engine: The database.
            subject: A job's number, or the name of a batch.
            state: Tells whether what was made of it still holds.
            make: Makes it.
        """
        made = self._made.setdefault(engine, {})
        known = made.get(subject)
        if known is not None and known[0] == state:
            return known[1]
        if len(made) >= _MOST:
            made.clear()
        found = make()
        made[subject] = (state, found)
        return found
