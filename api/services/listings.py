"""Jobs and trials a page at a time, and trials as files, for interface and dashboard alike."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from fastapi.responses import StreamingResponse

from api.schemas.job_schemas import JobPage, JobProgress
from api.schemas.trial_schemas import TrialPage, TrialPublic
from api.services.dependencies import Service
from db.jobs.job_list import ListedJob
from db.schema.job_row import JobRow
from jobs.trial_export.trial_formats import csv_chunks, ndjson_chunks, parquet_chunks
from optimizer.trials.trial import Trial


def page_of_jobs(rows: Sequence[ListedJob], limit: int) -> JobPage:
    """A page of ``limit`` jobs at most, and where the next one begins."""
    following = rows[-1].id if len(rows) == limit else None
    return JobPage(jobs=[JobProgress.of(row) for row in rows], next=following)


def page_of_trials(rows: Sequence[Trial], limit: int) -> TrialPage:
    """A page of ``limit`` trials at most, and where the next one begins."""
    following = rows[-1].number if len(rows) == limit else None
    shown = [TrialPublic.of(trial) for trial in rows]
    return TrialPage.model_construct(trials=shown, next=following)


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
    """Trials after a number, ``limit`` at most, as a file of a kind of ``FILES``."""
    ending, stream = FILES[kind]
    name = f'attachment; filename="job-{job.id}-trials.{ending}"'
    kept = {**headers, "Content-Disposition": name}
    kept.pop("content-length", None)
    chunks = stream(service.engine, job.id, after=after or 0, limit=limit)
    return StreamingResponse(service.exports.begin(chunks), media_type=kind, headers=kept)
