"""Exports one job's trials as CSV, NDJSON or Parquet, in as much memory for many as for few.

Each is a generator of bytes. It takes a connection when the first bytes are asked for and gives it
back when it ends, fails or is closed, so whoever stops early closes it. Its steps may be taken by
different threads, one after the other. The trials are those of the moment of the first step.

**CSV** is that of RFC 4180 in UTF-8, quick enough for a million trials. Numbers and truth values
look the same in JSON and in CSV, and orjson writes a row of them in the time in which
``csv.writer`` writes one float; so a line is a JSON list without its brackets, with texts put into
it as CSV wants them.

Texts that a program for spreadsheets would run are marked, headers and parameters' texts too
(``formulas.py``).
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import orjson
from sqlalchemy import Engine

from db.schema.tables import MAIN_METRICS
from db.trials.trial_export import MOMENTS, SCALARS, Page, exporting
from jobs.trial_export.trial_columns import Column, TrialColumns, plain_text
from sampler.common.untrusted_text import without_formula

_EMPTY = orjson.Fragment("")
_NUMBERS = frozenset({int, float, bool})
_NEEDS_QUOTES = re.compile(r'[",\r\n]')
# One look at a text, as most are plain.
_MAY_NEED_WORK = re.compile(r"""$|['=+\-@\t]|[^",\r\n]*[",\r\n]""")


def _csv_lines(columns: Sequence[Column]) -> bytes:
    """The lines of a page; None is an empty cell, and an empty text is ``""``."""
    try:
        return _lines(map(_cells, columns))
    except orjson.JSONEncodeError:  # a whole number of more than 64 bits
        return _lines(map(_cell, column) for column in columns)


def _lines(columns: Iterable[Iterable[Any]]) -> bytes:
    write = orjson.dumps
    return b"".join([write(row)[1:-1] + b"\r\n" for row in zip(*columns, strict=True)])


def _cells(column: Column) -> Iterable[Any]:
    """What orjson writes as the cells of a column."""
    kinds = set(map(type, column))
    gaps = type(None) in kinds
    kinds.discard(type(None))
    if kinds <= {str}:
        # A few texts many times, or each once: in both cases one look at each.
        texts = {text: _cell(text) for text in set(column)}
        return map(texts.__getitem__, column)
    if not kinds <= _NUMBERS:
        return map(_cell, column)
    return [_EMPTY if value is None else value for value in column] if gaps else column


def _cell(value: Any) -> Any:
    if value is None:
        return _EMPTY
    text = plain_text(value)
    return orjson.Fragment(text if isinstance(value, int | float) else _quoted(text))


def _quoted(text: str) -> str:
    if not _MAY_NEED_WORK.match(text):
        return text
    text = without_formula(text)
    if not text or _NEEDS_QUOTES.search(text):
        return '"' + text.replace('"', '""') + '"'
    return text


def csv_chunks(
    engine: Engine, job_id: int, *, after: int = 0, limit: int | None = None
) -> Iterator[bytes]:
    """The trials as CSV (RFC 4180) in UTF-8, with a head; see above on formulas.

    The columns are how a trial came about, its metrics, its parameters (the values in effect where
    they are known) and how it ended; seconds, and UTC in ISO 8601. They are those of the whole
    job, whatever part of it is asked for: at most ``limit`` trials after the one with the number
    ``after``. What is unknown is empty. A job that is not there has no trials.

    Raises:
        sqlalchemy.exc.DBAPIError: The database is gone, or cut off a reader that took
            nothing for a minute.
    """
    with exporting(engine, job_id) as export:
        columns = TrialColumns.of(export.names())
        yield ",".join(map(_quoted, columns.head)).encode() + b"\r\n"
        for page in export.pages(after=after, limit=limit):
            yield _csv_lines(columns.of_page(page))


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
