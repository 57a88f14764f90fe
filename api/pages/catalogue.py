"""What needs no job: the workloads, with the form that sends one, and the bench hosts."""

import json
from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import RedirectResponse
from pydantic import ValidationError

from api.auth.security import FormDep, GuardedRoute
from api.http.problems import FieldProblem, ProblemError, findings_in, refused
from api.pages.page import Administrator, Reader, Submitter, Visit
from api.routes.catalogue import WorkloadName, delete_workload
from api.schemas.catalogue_schemas import WorkloadCreate
from api.services.inline_documents import take_workload, workload_entries, workload_public
from db.workloads import WorkloadRefused
from jobs.regression.hosts import host_histories
from jobs.results.figures import figure_rows
from sampler.common.documents import parse_toml, toml_text
from sampler.common.errors import InputError

router = APIRouter(include_in_schema=False, route_class=GuardedRoute)
_FIRST = ["cpu", "cores", "memory_bytes", "disk", "file_system", "kernel", "rocksdb"]


@router.get("/hosts")
def hosts_page(visit: Reader) -> Response:
    """All hosts that have shown up: what each is, how steady it is, what changed on it."""
    return visit.page("hosts.html", hosts=host_histories(visit.engine), first=_FIRST)


@router.get("/workloads")
def workloads_page(visit: Reader) -> Response:
    """All workloads, and the form."""
    return _workloads(visit)


@router.post("/workloads")
def send_workload(visit: Submitter, form: FormDep) -> Response:
    """Keeps what the form holds, and leads to its page."""
    try:
        asked, replace = _asked(form), "replace" in form
        name, _ = take_workload(visit.service, asked, visit.caller, replace=replace)
    except WorkloadRefused as error:
        return _workloads(visit, form, ProblemError(409, str(error)))
    except ProblemError as error:
        return _workloads(visit, form, error)
    return RedirectResponse(f"/workloads/{name}", 303)


@router.get("/workloads/{name}")
def workload_page(visit: Reader, name: WorkloadName) -> Response:
    """One, with the figures of its profile."""
    found = workload_public(visit.service, name)
    profile, text = found.profile or {}, toml_text(found.document)
    rows = [(each, list(figure_rows(each))) for each in profile.get("families", ())]
    return visit.page("workload.html", each=found, text=text, families=rows, profile=profile)


@router.post("/workloads/{name}/delete")
def delete_by_button(visit: Administrator, name: WorkloadName, _form: FormDep) -> Response:
    """Deletes one that was sent, and leads to the others."""
    delete_workload(visit.service, name, visit.caller)
    return RedirectResponse("/workloads", 303)


def _asked(form: Mapping[str, str]) -> WorkloadCreate:
    """The request as the interface would take it; 422 where a text of it cannot be read."""
    try:
        asked: dict[str, Any] = {
            "workload": parse_toml(form.get("workload", ""), field="workload")
        }
        if form.get("profile", "").strip():
            asked["profile"] = json.loads(form["profile"])
        if form.get("baseline_options", "").strip():
            asked["baseline_options"] = form["baseline_options"]
        return WorkloadCreate.model_validate(asked)
    except ValidationError as error:
        raise refused(findings_in(error, asked)) from None
    except InputError as error:
        raise refused([FieldProblem(field=error.field, problem=error.problem)]) from None
    except (ValueError, RecursionError):
        raise refused([FieldProblem(field="profile", problem="is not valid JSON")]) from None


def _workloads(
    visit: Visit, values: Mapping[str, str] = {}, error: ProblemError | None = None
) -> Response:
    found = error.problem.errors if error else []
    said = [(e.field.partition(".")[0], f"{e.field}: {e.problem}") for e in found]
    return visit.page(
        "workloads.html",
        status=error.problem.status if error else 200,
        workloads=workload_entries(visit.service),
        values=values,
        wrong=said or ([("workload", error.problem.detail)] if error else []),
    )
