"""A job asked for by a form: a new one, one like another with changes, or an experiment.

The form's words are those of the interface's own description, and so are its errors.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from api.auth.security import FormDep, GuardedRoute
from api.http.problems import FieldProblem, ProblemError, findings_in, refused
from api.pages.page import Submitter, Visit
from api.schemas.job_schemas import JobChange, JobCreate
from api.services.dependencies import Service, TunedJobDep
from api.services.submission import findings_of_rest, take_clone, take_job
from db.schema.job_row import JobKind, JobRow
from jobs.specification.experiments import REQUESTS
from jobs.specification.request import JobRequest, field_kind, typed
from jobs.specification.specification import specification_from_document
from optimizer.objective.objective import limit_words
from optimizer.objective.objective_file import SHIPPED as OBJECTIVES
from optimizer.objective.objective_file import limits_asked, load_objective
from optimizer.strategies.registry import STRATEGIES
from sampler.common.documents import parse_toml
from sampler.common.errors import InputError
from sampler.space.space_file import SHIPPED as SPACES
from sampler.space.space_file import space_text

_SHORT = 90
Choice = tuple[str, str]
Kind = Literal["choice", "whole", "number", "text", "lines", "list", "area", "check", "toml"]
# What most jobs are asked by.
_FIRST = ("workload", "space", "objective", "trials", "minutes", "limits", "memory", "detect")
_KINDS: Mapping[str, Kind] = {"limits": "lines", "baseline_options": "area", "options": "area"}
_BASELINES = [("library", "the library's defaults"), ("db_bench", "db_bench's defaults")]


@dataclass(frozen=True)
class FormField:
    """One field."""

    name: str  # as the request has it, or the form alone
    kind: Kind  # what is written in it
    choices: Sequence[Choice] = ()  # (value, words) of a choice
    instead: str = ""  # the request's field that it fills in another way, where it is filled in
    request: type[BaseModel] = JobRequest

    @property
    def label(self) -> str:
        """As the form shows it."""
        if self.instead:
            what = self._field(self.instead).title or self.instead.title()
            return f"Your own {what.lower()}, as TOML"
        return self._field(self.name).title or self.name.replace("_", " ").capitalize()

    @property
    def help(self) -> str:
        """What it means, in the words of the interface's description."""
        if not self.instead:
            return self._field(self.name).description or ""
        return f"Replaces the {self.instead} chosen above. Paste the contents of its file."

    def _field(self, name: str) -> FieldInfo:
        return self.request.model_fields[name]


def form_fields(kind: JobKind, service: Service) -> tuple[list[FormField], list[FormField]]:
    """The fields that are shown first, and the further ones: together all that a request has.

    First are those that most tuning jobs are asked by, or those of an experiment alone, with what
    it needs before the rest; further ones are asked for rarely, or are of several kinds.
    """
    request, choices = REQUESTS.get(kind, JobRequest), _choices(kind, service)
    known = {
        name: FormField(
            name,
            "choice" if name in choices else _KINDS.get(name) or field_kind(name, request),
            choices.get(name, ()),
            request=request,
        )
        for name in request.model_fields
        if name != "kind"
    }
    if kind is JobKind.TUNE:
        names: Sequence[str] = _FIRST
        own = [FormField(f"own_{name}", "toml", instead=name) for name in ("space", "objective")]
    else:
        needed = sorted(known, key=lambda name: not request.model_fields[name].is_required())
        names, own = [name for name in needed if name in request.__annotations__], []
    first = [known.pop(name) for name in names]
    further = list(known.values())
    place = 1 + next((n for n, each in enumerate(further) if each.name == "drop_unknown"), 0)
    return first, [*further[:place], *own, *further[place:]]


def _choices(kind: JobKind, service: Service) -> dict[str, Sequence[Choice]]:
    """The choices of the fields that have some."""
    workloads = [
        _choice(name, each.get("help"))
        for name, each in service.workloads.items()
        # Only what was uploaded can have the profile of its database.
        if kind is not JobKind.PROFILE_CHECK or name not in service.registered
    ]
    if kind is not JobKind.TUNE:
        return {"workload": workloads}
    strategies = [(name, name) for name in STRATEGIES]
    own = {"workload": workloads, "strategy": strategies, "baseline": _BASELINES}
    return {**own, **_shipped()}


def asked_by(form: Mapping[str, str], kind: JobKind, service: Service) -> dict[str, Any]:
    """What a filled-in form asks for, as the interface's JSON would say it.

    What is left empty is not asked for. What is no number stays text, and is refused as such. A
    text that is not TOML is an InputError of its field.
    """
    found: dict[str, Any] = {}
    for field in chain(*form_fields(kind, service)):
        text = form.get(field.name, "")
        if field.kind not in ("area", "toml"):
            text = text.strip()
        if not text.strip():
            continue
        if field.kind == "toml":
            found[field.instead] = parse_toml(text, field=field.name)
        elif field.kind == "check":
            found[field.name] = True
        elif field.kind in ("lines", "list"):
            parts = text.split("\n" if field.kind == "lines" else ",")
            found[field.name] = [part.strip() for part in parts if part.strip()]
        else:
            found[field.name] = typed(field.name, text, field.request)
    return found


def _choice(name: str, words: object) -> Choice:
    said = str(words or "")
    short = said if len(said) <= _SHORT else f"{said[: _SHORT - 3]}..."
    return name, f"{name}: {short}" if short else name


