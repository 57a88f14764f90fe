"""The bench hosts: what each is, how steady it was, when it was last seen."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request, Response

from api.auth.security import Caller, page_requires
from api.pages.page import page
from api.routes.catalogue import list_hosts
from api.services.dependencies import ServiceDep
from db.access.tokens import Role
from db.hosts import host_noise

router = APIRouter(include_in_schema=False)
_FIRST = ("cpu", "cores", "memory_bytes", "disk", "file_system", "kernel", "rocksdb")
_APART = ("warnings", "build", "builds", "hosts", *_FIRST)


@router.get("/hosts")
def hosts_page(
    request: Request,
    service: ServiceDep,
    caller: Annotated[Caller, page_requires(Role.READ)],
) -> Response:
    """All hosts that have shown up."""
    return page(
        request,
        "hosts.html",
        caller=caller,
        hosts=list_hosts(service),
        noise=host_noise(service.engine),
        first=_FIRST,
        apart=_APART,
    )
