"""All trials of a job as a file that leaves as it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from fastapi.responses import StreamingResponse

from api.services.dependencies import Service
from db.schema.job_row import JobRow
from jobs.trial_export.trial_formats import csv_chunks, ndjson_chunks, parquet_chunks

FILES: Mapping[str, tuple[str, Callable[..., Iterator[bytes]]]] = {
    "text/csv": ("csv", csv_chunks),
    "application/x-ndjson": ("ndjson", ndjson_chunks),
    "application/vnd.apache.parquet": ("parquet", parquet_chunks),
}
"""Media type to the ending of the file's name, and what makes the file."""


def trial_file(
    service: Service,
    job: JobRow,
    kind: str,
    *,
    after: int | None = None,
    limit: int | None = None,
    headers: Mapping[str, str],
) -> StreamingResponse:
    """Trials by number as a file to keep.

    Args:
        service: Where they are.
        job: Whose they are.
        kind: One of ``FILES``.
        after: The number of the last trial that is left out.
        limit: How many at most; None for all.
        headers: Of the answer.
    """
    ending, stream = FILES[kind]
    name = f'attachment; filename="job-{job.id}-trials.{ending}"'
    kept = {**headers, "Content-Disposition": name}
    kept.pop("content-length", None)
    chunks = stream(service.engine, job.id, after=after or 0, limit=limit)
    return StreamingResponse(service.exports.begin(chunks), media_type=kind, headers=kept)
