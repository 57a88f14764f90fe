"""Workloads: all of them, each with its document and its profile, and the form that sends one."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import RedirectResponse
from pydantic import ValidationError

from api.auth.forms import FormDep
from api.auth.security import page_requires
from api.http.problems import FieldProblem, ProblemError, refused
from api.pages.page import Reader, Submitter, Visit
from api.routes.catalogue import WorkloadName, delete_workload
from api.schemas.catalogue_schemas import WorkloadCreate
from api.services.dependencies import Service, ServiceDep
from api.services.known_workloads import take_workload, workload_entries, workload_public
from api.services.validation_errors import refusal
from db.access.tokens import Role
from db.workloads import WorkloadRefused
from jobs.results.figures import figure
from sampler.common.documents import parse_toml, toml_text
from sampler.common.errors import InputError

router = APIRouter(include_in_schema=False)
# Figures of a family by their names in a profile.
_FIGURES = {
    "key_size": "bytes of a key", "value_size": "bytes of a value",
    "compression_ratio": "compression ratio of values", "codec": "codec", "entries": "live keys",
    "operations": "operations", "overwrite_share": "puts of keys that were there",
    "waf": "write amplification", "hit_rate": "gets that found a key",
    "scan_length": "keys of a scan", "skew": "share of keys with half of the operations",
}  # fmt: skip
_SHARES = ("operations", "overwrite_share", "hit_rate", "skew")


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
    families = [(each, list(_rows(each))) for each in profile.get("families", ())]
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
        raise refusal([{**e, "loc": ("body", *e["loc"])} for e in error.errors()], ()) from None
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


def _rows(family: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, str]]]:
    """What is known of a family: each figure, its value in words, where it comes from."""
    for name, words in _FIGURES.items():
        value, sources = family[name], family["sources"]
        parts = value if isinstance(value, dict) else {"": value}
        if name == "skew":  # the rest of it are no shares
            parts = {part: parts.get(part) for part in ("reads", "writes")}
        told = [
            f"{part} {_words(each, share=name in _SHARES)}".strip()
            for part, each in parts.items()
            if each is not None
        ]
        if told:
            yield words, ", ".join(told), sources.get(name, {"where": None, "sure": None})


def _words(value: str | float, *, share: bool) -> str:
    if isinstance(value, str):
        return value
    return f"{100 * value:.3g}%" if share else figure(value)
