"""`rocktune cluster`, `host`, `hosts`: scheduler, certificates, and the bench hosts' state."""

import json
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import structlog
from typer import Argument, Option, Typer, echo

from cli.client.client_errors import understanding
from cli.client.remote import Json, Remote, asking
from cli.options.connections import Certificates, cluster_of
from cli.options.exits import Exit, complain, leave
from cli.render.screen import TextConsole, bare_table, print_json, say, screen
from jobs.cluster.certificates import (
    AUTHORITY,
    AUTHORITY_KEY,
    DAYS,
    CertificateRole,
    make_set,
    security_of,
    validities,
)
from jobs.cluster.certificates import renew_certificates as make_anew
from jobs.cluster.listening import facing, listening_host, scheduler_address
from jobs.queue.service_settings import configure_logs, load_service_settings
from sampler.bench.builds import is_build_name
from sampler.bench.settings import load_settings
from sampler.common.atomic_write import FOR_ALL, write_output
from sampler.common.errors import InputError
from sampler.machine.machine import host_name

SCHEDULER_EXAMPLES = """
Examples:
  rocktune cluster scheduler                         for hosts on this machine only
  rocktune cluster scheduler --host 0.0.0.0 --certificates /etc/rocktune/certificates
"""
STATUS_EXAMPLES = """
Example:
  rocktune cluster status --scheduler tls://scheduler.example:8786
"""
CERTIFICATES_EXAMPLES = """
Examples:
  rocktune cluster certificates bench-certificates --name bench1.example --name 10.0.0.7
  rocktune cluster certificates bench-certificates            shows them with their expiry dates
  rocktune cluster certificates bench-certificates --renew    renews them
"""
cluster_command = Typer(no_args_is_help=True, add_completion=False)
_SchedulerAddress = Annotated[
    str, Option(help="Scheduler address: tls://HOST:8786.", envvar="ROCKTUNE_SCHEDULER")
]
_GOES_TO = {
    "authority.pem": "to every machine of the cluster",
    "scheduler.pem": "to the scheduler's machine",
    "host.pem": "to each bench host",
    "controller.pem": "to where jobs run (rocktune worker, rocktune tune)",
    "authority.key": "stays here: whoever has it can issue certificates",
}


@cluster_command.command("scheduler", epilog=SCHEDULER_EXAMPLES)
def _scheduler(
    host: Annotated[str, Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, Option(help="Port; 0 for any.", min=0, max=65535)] = 8786,
    certificates: Certificates = None,
    ttl: Annotated[
        float, Option(help="Seconds of silence after which a host is dead.", min=10)
    ] = 60,
    address_file: Annotated[
        Path | None, Option(help="File that receives the address, for scripts.")
    ] = None,
) -> None:
    """Runs the scheduler between hosts and controller. Stop it with Ctrl-C or SIGTERM."""
    configure_logs(load_service_settings().log_level)
    log = structlog.stdlib.get_logger("rocktune.scheduler")
    checked = listening_host(host, encrypted=certificates is not None)
    security = security_of(certificates, CertificateRole.SCHEDULER)
    for validity in validities(certificates) if certificates else ():
        ours = validity.file in (AUTHORITY, CertificateRole.SCHEDULER.file)
        if ours and (warning := validity.warning(datetime.now(UTC))):
            log.warning(warning)
    from jobs.cluster.scheduler import serve_scheduler

    def tell(address: str) -> None:
        if address_file:
            content = f"{address}\n".encode()
            write_output(address_file, content, field="--address-file", mode=FOR_ALL)
        log.info("listening", url=address)

    serve_scheduler(host=checked, port=port, security=security, ttl_seconds=ttl, listening=tell)


@cluster_command.command("status", epilog=STATUS_EXAMPLES)
def _status(
    scheduler: _SchedulerAddress,
    certificates: Certificates = None,
    as_json: Annotated[bool, Option("--json", help="Print the hosts as JSON.")] = False,
) -> int:
    """Shows the connected hosts: hardware, kernel, RocksDB builds and activity.

    Exit status: 0 at least one host is connected, 3 none is, 1 the scheduler cannot be reached.
    """
    with closing(cluster_of(scheduler, certificates)) as connected:
        hosts = connected.connection.seen()
        problem = connected.connection.problem
    if problem is not None:
        leave(f"cannot reach the scheduler at {scheduler}: {problem}", Exit.TOOL_FAILED)
    if as_json:
        echo(json.dumps([each.document() for each in hosts], indent=2))
    elif hosts:
        titles = ("host", "kind", "does", "RocksDB builds", "CPU", "kernel")
        table = bare_table(titles, no_wrap=True)
        for each in hosts:
            does = each.problem or ("measures" if each.busy else "idle")
            table.add_row(
                each.name, each.kind, does, ", ".join(each.build_names),
                f"{each.environment.get('cores')} x {each.environment.get('cpu')}",
                str(each.environment.get("kernel")),
            )  # fmt: skip
        TextConsole().print(table)
    else:
        echo("no host is connected; start one with `rocktune host --scheduler ...`")
    return Exit.DONE if hosts else Exit.ANSWER_IS_NO


