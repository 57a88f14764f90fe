"""The one place on the bench where something works; whoever asks first gets it first."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager


class Closed(Exception):
    """The study is being ended: nobody gets the place any more."""


class Place:
    """Held by one thread at a time."""

    def __init__(self) -> None:
        """It is free."""
        self._changed = threading.Condition()
        self._waiting: deque[object] = deque()
        self._taken = self._closed = False

    def take(self) -> None:
        """Waits for its turn.

        Raises:
            Closed: It will not come.
        """
        ticket = object()
        with self._changed:
            self._waiting.append(ticket)
            try:
                self._changed.wait_for(lambda: self._closed or self._is_next(ticket))
            finally:
                self._waiting.remove(ticket)
                self._changed.notify_all()
            self.require_open()
            self._taken = True

    def leave(self) -> None:
        """The next one's turn."""
        with self._changed:
            self._taken = False
            self._changed.notify_all()

    def close(self) -> None:
        """Ends all waiting, now and later."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    @contextmanager
    def closing_on_failure(self) -> Iterator[None]:
        """Closes it when what is done within fails: then all who wait for it end, too."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    def require_open(self) -> None:
        """Nothing, while the study goes on.

        Raises:
            Closed: It does not.
        """
        if self._closed:
            raise Closed

    @contextmanager
    def held(self) -> Iterator[None]:
        """Takes it, and leaves it."""
        self.take()
        try:
            yield
        finally:
            self.leave()

    def _is_next(self, ticket: object) -> bool:
        return not self._taken and self._waiting[0] is ticket
