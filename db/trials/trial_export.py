"""A job's trials read once through for export: raw, in columns, a page in memory at a time.

Documents stay the text that the database holds: most of them go out as they are, and those that
do not are parsed by whoever needs them. Pages are read by number, each with a statement of its
own: every statement is short and walks the index of (job, number), where a cursor over the whole
job may sort all of its documents first. The next page is on its way while the last is used.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any

import orjson
from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Engine,
    Select,
    Text,
    bindparam,
    cast,
    func,
    select,
    type_coerce,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.exc import DBAPIError

from db.connection.engine import reading
from db.schema.job_row import JobState
from db.schema.tables import MAIN_METRICS, document, job, trial
from db.schema.types import EnumText
from optimizer.trials.trial import Trial

if TYPE_CHECKING:  # a process on SQLite never loads the driver
    import psycopg

PAGE = 500
"""Trials read at a time: a few MB, with all that is made of them. More is no quicker."""

KEPT_NAMES = "columns"
"""The name of the document that holds a finished job's names."""

SCALARS = ("number", "phase", "purpose", "state", "subject", "attempt", "given", "host",
           "bench_seconds", "failure", "why")  # fmt: skip
MOMENTS = ("started_at", "finished_at")
DOCUMENTS = ("configuration", "effective", "other_metrics", "warnings")
COLUMNS = (*SCALARS, *MAIN_METRICS, *MOMENTS, *DOCUMENTS)

Page = Mapping[str, Sequence[Any]]
"""The values of some trials by the name of their column: moments as ISO 8601 text in UTC with
microseconds, documents as JSON text, the rest as ``db.schema.tables`` has it."""


@dataclass(frozen=True)
class TrialNames:
    """What occurs in a job: the metrics, the main ones first, and the parameters.

    Beyond the main metrics both are in the order in which they first occur.
    """

    metrics: tuple[str, ...]
    parameters: tuple[str, ...]

    @classmethod
    def of(cls, trials: Iterable[Trial]) -> TrialNames:
        """What occurs in these trials, all those of a job by number."""
        metrics: dict[str, Any] = {}
        parameters: dict[str, Any] = {}
        for each in trials:
            metrics.update(each.metrics)
            parameters.update(each.configuration)
        main = [name for name in MAIN_METRICS if name in metrics]
        return cls(tuple(dict.fromkeys([*main, *metrics])), tuple(parameters))

    def document(self) -> dict[str, Any]:
        """As it is kept with a job that is done, under ``KEPT_NAMES``."""
        return {"metrics": list(self.metrics), "parameters": list(self.parameters)}


def page_of(trials: Sequence[Trial]) -> Page:
    """Trials that are in memory as such a page."""
    texts = ("configuration", "effective", "warnings")
    others = [{n: v for n, v in t.metrics.items() if n not in MAIN_METRICS} for t in trials]
    return {
        **{name: [_scalar(getattr(trial, name)) for trial in trials] for name in SCALARS},
        **{name: [trial.metrics.get(name) for trial in trials] for name in MAIN_METRICS},
        **{name: [_iso(getattr(trial, name)) for trial in trials] for name in MOMENTS},
        **{name: [_text(getattr(trial, name)) for trial in trials] for name in texts},
        "other_metrics": list(map(_text, others)),
    }


def _scalar(value: Any) -> Any:
    return value.value if isinstance(value, Enum) else value


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.astimezone(UTC).isoformat(timespec="microseconds")


def _text(document: Any) -> str | None:
    return None if document is None else json.dumps(document)


