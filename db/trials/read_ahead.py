"""Reading many pages, of which the next is on its way while the last is used.

On PostgreSQL a statement is sent before the answer to it is needed, so that the server works at
the next page while this process works at the last: the two halves of an export take turns
otherwise, which took nearly twice as long. SQLite works in this process anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from sqlalchemy import Engine, Select
from sqlalchemy.engine import Dialect
from sqlalchemy.exc import DBAPIError

from db.connection.transactions import reading

if TYPE_CHECKING:  # a process on SQLite never loads the driver
    import psycopg

Answer = Callable[[], Sequence[Sequence[Any]]]
"""Waits for the rows."""
Ask = Callable[[Mapping[str, int]], Answer]
"""Asks with these parameters."""
Prepare = Callable[[Select[Any]], Ask]
"""Makes a statement ready to be asked many times."""


@contextmanager
def reading_ahead(engine: Engine) -> Iterator[Prepare]:
    """A transaction that reads, and sees the database as it was at its first statement.

    It holds one connection; on SQLite the log cannot shrink meanwhile. On PostgreSQL the values
    are the driver's own, so moments and documents are to be asked for as text; and a reader that
    asks for nothing for ``idle_in_transaction_session_timeout`` (see ``engine``) is cut off.

    Raises:
        sqlalchemy.exc.DBAPIError: The database is gone, or has cut off the reader.
    """
    with reading(engine) as connection:
        if engine.dialect.name != "postgresql":
            yield (
                lambda rows: lambda parameters: lambda: connection.execute(rows, parameters).all()
            )
            return
        # Or every statement would see what was written since the one before.
        connection = connection.execution_options(isolation_level="REPEATABLE READ")
        # While a table that just grew is not analysed, the planner takes all of a job for a few
        # rows and sorts them, page after page: three times as long. An index has the order.
        connection.exec_driver_sql("SET LOCAL enable_sort = off")
        driver: Any = connection.connection.driver_connection
        try:
            with driver.pipeline() as pipeline:
                yield _Pipelined(connection.dialect, driver, pipeline).prepare
        finally:
            if driver.closed:
                connection.invalidate()  # or the pool would try it once more, and complain


@dataclass(frozen=True)
class _Pipelined:
    dialect: Dialect
    driver: psycopg.Connection[Any]
    pipeline: psycopg.Pipeline

    def prepare(self, rows: Select[Any]) -> Ask:
        compiled = rows.compile(dialect=self.dialect)
        statement, constants = compiled.string, compiled.params

        def ask(parameters: Mapping[str, int]) -> Answer:
            cursor = self.driver.cursor()
            with self._errors(statement):
                cursor.execute(statement.encode(), {**constants, **parameters})
                # Sends it, and lets the server count the time until the next as idle.
                self.pipeline.sync()
            return partial(self._fetch, cursor, statement)

        return ask

    def _fetch(self, cursor: psycopg.Cursor[Any], statement: str) -> Sequence[Sequence[Any]]:
        with self._errors(statement):
            return cursor.fetchall()

    @contextmanager
    def _errors(self, statement: str) -> Iterator[None]:
        """Raises the driver's errors as SQLAlchemy does."""
        import psycopg

        try:
            yield
        except psycopg.Error as error:
            lost = self.driver.closed
            raise DBAPIError.instance(
                statement, None, error, psycopg.Error, connection_invalidated=lost
            ) from error
