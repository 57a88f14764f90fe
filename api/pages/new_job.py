"""A job asked for by a form: a new one, or one like another with changes."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Query, Response
from fastapi.responses import RedirectResponse
from pydantic import ValidationError

from api.auth.security import FormDep
from api.http.problems import FieldProblem, ProblemError, refused
from api.pages.job_form import FormField, asked_by, first_fields, further_fields
from api.pages.page import Submitter, Visit
from api.schemas.job_schemas import JobChange, JobCreate
from api.services.dependencies import Service, ServiceDep, TunedJobDep
from api.services.submission import take_clone, take_job
from api.services.validation_errors import findings_in, findings_of_rest
from db.schema.job_row import JobRow
from jobs.report.rows import limits_asked
from jobs.specification.specification import specification_from_document
from optimizer.objective.limits import limit_words
from sampler.common.errors import InputError

router = APIRouter(include_in_schema=False)
_NAME = re.compile(r"[a-z_]+")
T = TypeVar("T", bound=JobChange)


@router.get("/jobs/new")
def new_job_page(
    visit: Submitter,
    service: ServiceDep,
    workload: Annotated[str, Query(max_length=100)] = "load-quick",
) -> Response:
    """A form in which a workload is chosen."""
    return _form(visit, service, None, {"workload": workload}, None)


@router.post("/jobs/new")
def submit_new_job(visit: Submitter, service: ServiceDep, form: FormDep) -> Response:
    """Submits the job, and leads to its page."""
    try:
        asked = _asked(form, service)
        job_id, _ = take_job(service, _checked(JobCreate, asked, service, None), visit.caller)
    except ProblemError as error:
        return _form(visit, service, None, form, error)
    return RedirectResponse(f"/jobs/{job_id}", 303)


@router.get("/jobs/{job_id}/clone")
def clone_page(visit: Submitter, service: ServiceDep, job: TunedJobDep) -> Response:
    """A form in which all that is left empty stays as it is in the job."""
    return _form(visit, service, job, {}, None)


@router.post("/jobs/{job_id}/clone")
def submit_clone(
    visit: Submitter, service: ServiceDep, job: TunedJobDep, form: FormDep
) -> Response:
    """Submits the clone, and leads to its page."""
    try:
        asked = _asked(form, service)
        changes = _checked(JobChange, asked, service, job)
        job_id = take_clone(service, job, changes, visit.caller)
    except ProblemError as error:
        return _form(visit, service, job, form, error)
    return RedirectResponse(f"/jobs/{job_id}", 303)


def _asked(form: Mapping[str, str], service: Service) -> dict[str, Any]:
    """What the form asks for; 422 where a text of it is not TOML."""
    try:
        return asked_by(form, [*first_fields(service), *further_fields()])
    except InputError as error:
        raise refused([FieldProblem(field=error.field, problem=error.problem)]) from None


def _checked(
    schema: type[T], asked: Mapping[str, Any], service: Service, like: JobRow | None
) -> T:
    """The request as the interface would take it; 422 with all fields that are wrong."""
    try:
        return schema.model_validate(asked)
    except ValidationError as error:
        wrong = {str(each["loc"][0]) for each in error.errors()}
        start = specification_from_document(like.specification) if like else None
        rest = findings_of_rest(asked, wrong, service.workloads, start)
        raise refused([*findings_in(error, asked), *rest]) from None


def _form(
    visit: Visit,
    service: Service,
    like: JobRow | None,
    values: Mapping[str, str],
    error: ProblemError | None,
) -> Response:
    first, further = first_fields(service), further_fields()
    found = error.problem.errors if error else []
    shown = [field for field in (*first, *further) if not field.instead or values.get(field.name)]
    beside, apart = _beside(shown, found)
    return visit.page(
        "new_job.html",
        status=error.problem.status if error else 200,
        first=first,
        further=further,
        open=any(field.name in beside or values.get(field.name) for field in further),
        values=values,
        like=like.id if like else None,
        usual=_as_in(like) if like else _usual(),
        beside=beside,
        apart=apart if found or error is None else [error.problem.detail],
        wrong=[field for field in (*first, *further) if field.name in beside],
    )


def _beside(
    fields: Sequence[FormField], found: Sequence[FieldProblem]
) -> tuple[dict[str, list[str]], list[str]]:
    """The problems by the field that they stand beside, and those of none."""
    # A document of one's own stands for the choice, and so its problems are beside it.
    names = {field.name: field.name for field in fields}
    names |= {field.instead: field.name for field in fields if field.instead}
    beside: dict[str, list[str]] = {}
    apart = []
    for each in found:
        name = _NAME.match(each.field)
        if name is not None and name[0] in names:
            exact = each.field == name[0]
            said = each.problem if exact else f"{each.field}: {each.problem}"
            beside.setdefault(names[name[0]], []).append(said)
        else:
            apart.append(f"{each.field}: {each.problem}")
    return beside, apart


def _usual() -> dict[str, str]:
    """What an empty field means, in a new job."""
    told = {name: field.default for name, field in JobChange.model_fields.items()}
    return {name: str(value) for name, value in told.items() if value not in (None, "")}


def _as_in(job: JobRow) -> dict[str, str]:
    """What an empty field means, in a clone."""
    asked = job.specification
    told: dict[str, Any] = {**asked, **asked.get("search", {}), "priority": job.priority}
    told |= {part: asked[part]["name"] for part in ("workload", "space", "objective")}
    told["limits"] = [limit_words(limit) for limit in limits_asked(asked["objective"])]
    told["baseline_options"] = "an OPTIONS file" if asked.get("baseline_options") else None
    told["start_from"] = [each["name"] for each in asked.get("start_from") or ()]
    joined = {
        name: "; ".join(map(str, value)) if isinstance(value, list | tuple) else value
        for name, value in told.items()
    }
    return {name: str(value) for name, value in joined.items() if value not in (None, "", False)}