@cluster_command.command("certificates", epilog=CERTIFICATES_EXAMPLES)
def _certificates(
    folder: Annotated[Path, Argument(metavar="DIR", help="Folder of the certificates.")],
    name: Annotated[
        list[str] | None,
        Option(help="Host name or address that the certificates name; repeatable."),
    ] = None,
    days: Annotated[
        int | None, Option(help="Validity in days. Default: 825.", min=1, max=3650)
    ] = None,
    renew: Annotated[
        bool, Option("--renew", help="Renew the certificates, by the authority in DIR.")
    ] = False,
) -> int:
    """Creates the certificates of a cluster, or shows those in a folder.

    Whoever has one of them can run programs on every machine of the cluster: see
    docs/explanation/security.md.

    Exit status: 0 all are valid, 3 one has expired, 2 bad input.
    """
    if renew:
        make_anew(folder, name, days=days or DAYS)
    elif not (folder / AUTHORITY).exists():
        make_set(folder, name or (), days=days or DAYS)
    elif name or days:
        raise InputError("DIR", f"'{folder}' already holds a set; add --renew, or name another")
    status = _show(folder)
    if (folder / AUTHORITY_KEY).exists():
        echo(f"{AUTHORITY_KEY:15} {'':23} {_GOES_TO[AUTHORITY_KEY]}")
    return status


def _show(folder: Path) -> Exit:
    now, status = datetime.now(UTC), Exit.DONE
    for validity in validities(folder):
        names = f", for {', '.join(validity.names)}" if validity.names else ""
        until = "expired on" if validity.ends <= now else "valid until"
        line = f"{validity.file:15} {until:11} {validity.ends:%Y-%m-%d}"
        echo(f"{line}  {_GOES_TO[validity.file]}{names}")
        if warning := validity.warning(now):
            complain(f"warning: {warning}")
        if validity.ends <= now:
            status = Exit.ANSWER_IS_NO
    return status


HOST_EXAMPLES = """
Examples:
  rocktune host --scheduler 127.0.0.1:8786                       on the scheduler's own machine
  rocktune host --scheduler tls://bench:8786 --certificates DIR --kind nvme   for --host-kind nvme
"""


def host_command(
    scheduler: _SchedulerAddress,
    kind: Annotated[str, Option(help="Kind of host, which jobs may ask for.")] = "bench",
    name: Annotated[
        str | None, Option(help="Unique name. Default: the name of this machine.")
    ] = None,
    listen: Annotated[
        str | None, Option(help="Address to listen on. Default: the one that faces the scheduler.")
    ] = None,
    certificates: Certificates = None,
) -> None:
    """Runs a bench host: measures one trial at a time. Stop it with Ctrl-C or SIGTERM."""
    settings = load_settings()
    configure_logs(load_service_settings().log_level)
    encrypted = certificates is not None
    address = scheduler_address(scheduler, encrypted=encrypted)
    security = security_of(certificates, CertificateRole.HOST)
    own = listening_host(listen or facing(address), encrypted=encrypted, field="--listen")
    for field, text in (("--kind", kind), ("--name", name or host_name())):
        if not is_build_name(text):
            mend = "use at most 64 letters, digits, dots and dashes"
            raise InputError(field, f"{text!r} is not a name; {mend}")
    from jobs.cluster.host import serve_host

    serve_host(
        settings,
        scheduler=address,
        host=own,
        name=name or host_name(),
        kind=kind,
        security=security,
    )


HOSTS_EXAMPLES = """
Examples:
  rocktune hosts                                 all hosts, and what changed on them
  rocktune hosts bench-1                         one host, with its noise and speed
  rocktune hosts --url http://bench:8080 || mail -s "a host drifts" me
"""
_FINGERPRINT = ("cpu", "cores", "governor", "disk", "file_system", "kernel", "rocksdb")


@asking()
def hosts_command(
    remote: Remote,
    name: Annotated[
        str | None, Argument(metavar="[NAME]", help="Host. Default: all hosts.")
    ] = None,
    as_json: Json = False,
) -> int:
    """Shows the bench hosts: state, noise, speed and drift.

    Noise and speed come from a host's runs of the baseline in its last 100 jobs.

    Exit status: 0 all hosts are well, 3 the newest job of a host shows a change for the
    worse, or a running job has excluded a host, 2 bad input.
    """
    with understanding():
        names = [each["name"] for each in remote.get("hosts")]
    if name is not None and name not in names:
        raise InputError("NAME", f"there is no host {name!r}; choose one of {', '.join(names)}")
    hosts = [remote.get(f"hosts/{each}") for each in ([name] if name else names)]
    with understanding():
        if as_json:
            print_json(hosts)
        elif not hosts:
            screen(stderr=True).print("no hosts")
        for host in () if as_json else hosts:
            _show_host(host, whole=name is not None)
        wrong = [h["worsened"] or (h["excluded"] and h["excluded"]["live"]) for h in hosts]
    return Exit.ANSWER_IS_NO if any(wrong) else Exit.DONE


def _show_host(host: Mapping[str, Any], *, whole: bool) -> None:
    console, known = screen(), host["environment"]
    does = f"measures for job {host['job_id']}" if host["job_id"] else "idle"
    say(console, f"{host['name']}: {does if host['alive'] else 'not seen in the last minute'}")
    told = [f"{each} {known[each]}" for each in _FINGERPRINT if known.get(each) is not None]
    say(console, f"  {', '.join(told) or 'no fingerprint'}")
    if out := host["excluded"]:
        verb, since = "excluded" if out["live"] else "was excluded", out["since"][:16]
        say(console, f"  {verb} from job {out['job_id']} since {since}: {out['why']}")
    table = bare_table(("  of", "figure"), ("newest",), ("",))
    for row in host["series"]:
        if whole or row["state"] in ("worse", "better"):
            verdict = f"{row['state']} {row['verdict']}"
            table.add_row(f"  {row['item']}", row["title"], row["newest"], verdict)
    if table.rows:
        console.print(table)
