"""What needs no job: what one may name or send, the hosts that measure, KIOXIA's guide."""

from collections.abc import Iterable
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response

from api.auth.security import READS, SUBMITS, Caller, GuardedRoute
from api.http.problems import EVERYWHERE, ProblemError, described
from api.http.responses import created
from api.schemas.catalogue_schemas import (
    CatalogueEntry,
    GuideAnswer,
    HostHistoryPublic,
    HostPublic,
    StartEntry,
    WorkloadCreate,
    WorkloadEntry,
    WorkloadPublic,
)
from api.services.dependencies import ServiceDep
from api.services.inline_documents import take_workload, workload_entries, workload_public
from db.access.tokens import Role
from db.workloads import remove_workload
from optimizer.objective.objective_file import SHIPPED as OBJECTIVES
from optimizer.objective.objective_file import objective_text
from sampler.common.documents import parse_toml
from sampler.space.kioxia_guide import GuideRequest, compute_guide, guide_document, read_planned
from sampler.space.space_file import SHIPPED as SPACES
from sampler.space.space_file import space_text
from sampler.space.starting_points import GUIDE, GUIDE_HELP, GUIDE_SOURCE, classes_of, known_points

router = APIRouter(
    prefix="/v1",
    tags=["catalogue"],
    responses=EVERYWHERE,
    dependencies=[READS],
    route_class=GuardedRoute,
)
WorkloadName = Annotated[
    str, Path(max_length=200, description="Workload name.", examples=["load"])
]
HostName = Annotated[str, Path(max_length=200, description="Host name.", examples=["bench-1"])]
Replace = Annotated[bool, Query(description="Replace another uploaded workload of the same name.")]


@router.get("/workloads")
def list_workloads(service: ServiceDep) -> list[WorkloadEntry]:
    """Lists the workloads that a job may name: shipped, the operator's, and uploaded."""
    return workload_entries(service)


@router.post(
    "/workloads",
    status_code=201,
    responses={
        **described(400, 409, 413),
        200: {"model": WorkloadPublic, "description": "The name existed; it is as asked now"},
        **created("URL of the workload"),
    },
)
def upload_workload(
    service: ServiceDep,
    response: Response,
    asked: WorkloadCreate,
    caller: Annotated[Caller, SUBMITS],
    replace: Replace = False,
) -> WorkloadPublic:
    """Uploads a workload, which jobs may then name. Submitted jobs keep their copies."""
    name, new = take_workload(service, asked, caller, replace=replace)
    response.status_code = 201 if new else 200
    response.headers["Location"] = f"/v1/workloads/{name}"
    return workload_public(service, name)


@router.get("/workloads/{name}", responses=described(404))
def show_workload(service: ServiceDep, name: WorkloadName) -> WorkloadPublic:
    """Returns a workload; if it was uploaded, with its profile and OPTIONS file."""
    return workload_public(service, name)


@router.delete("/workloads/{name}", status_code=204, responses=described(404, 409))
def delete_workload(
    service: ServiceDep, name: WorkloadName, caller: Annotated[Caller, SUBMITS]
) -> None:
    """Deletes an uploaded workload; role submit: one's own. Submitted jobs keep their copies."""
    found = workload_public(service, name)
    if found.origin != "uploaded":
        raise ProblemError(409, f"{name!r} comes with the service and cannot be deleted")
    if not (caller.role.may(Role.ADMIN) or found.submitter == caller.name):
        raise ProblemError(403, f"{name!r} is another's; to delete it needs the role admin")
    remove_workload(service.engine, name)


@router.get("/spaces")
def list_spaces() -> list[CatalogueEntry]:
    """Lists the parameter spaces that a job may name."""
    return _entries([parse_toml(space_text(name), field=name) for name in SPACES])


@router.get("/objectives")
def list_objectives() -> list[CatalogueEntry]:
    """Lists the objectives that a job may name."""
    return _entries([parse_toml(objective_text(name), field=name) for name in OBJECTIVES])


@router.get("/starts")
def list_starts() -> list[StartEntry]:
    """Lists the starting points that a job may name, shipped ones first."""
    shipped = [
        StartEntry(
            **vars(point)
            | {"values": {**point.values, **point.rules}, "classes": classes_of(name)}
        )
        for name, point in known_points().items()
    ]
    worked_out = StartEntry(
        name=GUIDE, help=GUIDE_HELP, source=GUIDE_SOURCE, usual=False, values=None
    )
    return [*shipped, worked_out]


@router.get("/hosts", response_model=list[HostPublic])
def list_hosts(service: ServiceDep) -> list[dict[str, Any]]:
    """Lists the bench hosts that connected or measured, and what changed on them."""
    # A server that nobody asks for its hosts does without numpy.
    from jobs.regression.hosts import host_histories

    return [each.document() for each in host_histories(service.engine)]


@router.get("/hosts/{name}", responses=described(404), response_model=HostHistoryPublic)
def show_host(service: ServiceDep, name: HostName) -> dict[str, Any]:
    """Returns a host: speed, load, and level and noise of its baseline in each job."""
    from jobs.regression.hosts import host_histories

    for each in host_histories(service.engine):
        if each.name == name:
            return each.document()
    raise ProblemError(404, f"there is no host {name!r}")


def _entries(documents: Iterable[dict[str, Any]]) -> list[CatalogueEntry]:
    return [CatalogueEntry(name=d["name"], help=d["help"], document=d) for d in documents]


@router.get("/guide")
def work_out_guide(asked: Annotated[GuideRequest, Query()]) -> GuideAnswer:
    """Computes the recommendations of KIOXIA's tuning guide. Nothing is measured."""
    planned = read_planned(asked)
    return GuideAnswer(**guide_document(compute_guide(planned)))
