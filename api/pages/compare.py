"""Jobs side by side."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from api.pages.page import Reader
from api.services.dependencies import ServiceDep
from api.services.listings import page_of_jobs
from api.services.stored_job import result_if_done
from db.jobs.job_list import read_jobs
from db.schema.job_row import JobKind, JobState, NoSuchJob
from jobs.views.side_by_side import side_by_side
from sampler.common.errors import InputError

router = APIRouter(include_in_schema=False)
_MOST, _OFFERED = 6, 20


@router.get("/compare")
def compare_page(
    visit: Reader, service: ServiceDep, jobs: Annotated[str, Query(max_length=200)] = ""
) -> Response:
    """The jobs that are named, as ``1,2``; without any, the newest to choose from."""
    problem, asked = None, []
    try:
        rows = [service.store.job(number) for number in _numbers(jobs)]
        for row in rows:
            if row.kind is not JobKind.TUNE:
                raise InputError("jobs", f"job {row.id} is of the kind {row.kind}; name others")
        asked = [(row, result_if_done(service, row)) for row in rows]
    except InputError as error:
        problem = error.problem
    except NoSuchJob as error:
        problem = f"{error.args[0]}; name others"
    newest = read_jobs(service.engine, limit=_OFFERED, state=JobState.DONE, kind=JobKind.TUNE)
    return visit.page(
        "compare.html",
        status=422 if problem else 200,
        given=jobs,
        problem=problem,
        jobs=[row for row, _ in asked],
        found=side_by_side(asked) if asked else None,
        newest=page_of_jobs(newest, _OFFERED).jobs,
    )


def _numbers(text: str) -> list[int]:
    parts = [part.strip().lstrip("#") for part in text.split(",") if part.strip()]
    if not all(part.isascii() and part.isdecimal() and len(part) < 19 for part in parts):
        raise InputError("jobs", "write the numbers of jobs, apart by commas: 1,2")
    numbers = list(dict.fromkeys(int(part) for part in parts))
    if numbers and not 2 <= len(numbers) <= _MOST:
        raise InputError("jobs", f"name two jobs, and at most {_MOST}: 1,2")
    return numbers
