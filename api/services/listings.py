"""Jobs and trials a page at a time, and trials as files, for interface and dashboard alike."""

from collections.abc import Callable, Iterator, Mapping

from fastapi.responses import StreamingResponse
from sqlalchemy import Engine

from api.schemas.job_schemas import JobPage, JobProgress
from api.schemas.trial_schemas import TrialPage, TrialPublic
from api.services.dependencies import Service
from db.jobs.job_list import JobOrder, read_jobs
from db.schema.job_row import JobRow, JobState
from db.schema.types import safe_text
from db.trials.trial_list import TrialOrder, read_listed
from jobs.trial_export.trial_formats import csv_chunks, ndjson_chunks, parquet_chunks
from optimizer.trials.trial import Phase
from sampler.common.errors import InputError
from sampler.runner.outcome import TrialState


def page_of_jobs(
    engine: Engine,
    *,
    limit: int,
    after: int | None = None,
    state: JobState | None = None,
    search: str = "",
    order: JobOrder = JobOrder.NEWEST,
) -> JobPage:
    """A page of the jobs that are asked for; the arguments are those of ``db.jobs.job_list``.

    Raises:
        InputError: Where the page begins is no job any more, or the text to search is none.
    """
    if safe_text(search) != search:
        raise InputError("search", "holds characters that are no text")
    try:
        rows = read_jobs(engine, limit=limit, after=after, state=state, search=search, order=order)
    except KeyError:
        raise InputError("after", f"there is no job {after} any more; begin anew") from None
    following = rows[-1].id if len(rows) == limit else None
    return JobPage(jobs=[JobProgress.of(row) for row in rows], next=following)


def page_of_trials(
    engine: Engine,
    job_id: int,
    *,
    limit: int,
    after: int | None = None,
    state: TrialState | None = None,
    phase: Phase | None = None,
    order: TrialOrder = TrialOrder.NUMBER,
) -> TrialPage:
    """A page of the trials that are asked for; the arguments are those of ``trial_list``.

    Raises:
        InputError: Where the page begins is no trial of the job.
    """
    try:
        found = read_listed(
            engine, job_id, limit=limit, after=after, state=state, phase=phase, order=order
        )
    except KeyError:
        raise InputError("after", f"the job has no trial {after}; begin anew") from None
    following = found[-1].number if len(found) == limit else None
    return TrialPage.model_construct(
        trials=[TrialPublic.of(trial) for trial in found], next=following
    )


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
