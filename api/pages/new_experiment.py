"""The form of an experiment: each of the other kinds of job, by the fields of its request."""

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Depends, Response
from fastapi.responses import RedirectResponse
from pydantic import ValidationError

from api.auth.security import FormDep
from api.http.problems import ProblemError, findings_in, refused
from api.pages.new_job import asked_by, fields_beside, fields_of
from api.pages.page import Submitter, Visit
from api.services.submission import take_job
from db.schema.job_row import JobKind
from jobs.specification.experiments import REQUESTS

router = APIRouter(include_in_schema=False)


def _experiment(kind: str) -> JobKind:
    if kind not in map(str, REQUESTS):
        raise ProblemError(404, f"there is no experiment {kind!r:.40}")
    return JobKind(kind)


Experiment = Annotated[JobKind, Depends(_experiment)]


@router.get("/jobs/new/{kind}")
def new_experiment_page(visit: Submitter, kind: Experiment) -> Response:
    """Its form; what the address names is filled in."""
    return _form(visit, kind, {"workload": "load-quick", **visit.request.query_params})


@router.post("/jobs/new/{kind}")
def submit_experiment(visit: Submitter, kind: Experiment, form: FormDep) -> Response:
    """Submits it, and leads to its page."""
    asked = asked_by(form, fields_of(REQUESTS[kind], visit.service))
    try:
        request = REQUESTS[kind].model_validate({"kind": kind.value, **asked})
        job_id, _ = take_job(visit.service, request, visit.caller)
    except ValidationError as error:
        return _form(visit, kind, form, refused(findings_in(error, asked)))
    except ProblemError as error:
        return _form(visit, kind, form, error)
    return RedirectResponse(f"/jobs/{job_id}", 303)


def _form(
    visit: Visit, kind: JobKind, values: Mapping[str, str], error: ProblemError | None = None
) -> Response:
    fields = fields_of(REQUESTS[kind], visit.service)
    found = error.problem.errors if error else []
    beside, apart = fields_beside(fields, found)
    told = {name: field.default for name, field in REQUESTS[kind].model_fields.items()}
    return visit.page(
        "new_job.html",
        status=error.problem.status if error else 200,
        kind=kind.value,
        like=None,
        kinds=list(map(str, REQUESTS)),
        first=fields,
        further=[],
        values=values,
        usual={name: str(each) for name, each in told.items() if isinstance(each, str | int)},
        beside=beside,
        apart=apart if found or error is None else [error.problem.detail],
        wrong=[field for field in fields if field.name in beside],
    )
