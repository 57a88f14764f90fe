"""`rocktune host`: this machine as a bench host of a cluster."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.options.cluster_options import Certificates
from cli.options.exits import Exit

EXAMPLES = """
Examples:

  rocktune host --scheduler 127.0.0.1:8786                       on the scheduler's own machine

  rocktune host --scheduler tls://scheduler.example:8786 --certificates /etc/rocktune \\
      --kind nvme                                                 jobs may ask for --host-kind nvme
"""


def host(
    scheduler: Annotated[
        str,
        typer.Option(help="The scheduler's address.", envvar="ROCKTUNE_SCHEDULER"),
    ],
    kind: Annotated[str, typer.Option(help="The kind of host: jobs may ask for one.")] = "bench",
    name: Annotated[
        str | None, typer.Option(help="A name unlike any other host's; else this machine's.")
    ] = None,
    listen: Annotated[
        str | None,
        typer.Option(help="The address to listen on; else the one that faces the scheduler."),
    ] = None,
    certificates: Certificates = None,
) -> int:
    """Measures what controllers send, one trial at a time. Stop it with Ctrl-C or SIGTERM."""
    from jobs.cluster.certificates import CertificateRole, security_of
    from jobs.cluster.listening import facing, listening_host, scheduler_address
    from jobs.queue.logs import configure_logs
    from jobs.queue.service_settings import load_service_settings
    from sampler.bench.builds import is_build_name
    from sampler.common.errors import InputError
    from sampler.machine.machine import host_name
    from sampler.runner.settings import load_settings

    settings = load_settings()
    configure_logs(load_service_settings().log_level)
    encrypted = certificates is not None
    address = scheduler_address(scheduler, encrypted=encrypted)
    security = security_of(certificates, CertificateRole.HOST)
    own = listening_host(listen or facing(address), encrypted=encrypted, field="--listen")
    for field, text in (("--kind", kind), ("--name", name or host_name())):
        if not is_build_name(text):
            mend = "write letters, digits, dots and dashes, 64 at most"
            raise InputError(field, f"{text!r} is no name; {mend}")
    from jobs.cluster.host import serve_host

    serve_host(
        settings,
        scheduler=address,
        host=own,
        name=name or host_name(),
        kind=kind,
        security=security,
    )
    return Exit.DONE