@dataclass(frozen=True)
class TrialExport:
    """A job's trials as they stood when they were first read; for one thread at a time."""

    prepare: Prepare
    job_id: int
    dialect: str

    def names(self) -> TrialNames:
        """All names that occur in the whole job, so that parts of it have the same columns.

        A job that is done has them with it. Of any other every trial is read once: about a third
        of the time of a CSV file.
        """
        which = (
            select(cast(document.c.body, Text))
            .join(job, job.c.id == document.c.job_id)
            .where(job.c.id == bindparam("job_id"), job.c.state == JobState.DONE.value)
            .where(document.c.name == KEPT_NAMES)
        )
        kept = self.prepare(which)({"job_id": self.job_id})()
        if kept:
            found = parsed(kept[0][0])
            return TrialNames(tuple(found["metrics"]), tuple(found["parameters"]))
        documents = (cast(trial.c[name], Text) for name in ("configuration", "other_metrics"))
        rows = _page(trial.c.number, *documents, *(trial.c[name] for name in MAIN_METRICS))
        present: set[str] = set()
        metrics: dict[str, Any] = {}
        parameters: dict[str, Any] = {}
        for _, configurations, others, *main in self._pages(rows, 0, None):
            for text in configurations:
                parameters.update(parsed(text))
            for text in others:
                metrics.update(parsed(text))
            figures = zip(MAIN_METRICS, main, strict=True)
            present |= {name for name, page in figures if any(each is not None for each in page)}
        main_metrics = [name for name in MAIN_METRICS if name in present]
        return TrialNames(tuple(dict.fromkeys([*main_metrics, *metrics])), tuple(parameters))

    def pages(self, *, after: int = 0, limit: int | None = None) -> Iterator[Page]:
        """``limit`` trials at most behind the trial ``after``, ``PAGE`` or fewer at a time."""
        columns = _page(
            *(_plain(trial.c[name]) for name in (*SCALARS, *MAIN_METRICS)),
            *(_moment(name, self.dialect) for name in MOMENTS),
            *(cast(trial.c[name], Text) for name in DOCUMENTS),
        )
        for page in self._pages(columns, after, limit):
            yield dict(zip(COLUMNS, page, strict=True))

    def _pages(
        self, rows: Select[Any], after: int, limit: int | None
    ) -> Iterator[list[tuple[Any, ...]]]:
        """Pages in columns, of which the first is the number."""
        size = PAGE if limit is None else min(PAGE, limit)
        prepared = self.prepare(rows)

        def ask(after: int, size: int) -> Answer:
            return prepared({"job_id": self.job_id, "after": after, "size": size})

        answer = ask(after, size) if size > 0 else None
        while answer is not None:
            found, asked = answer(), size
            if limit is not None:
                limit -= len(found)
                size = min(size, limit)
            whole = len(found) == asked and size > 0
            answer = ask(found[-1][0], size) if whole else None
            if found:
                yield list(zip(*found, strict=True))


def parsed(text: str) -> dict[str, Any]:
    """A document; whole numbers of more than 64 bits may come as the float next to them."""
    try:
        found: dict[str, Any] = orjson.loads(text)
    except orjson.JSONDecodeError:
        # There are whole numbers that no float is near to.
        found = json.loads(text)
    return found


def _page(*columns: ColumnElement[Any]) -> Select[Any]:
    return (
        select(*columns)
        .where(
            trial.c.job_id == bindparam("job_id"),
            trial.c.number > bindparam("after", type_=BigInteger),
        )
        .order_by(trial.c.number)
        .limit(bindparam("size"))
    )


def _plain(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """Words as the texts that they are kept as: nobody who writes a file needs the member."""
    return type_coerce(column, Text) if isinstance(column.type, EnumText) else column


def _moment(name: str, dialect: str) -> ColumnElement[Any]:
    """Text, made by the database: to make a datetime of each only to print it takes longer."""
    if dialect == "postgresql":
        utc = func.timezone("UTC", trial.c[name])
        return func.to_char(utc, 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"')
    stored = type_coerce(trial.c[name], Text)
    return func.replace(stored, " ", "T") + "+00:00"


Answer = Callable[[], Sequence[Sequence[Any]]]
"""Waits for the rows."""
Ask = Callable[[Mapping[str, int]], Answer]
"""Asks with these parameters."""
Prepare = Callable[[Select[Any]], Ask]
"""Makes a statement ready to be asked many times."""


@contextmanager
def exporting(engine: Engine, job_id: int) -> Iterator[TrialExport]:
    """Opens a job for export, as the database was at its first statement.

    A job that is not there has no trials. It holds one connection; on SQLite the log cannot shrink
    meanwhile. On PostgreSQL the values are the driver's own, so moments and documents are asked
    for as text; and a reader that asks for nothing for ``idle_in_transaction_session_timeout``
    (see ``engine``) is cut off.

    Raises:
        sqlalchemy.exc.DBAPIError: The database is gone, or has cut off the reader.
    """
    opened = partial(TrialExport, job_id=job_id, dialect=engine.dialect.name)
    with reading(engine) as connection:
        if engine.dialect.name != "postgresql":
            yield opened(lambda rows: lambda asked: lambda: connection.execute(rows, asked).all())
            return
        # Or every statement would see what was written since the one before.
        connection = connection.execution_options(isolation_level="REPEATABLE READ")
        # While a table that just grew is not analysed, the planner takes all of a job for a few
        # rows and sorts them, page after page: three times as long. An index has the order.
        connection.exec_driver_sql("SET LOCAL enable_sort = off")
        driver: Any = connection.connection.driver_connection
        try:
            with driver.pipeline() as pipeline:
                yield opened(_Pipelined(connection.dialect, driver, pipeline).prepare)
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

            def answer() -> Sequence[Sequence[Any]]:
                with self._errors(statement):
                    return cursor.fetchall()

            return answer

        return ask

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
