"""Workloads: all of them, each with its document and its profile, and the form that sends one."""

import json
from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import RedirectResponse
from pydantic import ValidationError

from api.auth.security import FormDep, page_requires
from api.http.problems import FieldProblem, ProblemError, refused
from api.pages.page import Reader, Submitter, Visit
from api.routes.catalogue import WorkloadName, delete_workload
from api.schemas.catalogue_schemas import WorkloadCreate
from api.services.dependencies import Service, ServiceDep
from api.services.known_workloads import take_workload, workload_entries, workload_public
from api.services.validation_errors import findings_in
from db.access.tokens import Role
from db.workloads import WorkloadRefused
from jobs.results.figures import figure_rows
from sampler.common.documents import parse_toml, toml_text
from sampler.common.errors import InputError

router = APIRouter(include_in_schema=False)


@router.get("/workloads")
def workloads_page(visit: Reader, service: ServiceDep) -> Response:
    """All of them, and the form."""
    return _page(visit, service, {}, None)


@router.post("/workloads")
def send_workload(visit: Submitter, service: ServiceDep, form: FormDep) -> Response:
    """Keeps what the form holds, and leads to its page."""
    try:
        asked = _asked(form)
        name, _ = take_workload(service, asked, visit.caller, replace="replace" in form)
    except WorkloadRefused as error:
        return _page(visit, service, form, ProblemError(409, str(error)))
    except ProblemError as error:
        return _page(visit, service, form, error)
    return RedirectResponse(f"/workloads/{name}", 303)


@router.get("/workloads/{name}")
def workload_page(visit: Reader, service: ServiceDep, name: WorkloadName) -> Response:
    """One, with the figures of its profile."""
    found = workload_public(service, name)
    profile = found.profile or {}
    families = [(each, list(figure_rows(each))) for each in profile.get("families", ())]
    return visit.page(
        "workload.html",
        each=found,
        text=toml_text(found.document),
        families=families,
        profile=profile,
    )


@router.post("/workloads/{name}/delete", dependencies=[page_requires(Role.ADMIN)])
def delete_by_button(service: ServiceDep, name: WorkloadName, _form: FormDep) -> Response:
    """Deletes one that was sent, and leads to the others."""
    delete_workload(service, name)
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
        raise refused([FieldProblem(field="profile", problem="is not JSON")]) from None


def _page(
    visit: Visit, service: Service, values: Mapping[str, str], error: ProblemError | None
) -> Response:
    found = error.problem.errors if error else []
    said = [(e.field.partition(".")[0], f"{e.field}: {e.problem}") for e in found]
    return visit.page(
        "workloads.html",
        status=error.problem.status if error else 200,
        workloads=workload_entries(service),
        values=values,
        wrong=said or ([("workload", error.problem.detail)] if error else []),
    )
