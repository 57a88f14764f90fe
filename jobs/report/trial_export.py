"""Exports one job's trials as CSV, NDJSON or Parquet, in as much memory for many as for few.

Each is a generator of bytes. It takes a connection when the first bytes are asked for and gives it
back when it ends, fails or is closed, so whoever stops early closes it. Its steps may be taken by
different threads, one after the other. The trials are those of the moment of the first step.

**CSV** is that of RFC 4180 in UTF-8, quick enough for a million trials. Numbers and truth values
look the same in JSON and in CSV, and orjson writes a row of them in the time in which
``csv.writer`` writes one float; so a line is a JSON list without its brackets, with texts put into
it as CSV wants them.

**Parquet** is written row group by row group, by a library that is loaded for it alone.

Texts that a program for spreadsheets would run are marked, headers and parameters' texts too
(``sampler.common.text``).
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson
from sqlalchemy import Engine

from db.schema.tables import MAIN_METRICS
from db.trials.trial_export import (
    MOMENTS,
    SCALARS,
    Page,
    TrialExport,
    TrialNames,
    exporting,
    page_of,
    parsed,
)
from optimizer.trials.trial import Trial
from sampler.common.text import without_formula

if TYPE_CHECKING:
    import pyarrow as pa

FIRST = ("number", "phase", "purpose", "state", "subject", "attempt", "given", "host",
         "started_at", "finished_at", "bench_seconds")  # fmt: skip
LAST = ("failure", "why")
_GROUP = 16_000  # trials in a row group of Parquet: a few MB
_MOMENT = "moment"
# The types of the columns that all jobs have, by Arrow's names; the others are texts.
_FIXED = {
    "number": "int64",
    "subject": "int64",
    "attempt": "int64",
    "given": "bool",
    "bench_seconds": "float64",
    **dict.fromkeys(MOMENTS, _MOMENT),
}
_INT64, _EXACT = 2**63, 2**53  # beyond the second not every whole number is a double
_LEAST_WHOLE, _MOST_WHOLE = -(2**63), 2**64 - 1  # what orjson reads as a whole number

Column = Sequence[Any]


@dataclass(frozen=True)
class TrialColumns:
    """The columns of one job's table."""

    names: TrialNames  # of the metrics and parameters, as the job has them
    # The names of all columns, each once: a metric that is called like a column before it is
    # `metric.NAME`, and a parameter `parameter.NAME`.
    head: tuple[str, ...]
    first: tuple[str, ...] = FIRST

    @classmethod
    def of(cls, names: TrialNames, *more: str) -> TrialColumns:
        """The columns for the names that occur, with ``more`` of a page before the metrics."""
        first = (*FIRST, *more)
        head = dict.fromkeys((*first, *LAST))
        metrics = _free(names.metrics, "metric.", head)
        parameters = _free(names.parameters, "parameter.", head)
        return cls(names, (*first, *metrics, *parameters, *LAST), first)

    def of_page(self, page: Page) -> list[Column]:
        """The columns of some trials, in the order of the head; None where there is no value."""
        return [
            *(page[name] for name in self.first),
            *self.metrics(page),
            *self.parameters(page),
            *(page[name] for name in LAST),
        ]

    def metrics(self, page: Page) -> list[Column]:
        """A column for each metric."""
        main = [page[name] for name in self.names.metrics if name in MAIN_METRICS]
        others = [name for name in self.names.metrics if name not in MAIN_METRICS]
        return main + _columns(others, map(parsed, page["other_metrics"]), len(page["number"]))

    def parameters(self, page: Page) -> list[Column]:
        """A column for each parameter, with the values of ``Trial.features``."""
        names, size = self.names.parameters, len(page["number"])
        columns = _columns(names, _features(page, parsed), size)
        if any(map(_may_be_rounded, columns)):
            return _columns(names, _features(page, json.loads), size)
        return columns


def plain_text(value: Any) -> str:
    """Any value but None as text: numbers and truth values as JSON has them."""
    if isinstance(value, str):
        return value
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:  # a whole number of more than 64 bits
        return json.dumps(value)


def _free(names: Iterable[str], prefix: str, taken: dict[str, None]) -> list[str]:
    free = []
    for name in names:
        while name in taken:
            name = prefix + name
        taken[name] = None
        free.append(name)
    return free


def _columns(names: Sequence[str], rows: Iterable[dict[str, Any]], size: int) -> list[Column]:
    # One merge a row keeps the order of the names and fills the gaps, all in C.
    blank = dict.fromkeys(names)
    columns: list[Column] = list(zip(*[(blank | row).values() for row in rows], strict=True))
    return columns or [(None,) * size] * len(names)


def _features(page: Page, read: Callable[[str], dict[str, Any]]) -> Iterable[dict[str, Any]]:
    for asked, effective in zip(page["configuration"], page["effective"], strict=True):
        values = read(asked)
        if effective is None or effective == asked:
            yield values
        else:
            found = read(effective)
            yield {name: found.get(name, value) for name, value in values.items()}


