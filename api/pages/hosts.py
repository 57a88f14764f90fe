"""The bench hosts: what each is, how steady it is, what changed on it; what a job ran on."""

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Response

from api.pages.page import Reader
from api.services.dependencies import ServiceDep
from jobs.regression.hosts import host_histories

router = APIRouter(include_in_schema=False)
_FIRST = ("cpu", "cores", "memory_bytes", "disk", "file_system", "kernel", "rocksdb")
_APART = ("warnings", "build", "builds", "hosts")


@router.get("/hosts")
def hosts_page(visit: Reader, service: ServiceDep) -> Response:
    """All hosts that have shown up."""
    return visit.page(
        "hosts.html",
        hosts=host_histories(service.engine),
        first=_FIRST,
        apart=(*_APART, *_FIRST),
    )


def environment_shown(environment: Mapping[str, Any]) -> dict[str, Any]:
    """What a job ran on, as its page shows it: warnings, rows by name, its hosts."""
    build = environment.get("build")
    rows = {name: value for name, value in environment.items() if name not in _APART}
    if build:
        rows["build"] = (
            f"SHA-256 {build['digest'][:16]}, "
            f"assertions {'on' if build['assertions'] else 'off'}, {', '.join(build['codecs'])}"
        )
    hosts = environment.get("hosts") or {}
    return {"warnings": environment.get("warnings", []), "rows": rows, "hosts": sorted(hosts)}
