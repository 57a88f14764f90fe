"""Exports one job's trials as CSV, NDJSON or Parquet, in as much memory for many as for few.

Each is a generator of bytes. It takes a connection when the first bytes are asked for and gives it
back when it ends, fails or is closed, so whoever stops early closes it. Its steps may be taken by
different threads, one after the other. The trials are those of the moment of the first step.
"""

from __future__ import annotations

from collections.abc import Iterator

import orjson
from sqlalchemy import Engine

from db.schema.tables import MAIN_METRICS
from db.trials.trial_export import MOMENTS, SCALARS, Page, exporting
from jobs.trial_export.trial_columns import TrialColumns
from jobs.trial_export.trial_csv import csv_line, csv_lines


def csv_chunks(
    engine: Engine, job_id: int, *, after: int = 0, limit: int | None = None
) -> Iterator[bytes]:
    """The trials as CSV (RFC 4180) in UTF-8, with a head; see ``trial_csv`` on formulas.

    The columns are how a trial came about, its metrics, its parameters (the values in effect where
    they are known) and how it ended; seconds, and UTC in ISO 8601. They are those of the whole
    job, whatever part of it is asked for. What is unknown is empty.

    Args:
        engine: The database.
        job_id: The job; one that is not there has no trials.
        after: The number of the last trial that is left out.
        limit: How many trials at most; None for all.

    Raises:
        sqlalchemy.exc.DBAPIError: The database is gone, or cut off a reader that took
            nothing for a minute.
    """
    with exporting(engine, job_id) as export:
        columns = TrialColumns.of(export.names())
        yield csv_line(columns.head)
        for page in export.pages(after=after, limit=limit):
            yield csv_lines(columns.of_page(page))


def ndjson_chunks(
    engine: Engine, job_id: int, *, after: int = 0, limit: int | None = None
) -> Iterator[bytes]:
    """The trials as one JSON object a line, documents to the letter as they were kept.

    Arguments and errors as of ``csv_chunks``.
    """
    with exporting(engine, job_id) as export:
        for page in export.pages(after=after, limit=limit):
            yield _json_lines(page)


def parquet_chunks(
    engine: Engine, job_id: int, *, after: int = 0, limit: int | None = None
) -> Iterator[bytes]:
    """The trials as a Parquet file with the columns of ``csv_chunks``.

    Metrics are doubles and moments are in UTC. A parameter is int64, double or bool where all of
    the whole job's values are, else text. Arguments and errors as of ``csv_chunks``.
    """
    from jobs.trial_export.trial_parquet import parquet_file  # its library takes a while to load

    with exporting(engine, job_id) as export:
        yield from parquet_file(export, after=after, limit=limit)


def _json_lines(page: Page) -> bytes:
    scalars = (*SCALARS, *MOMENTS)
    main = zip(*(page[name] for name in MAIN_METRICS), strict=True)
    rows = zip(
        zip(*(page[name] for name in scalars), strict=True),
        map(_metrics, main, page["other_metrics"]),
        *(page[name] for name in ("configuration", "effective", "warnings")),
        strict=True,
    )
    return b"".join(
        orjson.dumps(
            dict(zip(scalars, values, strict=True))
            | {
                "metrics": metrics,
                "configuration": _one_line(configuration),
                "effective": None if effective is None else _one_line(effective),
                "warnings": _one_line(warnings),
            },
            option=orjson.OPT_APPEND_NEWLINE,
        )
        for values, metrics, configuration, effective, warnings in rows
    )


def _metrics(main: tuple[float | None, ...], others: str) -> orjson.Fragment:
    """One object of the metrics with columns of their own and of the others' text."""
    found = {n: v for n, v in zip(MAIN_METRICS, main, strict=True) if v is not None}
    rest = others.strip()[1:-1].strip()
    both = orjson.dumps(found)[1:-1].decode()
    return _one_line("{" + both + (", " if both and rest else "") + rest + "}")


def _one_line(document: str) -> orjson.Fragment:
    """A document as it is: a break in it stands between values, so a space does as well."""
    return orjson.Fragment(document.replace("\n", " ").replace("\r", " "))
