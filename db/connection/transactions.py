"""How transactions begin and what they do alike on SQLite and PostgreSQL."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Delete,
    Engine,
    Select,
    Table,
    Update,
    event,
    func,
    literal,
    select,
)
from sqlalchemy.dialects import sqlite

from db.schema.types import UtcDateTime

if TYPE_CHECKING:  # a process on SQLite does without it
    from sqlalchemy.dialects import postgresql

BUSY_SECONDS = 30
_READING = "rocktune_reading"


def writing(engine: Engine) -> AbstractContextManager[Connection]:
    """A transaction that writes: committed at the end, rolled back by an exception."""
    return engine.begin()


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A connection that only reads, one statement at a time, and makes no writer wait."""
    with engine.connect() as connection:
        options: dict[str, Any] = {_READING: True}
        if engine.dialect.name == "postgresql":
            # A transaction around one SELECT would double the trips to the server.
            options["isolation_level"] = "AUTOCOMMIT"
        yield connection.execution_options(**options)


def read_all(engine: Engine, which: Select[Any]) -> Sequence[Any]:
    """All rows of one statement."""
    with reading(engine) as connection:
        return connection.execute(which).all()


def read_first(engine: Engine, which: Select[Any]) -> Any:
    """The first row of one statement; None where it has none."""
    with reading(engine) as connection:
        return connection.execute(which).first()


def change(engine: Engine, statement: Delete | Update) -> int:
    """Commits one statement; the number of rows that it changed."""
    with writing(engine) as connection:
        return int(connection.execute(statement).rowcount)


def arrange_sqlite(engine: Engine) -> Engine:
    """Makes every connection of a SQLite engine safe to share between processes."""
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    return engine


def _prepare(connection: Any, _record: object) -> None:
    """Makes one connection wait for others and survive kill -9; transactions are begun by hand."""
    # The driver must not begin transactions by itself: it would do so with a plain BEGIN, and
    # only before the first write.
    connection.isolation_level = None
    connection.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000}")
    # Readers and the writer do not lock each other out.
    _switch_to_wal(connection)
    # In WAL a commit is then in the system's hands without an fsync: it survives kill -9. A power
    # cut may take the last trials, which are run again, but leaves the file sound.
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA foreign_keys = ON")


def _switch_to_wal(connection: Any) -> None:
    # Two processes that open a new file at once would each wait for the other here, so SQLite
    # fails one of them at once, whatever the busy timeout. The other is done in a moment.
    deadline = time.monotonic() + BUSY_SECONDS
    while connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() >= deadline:
                raise
            time.sleep(0.01)


def _begin(connection: Connection) -> None:
    # A deferred transaction that reads and then writes fails at once when another has written in
    # between, whatever the busy timeout. One that takes the write lock first only waits.
    reads = connection.get_execution_options().get(_READING, False)
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")


def now(connection: Connection) -> datetime:
    """The present in UTC; for SQLite, which is used on one machine alone, this machine's."""
    if connection.dialect.name == "postgresql":
        moment: datetime = connection.execute(select(func.clock_timestamp())).scalar_one()
        return moment.astimezone(UTC)
    return datetime.now(UTC)


def present(engine: Engine) -> datetime:
    """The same on a connection of its own: all processes of a database have one time."""
    with reading(engine) as connection:
        return now(connection)


def moment_of(engine: Engine) -> ColumnElement[datetime]:
    """The moment at which a statement begins, as a part of it, which saves a trip to the server.

    However often it stands in one statement, it is one moment.
    """
    if engine.dialect.name == "postgresql":
        return func.statement_timestamp(type_=UtcDateTime())
    return literal(datetime.now(UTC), UtcDateTime())


class Counted(IntEnum):
    """What is counted or looked for before a row is inserted, where no unique index decides."""

    QUEUE = 1
    TOKEN_NAMES = 2
    RESTORED_JOBS = 3
    WORKLOADS = 4


# "rock": the first half of a number of PostgreSQL's advisory locks, which a server may share.
_LOCKS = 0x726F636B


def take_turn(connection: Connection, counted: Counted) -> None:
    """Waits for the transactions that count and insert the same; they wait for this one's end.

    To be called before the counting. Writers of SQLite are alone anyway.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(_LOCKS, int(counted))))


def insert_into(engine: Engine, table: Table) -> sqlite.Insert | postgresql.Insert:
    """An insert that can say ``on_conflict_do_update`` or ``on_conflict_do_nothing``."""
    if engine.dialect.name == "sqlite":
        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql

    return postgresql.insert(table)
