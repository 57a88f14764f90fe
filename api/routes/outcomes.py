"""What came of a job of any kind: its result, its report, and the files of an experiment."""

from typing import Annotated, Any

from fastapi import APIRouter, Path
from fastapi.responses import HTMLResponse, Response

from api.auth.security import READS
from api.http.problems import EVERYWHERE, ProblemError, described
from api.http.responses import rendered
from api.schemas.job_schemas import public_specification
from api.services.dependencies import UNCHANGED, CachedJobDep, ServiceDep
from api.services.stored_job import require_done, result_of
from db.schema.job_row import JobKind
from jobs.results.output_folder import REPORT
from jobs.results.pages import policy

router = APIRouter(
    prefix="/v1/jobs/{job_id}",
    tags=["results"],
    dependencies=[READS],
    responses={**EVERYWHERE, **described(404, 409), **UNCHANGED},
)
_SANDBOX = "sandbox allow-scripts allow-modals"  # a modal is how a page is printed
_MEDIA = {"csv": "text/csv", "json": "application/json", "jsonl": "application/x-ndjson"}


@router.get("/result", response_model=dict[str, Any])
def show_result(service: ServiceDep, job: CachedJobDep, response: Response) -> Response:
    """The whole result of a finished job: result.json, of an upgrade check upgrade.json."""
    result = dict(result_of(service, job))
    if job.kind is JobKind.TUNE:
        result["job"] = public_specification(result["job"])
    return rendered(result, response)


@router.get("/report", response_class=HTMLResponse)
def show_report(service: ServiceDep, job: CachedJobDep, response: Response) -> HTMLResponse:
    """The report of a finished job, one page that needs nothing else."""
    from jobs.report.artifacts import report_of_job
    from jobs.results.pages import whole_page

    require_done(job)
    if job.kind is JobKind.TUNE:
        page = report_of_job(service.engine, job)
    else:
        page = whole_page(_file(service, job.id, REPORT))
    # In a place of its own it can neither ask this server for anything, nor be framed.
    alone = {"Content-Security-Policy": f"{policy()}; frame-ancestors 'none'; {_SANDBOX}"}
    return HTMLResponse(page, headers={**response.headers, **alone})


@router.get(
    "/files/{name}",
    response_class=Response,
    responses={
        200: {
            "description": "The file",
            "content": {kind: {"schema": {"type": "string"}} for kind in _MEDIA.values()},
        }
    },
)
def download_file(
    service: ServiceDep,
    job: CachedJobDep,
    response: Response,
    name: Annotated[str, Path(max_length=100, examples=["runs.csv"])],
) -> Response:
    """A file of a finished experiment, as its command writes it; a 404 tells the names."""
    require_done(job)
    if name == REPORT:
        return show_report(service, job, response)
    text = _file(service, job.id, name)
    disposition = {"Content-Disposition": f'attachment; filename="{name}"'}
    kind = _MEDIA[name.rpartition(".")[2]]
    return Response(text, headers={**response.headers, **disposition}, media_type=kind)


def _file(service: ServiceDep, job_id: int, name: str) -> str:
    from jobs.experiments.run_experiment import kept_files

    files: dict[str, str] = kept_files(service.store, job_id)["files"]
    if name not in files:
        known = f"its files are {', '.join(files)}" if files else "see its result and options"
        raise ProblemError(404, f"job {job_id} has no file {name!r:.100}; {known}")
    return files[name]