def _may_be_rounded(column: Column) -> bool:
    """Whether a float in it may stand for a whole number of more than 64 bits."""
    if float not in set(map(type, column)):
        return False
    floats = [value for value in column if type(value) is float]
    return not _LEAST_WHOLE < min(floats) <= max(floats) < _MOST_WHOLE


_EMPTY = orjson.Fragment("")
_NUMBERS = frozenset({int, float, bool})
_NEEDS_QUOTES = re.compile(r'[",\r\n]')
# One look at a text, as most are plain.
_MAY_NEED_WORK = re.compile(r"""$|['=+\-@\t]|[^",\r\n]*[",\r\n]""")


def _csv_head(columns: TrialColumns) -> bytes:
    return ",".join(map(_quoted, columns.head)).encode() + b"\r\n"


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
        yield _csv_head(columns)
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


def trials_csv(trials: Iterable[Trial], fitness: Mapping[int, float]) -> bytes:
    """The CSV of trials that are in memory, with the column ``fitness``, by number."""
    ordered = sorted(trials, key=lambda trial: trial.number)
    columns = TrialColumns.of(TrialNames.of(ordered), "fitness")
    page = {**page_of(ordered), "fitness": [fitness.get(trial.number) for trial in ordered]}
    return _csv_head(columns) + (_csv_lines(columns.of_page(page)) if ordered else b"")


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


class _Pipe(io.BytesIO):
    """A file to write to, from which what was written is taken at once."""

    def close(self) -> None:
        """What was written can still be taken."""

    def taken(self) -> bytes:
        """What was written since the last time."""
        written = self.getvalue()
        self.seek(0)
        self.truncate()
        return written


def parquet_chunks(
    engine: Engine, job_id: int, *, after: int = 0, limit: int | None = None
) -> Iterator[bytes]:
    """The trials as a Parquet file with the columns of ``csv_chunks``, a row group at a time.

    Metrics are doubles and moments are in UTC. A parameter is int64, double or bool where all of
    the whole job's values are, else text. Arguments and errors as of ``csv_chunks``.
    """
    import pyarrow as pa  # takes a while to load
    import pyarrow.parquet as pq

    with exporting(engine, job_id) as export:
        columns = TrialColumns.of(export.names())
        kinds = _arrow_kinds(columns, export)
        schema = pa.schema(list(zip(columns.head, map(_arrow_type, kinds), strict=True)))
        pipe = _Pipe()
        with pq.ParquetWriter(pipe, schema, compression="zstd") as writer:
            batches: list[pa.RecordBatch] = []
            for page in export.pages(after=after, limit=limit):
                arrays = list(map(_arrow_array, columns.of_page(page), kinds))
                batches.append(pa.RecordBatch.from_arrays(arrays, schema=schema))
                if sum(batch.num_rows for batch in batches) >= _GROUP:
                    writer.write_table(pa.Table.from_batches(batches, schema))
                    batches.clear()
                    yield pipe.taken()
            if batches:
                writer.write_table(pa.Table.from_batches(batches, schema))
        yield pipe.taken()


def _arrow_kinds(columns: TrialColumns, export: TrialExport) -> list[str]:
    """The types of all columns; those of parameters follow from all values in the job."""
    kinds: list[set[str]] = [set() for _ in columns.names.parameters]
    for page in export.pages():
        for found, column in zip(kinds, columns.parameters(page), strict=True):
            found |= _value_kinds(column)
    return [
        *(_FIXED.get(name, "string") for name in FIRST),
        *("float64" for _ in columns.names.metrics),
        *map(_arrow_kind, kinds),
        *("string" for _ in LAST),
    ]


def _value_kinds(column: Column) -> set[str]:
    """The types that occur; whole numbers by their size."""
    found = {kind.__name__ for kind in set(map(type, column)) - {type(None)}}
    if "int" in found:
        whole = [value for value in column if type(value) is int]
        least, most = min(whole), max(whole)
        if not -_INT64 <= least <= most < _INT64:
            found.add("more than 64 bits")
        elif not -_EXACT <= least <= most <= _EXACT:
            found.add("more than 53 bits")
    return found


def _arrow_kind(kinds: set[str]) -> str:
    if kinds == {"bool"}:
        return "bool"
    if kinds and kinds <= {"int", "more than 53 bits"}:
        return "int64"
    return "float64" if kinds and kinds <= {"int", "float"} else "string"


def _arrow_type(kind: str) -> pa.DataType:
    import pyarrow as pa

    return pa.timestamp("us", tz="UTC") if kind == _MOMENT else pa.type_for_alias(kind)


def _arrow_array(column: Column, kind: str) -> pa.Array:
    import pyarrow as pa

    if kind == _MOMENT:
        return pa.array(column, pa.string()).cast(_arrow_type(kind))
    if kind == "string":
        column = [None if value is None else plain_text(value) for value in column]
    elif kind == "float64":
        # Arrow refuses a whole number that no double is.
        column = [float(value) if type(value) is int else value for value in column]
    return pa.array(column, _arrow_type(kind))
