"""What routes need, from the application's state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Path, Request
from sqlalchemy import Engine

from api.http.exports import Exports
from api.http.problems import ProblemError
from api.services.known_builds import KnownBuilds
from db.jobs.job_store import JobStore
from db.schema.job_row import JobRow
from jobs.external.external import ExternalJobs
from jobs.queue.service_settings import ServiceSettings
from sampler.bench.installed import InstalledDbBench


@dataclass(frozen=True)
class Service:
    """What all requests share.

    Attributes:
        workloads: Those that jobs may name, with their documents.
        installed: The db_bench that measures, where it is on this machine.
        builds: Further RocksDB builds that jobs may name.
        loopback: Whether only this machine can reach the server.
        needs_token: Whether a token was ever made.
        stopping: Whether the server is about to stop: then long answers end.
    """

    engine: Engine
    store: JobStore
    external: ExternalJobs
    exports: Exports
    settings: ServiceSettings
    workloads: Mapping[str, Mapping[str, Any]]
    installed: InstalledDbBench | None
    builds: KnownBuilds
    loopback: bool
    needs_token: Callable[[], bool]
    stopping: Callable[[], bool]


async def _service(request: Request) -> Service:
    # What waits for nothing is async: else it would cost a turn in the pool of threads.
    service: Service = request.app.state.service
    return service


ServiceDep = Annotated[Service, Depends(_service)]
JobId = Annotated[int, Path(ge=1, le=2**63 - 1, description="The job's number.", examples=[1])]


def _job(service: ServiceDep, job_id: JobId) -> JobRow:
    try:
        return service.store.job(job_id)
    except KeyError:
        raise no_job(job_id) from None


def no_job(job_id: int) -> ProblemError:
    """There is none of this number."""
    return ProblemError(404, f"there is no job {job_id}")


JobDep = Annotated[JobRow, Depends(_job)]
