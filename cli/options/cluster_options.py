"""The options by which a command finds its cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from jobs.cluster.cluster import Cluster
    from jobs.execution.execution_backend import ExecutionBackend
    from sampler.runner.settings import Settings

Certificates = Annotated[
    Path | None,
    typer.Option(
        help="The folder with authority.pem and this role's certificate; needed beyond loopback.",
        envvar="ROCKTUNE_CERTIFICATES",
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        help="Measure on the hosts of this scheduler, as tls://HOST:8786; else on this machine.",
        envvar="ROCKTUNE_SCHEDULER",
    ),
]


def backend_of(
    scheduler: str | None, certificates: Path | None, settings: Settings
) -> ExecutionBackend:
    """Where jobs are measured: this machine, or the cluster that was named; see ``cluster_of``."""
    from jobs.execution.execution_backend import ThisMachine

    return ThisMachine(settings) if scheduler is None else cluster_of(scheduler, certificates)


def cluster_of(scheduler: str, certificates: Path | None) -> Cluster:
    """A cluster, not connected yet; an InputError if its address or certificates are wrong."""
    from jobs.cluster.certificates import CertificateRole, security_of
    from jobs.cluster.listening import scheduler_address

    address = scheduler_address(scheduler, encrypted=certificates is not None)
    security = security_of(certificates, CertificateRole.CONTROLLER)
    from jobs.cluster.cluster import Cluster

    return Cluster(address, security)