@lru_cache(maxsize=1)
def _shipped() -> dict[str, Sequence[Choice]]:
    """The shipped spaces and objectives, which are files."""
    spaces = [parse_toml(space_text(name), field=name) for name in SPACES]
    objectives = [load_objective(name) for name in OBJECTIVES]
    return {
        "space": [_choice(each["name"], each.get("help")) for each in spaces],
        "objective": [_choice(each.name, each.help) for each in objectives],
    }


router = APIRouter(include_in_schema=False, route_class=GuardedRoute)
_NAME = re.compile(r"[a-z_]+")
T = TypeVar("T", bound=JobChange)


@router.get("/jobs/new")
def new_job_page(
    visit: Submitter, workload: Annotated[str, Query(max_length=100)] = "load-quick"
) -> Response:
    """A form in which a workload is chosen."""
    return _form(visit, JobKind.TUNE, {"workload": workload})


@router.post("/jobs/new")
def submit_new_job(visit: Submitter, form: FormDep) -> Response:
    """Submits the job, and leads to its page."""
    try:
        asked = _checked(JobCreate, form, visit.service, None)
        job_id, _ = take_job(visit.service, asked, visit.caller)
    except ProblemError as error:
        return _form(visit, JobKind.TUNE, form, error)
    return RedirectResponse(f"/jobs/{job_id}", 303)


@router.get("/jobs/{job_id}/clone")
def clone_page(visit: Submitter, job: TunedJobDep) -> Response:
    """A form in which all that is left empty stays as it is in the job."""
    return _form(visit, JobKind.TUNE, {}, like=job)


@router.post("/jobs/{job_id}/clone")
def submit_clone(visit: Submitter, job: TunedJobDep, form: FormDep) -> Response:
    """Submits the clone, and leads to its page."""
    try:
        changes = _checked(JobChange, form, visit.service, job)
        job_id = take_clone(visit.service, job, changes, visit.caller)
    except ProblemError as error:
        return _form(visit, JobKind.TUNE, form, error, job)
    return RedirectResponse(f"/jobs/{job_id}", 303)


def _checked(schema: type[T], form: Mapping[str, str], service: Service, like: JobRow | None) -> T:
    """The request as the interface would take it; 422 with all fields that are wrong."""
    try:
        asked = asked_by(form, JobKind.TUNE, service)
    except InputError as error:
        raise refused([FieldProblem(field=error.field, problem=error.problem)]) from None
    try:
        return schema.model_validate(asked)
    except ValidationError as error:
        wrong = {str(each["loc"][0]) for each in error.errors()}
        start = specification_from_document(like.specification) if like else None
        rest = findings_of_rest(asked, wrong, service.workloads, start)
        raise refused([*findings_in(error, asked), *rest]) from None


def _form(
    visit: Visit,
    kind: JobKind,
    values: Mapping[str, str],
    error: ProblemError | None = None,
    like: JobRow | None = None,
) -> Response:
    """A form with what is filled in, and what is wrong beside its fields."""
    first, further = form_fields(kind, visit.service)
    found = error.problem.errors if error else []
    fields = [*first, *further]
    beside, apart = _beside([f for f in fields if not f.instead or values.get(f.name)], found)
    return visit.page(
        "new_job.html",
        status=error.problem.status if error else 200,
        kind=kind.value,
        kinds=[] if like else list(map(str, REQUESTS)),
        first=first,
        further=further,
        open=any(field.name in beside or values.get(field.name) for field in further),
        values=values,
        like=like.id if like else None,
        usual=_as_in(like) if like else _usual(REQUESTS.get(kind, JobRequest)),
        beside=beside,
        apart=apart if found or error is None else [error.problem.detail],
        wrong=[field for field in fields if field.name in beside],
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
        name, said = _NAME.match(each.field), f"{each.field}: {each.problem}"
        if name is not None and name[0] in names:
            exact = each.field == name[0]
            beside.setdefault(names[name[0]], []).append(each.problem if exact else said)
        else:
            apart.append(said)
    return beside, apart


def _usual(request: type[BaseModel]) -> dict[str, str]:
    """What an empty field means, in a new job."""
    fields = request.model_fields.items()
    told = {name: field.default for name, field in fields if not field.is_required()}
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


def _experiment(kind: str) -> JobKind:
    if kind not in map(str, REQUESTS):
        raise ProblemError(404, f"there is no experiment {kind!r:.40}")
    return JobKind(kind)


Experiment = Annotated[JobKind, Depends(_experiment)]


@router.get("/jobs/new/{kind}")
def new_experiment_page(visit: Submitter, kind: Experiment) -> Response:
    """The form of an experiment; what the address names is filled in."""
    return _form(visit, kind, visit.request.query_params)


@router.post("/jobs/new/{kind}")
def submit_experiment(visit: Submitter, kind: Experiment, form: FormDep) -> Response:
    """Submits it, and leads to its page."""
    asked = asked_by(form, kind, visit.service)
    try:
        request = REQUESTS[kind].model_validate({"kind": kind.value, **asked})
        job_id, _ = take_job(visit.service, request, visit.caller)
    except ValidationError as error:
        return _form(visit, kind, form, refused(findings_in(error, asked)))
    except ProblemError as error:
        return _form(visit, kind, form, error)
    return RedirectResponse(f"/jobs/{job_id}", 303)
