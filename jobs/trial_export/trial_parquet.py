"""Trials as a Parquet file, row group by row group."""

import io
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from db.trials.trial_export import MOMENTS, TrialExport
from jobs.trial_export.trial_formats import FIRST, LAST, Column, TrialColumns, plain_text

_GROUP = 16_000  # trials in a row group: a few MB
_FIXED = {
    "number": pa.int64(),
    "subject": pa.int64(),
    "attempt": pa.int64(),
    "given": pa.bool_(),
    "bench_seconds": pa.float64(),
    **dict.fromkeys(MOMENTS, pa.timestamp("us", tz="UTC")),
}
_INT64, _EXACT = 2**63, 2**53  # beyond the second not every whole number is a double


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


def parquet_file(export: TrialExport, *, after: int, limit: int | None) -> Iterator[bytes]:
    """The file's bytes, a row group at a time; arguments as of ``csv_chunks``."""
    columns = TrialColumns.of(export.names())
    schema = _schema(columns, export)
    pipe = _Pipe()
    with pq.ParquetWriter(pipe, schema, compression="zstd") as writer:
        batches: list[pa.RecordBatch] = []
        for page in export.pages(after=after, limit=limit):
            arrays = list(map(_array, columns.of_page(page), schema.types))
            batches.append(pa.RecordBatch.from_arrays(arrays, schema=schema))
            if sum(batch.num_rows for batch in batches) >= _GROUP:
                writer.write_table(pa.Table.from_batches(batches, schema))
                batches.clear()
                yield pipe.taken()
        if batches:
            writer.write_table(pa.Table.from_batches(batches, schema))
    yield pipe.taken()


def _schema(columns: TrialColumns, export: TrialExport) -> pa.Schema:
    """The types of all columns; those of parameters follow from all values in the job."""
    names = columns.names
    kinds: list[set[str]] = [set() for _ in names.parameters]
    for page in export.pages():
        for found, column in zip(kinds, columns.parameters(page), strict=True):
            found |= _kinds(column)
    types = [
        *(_FIXED.get(name, pa.string()) for name in FIRST),
        *(pa.float64() for _ in names.metrics),
        *map(_type, kinds),
        *(pa.string() for _ in LAST),
    ]
    return pa.schema(list(zip(columns.head, types, strict=True)))


def _kinds(column: Column) -> set[str]:
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


def _type(kinds: set[str]) -> pa.DataType:
    if kinds == {"bool"}:
        return pa.bool_()
    if kinds and kinds <= {"int", "more than 53 bits"}:
        return pa.int64()
    if kinds and kinds <= {"int", "float"}:
        return pa.float64()
    return pa.string()


def _array(column: Column, kind: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(kind):
        return pa.array(column, pa.string()).cast(kind)
    if pa.types.is_string(kind):
        texts = [None if value is None else plain_text(value) for value in column]
        return pa.array(texts, kind)
    if pa.types.is_float64(kind):
        # Arrow refuses a whole number that no double is.
        column = [float(value) if type(value) is int else value for value in column]
    return pa.array(column, kind)
