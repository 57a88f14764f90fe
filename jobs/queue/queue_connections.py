"""The queue's own connections: while a server is away they wait for it, unless the worker ends.

DBOS asks a server that is away again for ever, with sleeps that grow to a minute and a half, and
nothing ends these: ``destroy`` waits ten seconds for each of its threads. So it hears of no failed
connection here. The connection itself waits, and ends at once when it is told to give up.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import Dialect
from sqlalchemy.pool import ConnectionPoolEntry

from db.connection.engine import server_settings
from db.connection.transactions import BUSY_SECONDS, prepare_sqlite

_AGAIN_SECONDS = 0.2


class QueueGivenUp(Exception):
    """The worker ends, and the server is away: what was asked of the queue has no answer."""


class QueueConnections:
    """The connections that DBOS may use, through ``engine``."""

    def __init__(self, engine: Engine, given_up: Callable[[], bool]) -> None:
        """Makes ready to connect to the database of another engine.

        Args:
            engine: Tells the address.
            given_up: Whether a connection to a server that is away is to raise ``QueueGivenUp``
                instead of waiting. It is asked from the queue's threads.
        """
        self._given_up = given_up
        self._is_shut = False
        on_file = engine.dialect.name == "sqlite"
        self.engine = _to_file(engine) if on_file else _to_server(engine)
        event.listen(self.engine, "do_connect", self._connect)

    def _connect(
        self, dialect: Dialect, _record: object, values: Sequence[Any], names: dict[str, Any]
    ) -> Any:
        while not self._is_shut:
            try:
                return dialect.connect(*values, **names)
            except dialect.loaded_dbapi.OperationalError:
                if dialect.name == "sqlite":
                    raise  # a file has no server that could come back
                if self._given_up():
                    break
            time.sleep(_AGAIN_SECONDS)
        raise QueueGivenUp

    def shut(self) -> None:
        """Ends the connections, and lets nobody open another.

        What another worker took over, or what was deleted, DBOS still watches, for ever if need
        be, and a process does not end before its threads.
        """
        self._is_shut = True
        event.listen(self.engine, "checkin", _drop)
        self.engine.dispose()


def _to_file(engine: Engine) -> Engine:
    """DBOS begins its own transactions, and would not use WAL by itself."""
    own = create_engine(engine.url, connect_args={"timeout": BUSY_SECONDS})

    def prepare(connection: Any, record: object) -> None:
        prepare_sqlite(connection, record)
        connection.isolation_level = "IMMEDIATE"

    event.listen(own, "connect", prepare)
    return own


def _to_server(engine: Engine) -> Engine:
    settings = server_settings(engine.url, application_name="rocktune queue")
    return create_engine(engine.url, connect_args=settings, pool_pre_ping=True, pool_size=4)


def _drop(_connection: object, record: ConnectionPoolEntry) -> None:
    """A connection that was in use when the queue was closed belongs to no pool any more."""
    record.invalidate()
