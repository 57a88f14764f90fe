"""`rocktune cluster`: the scheduler between controller and bench hosts, and their certificates."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from cli.options.cluster_options import Certificates
from cli.options.exits import Exit, complain

SCHEDULER_EXAMPLES = """
Examples:

  rocktune cluster scheduler                         for hosts on this machine alone

  rocktune cluster scheduler --host 0.0.0.0 --certificates /etc/rocktune/certificates
"""
STATUS_EXAMPLES = """
Example:

  rocktune cluster status --scheduler tls://scheduler.example:8786
"""
CERTIFICATES_EXAMPLES = """
Examples:

  rocktune cluster certificates bench-certificates --name bench1.example --name 10.0.0.7

  rocktune cluster certificates bench-certificates            what there is, and when it ends

  rocktune cluster certificates bench-certificates --renew    by the same authority
"""
_GOES_TO = {
    "authority.pem": "to every machine of the cluster",
    "scheduler.pem": "to the scheduler's machine",
    "host.pem": "to each bench host",
    "controller.pem": "to where jobs are run (rocktune worker, rocktune tune)",
    "authority.key": "stays here: whoever has it can make more",
}


def scheduler(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port; 0 for any.", min=0, max=65535)] = 8786,
    certificates: Certificates = None,
    ttl: Annotated[
        float, typer.Option(help="Seconds of silence after which a host is dead.", min=10)
    ] = 60,
    address_file: Annotated[
        Path | None, typer.Option(help="Receives the address once it listens: for scripts.")
    ] = None,
) -> int:
    """Runs the scheduler that hosts and controller meet at. Stop it with Ctrl-C or SIGTERM."""
    import structlog

    from jobs.cluster.certificates import AUTHORITY, CertificateRole, security_of, validities
    from jobs.cluster.listening import listening_host
    from jobs.queue.logs import configure_logs
    from jobs.queue.service_settings import load_service_settings

    configure_logs(load_service_settings().log_level)
    log = structlog.stdlib.get_logger("rocktune.scheduler")
    checked = listening_host(host, encrypted=certificates is not None)
    security = security_of(certificates, CertificateRole.SCHEDULER)
    for validity in validities(certificates) if certificates else ():
        ours = validity.file in (AUTHORITY, CertificateRole.SCHEDULER.file)
        if ours and (warning := validity.warning(datetime.now(UTC))):
            log.warning(warning)
    from jobs.cluster.scheduler import serve_scheduler
    from jobs.results.whole_file import write_whole

    def tell(address: str) -> None:
        if address_file:
            write_whole(address_file, f"{address}\n".encode(), field="--address-file")
        log.info("listening", url=address)

    serve_scheduler(
        host=checked,
        port=port,
        security=security,
        ttl_seconds=ttl,
        listening=tell,
    )
    return Exit.DONE


def status(
    scheduler: Annotated[
        str, typer.Option(help="The scheduler's address.", envvar="ROCKTUNE_SCHEDULER")
    ],
    certificates: Certificates = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="The hosts as JSON on standard output.")
    ] = False,
) -> int:
    """Shows the hosts that are connected: what they are, which builds they have, what they do.

    Exit status: 0 at least one host is there, 3 none is, 1 the scheduler cannot be reached.
    """
    import json

    from rich.console import Console
    from rich.table import Table

    from cli.options.cluster_options import cluster_of

    connected = cluster_of(scheduler, certificates)
    try:
        hosts = connected.seen()
        problem = connected.problem
    finally:
        connected.close()
    if problem is not None:
        complain(f"the scheduler at {scheduler} cannot be reached: {problem}")
        return Exit.TOOL_FAILED
    if as_json:
        typer.echo(json.dumps([each.document() for each in hosts], indent=2))
    elif hosts:
        table = Table(box=None, pad_edge=False)
        for title in ("host", "kind", "does", "RocksDB builds", "CPU", "kernel"):
            table.add_column(title, overflow="fold")
        for each in hosts:
            does = each.problem or ("measures" if each.busy else "is free")
            table.add_row(
                each.name, each.kind, does, ", ".join(each.build_names),
                f"{each.environment.get('cores')} x {each.environment.get('cpu')}",
                str(each.environment.get("kernel")),
            )  # fmt: skip
        Console(soft_wrap=False).print(table)
    else:
        typer.echo("no host is there: start one with `rocktune host --scheduler ...`")
    return Exit.DONE if hosts else Exit.ANSWER_IS_NO


def certificates(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of the set.")],
    name: Annotated[
        list[str] | None,
        typer.Option(help="A host name or address to write into them; may be repeated."),
    ] = None,
    days: Annotated[
        int | None, typer.Option(help="How long they hold; else 825.", min=1, max=3650)
    ] = None,
    renew: Annotated[
        bool, typer.Option("--renew", help="Make them anew by the authority of the folder.")
    ] = False,
) -> int:
    """Makes the certificates of a cluster, or shows those of a folder and when they end.

    Whoever holds one of them can run programs on every machine of the cluster: docs/cluster.md.

    Exit status: 0 they hold, 3 one has ended, 2 bad input.
    """
    from jobs.cluster.authority import DAYS, make_set
    from jobs.cluster.authority import renew_certificates as make_anew
    from jobs.cluster.certificates import AUTHORITY, AUTHORITY_KEY
    from sampler.common.errors import InputError

    if renew:
        make_anew(folder, name, days=days or DAYS)
    elif not (folder / AUTHORITY).exists():
        make_set(folder, name or (), days=days or DAYS)
    elif name or days:
        raise InputError("DIR", f"'{folder}' holds a set already: add --renew, or name another")
    status = _show(folder)
    if (folder / AUTHORITY_KEY).exists():
        typer.echo(f"{AUTHORITY_KEY:15} {'':23} {_GOES_TO[AUTHORITY_KEY]}")
    return status


def _show(folder: Path) -> Exit:
    from jobs.cluster.certificates import validities

    now, status = datetime.now(UTC), Exit.DONE
    for validity in validities(folder):
        names = f", for {', '.join(validity.names)}" if validity.names else ""
        until = "ended on" if validity.ends <= now else "holds until"
        line = f"{validity.file:15} {until:11} {validity.ends:%Y-%m-%d}"
        typer.echo(f"{line}  {_GOES_TO[validity.file]}{names}")
        if warning := validity.warning(now):
            complain(f"warning: {warning}")
        if validity.ends <= now:
            status = Exit.ANSWER_IS_NO
    return status
