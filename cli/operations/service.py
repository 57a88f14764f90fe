"""`rocktune serve`, `worker`, `token`: the service on this machine."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from cli.lazy_commands import importing
from cli.options.cluster_options import Certificates, Scheduler, cluster_of
from cli.options.database_option import Db, open_database, require_there
from cli.options.exits import Exit, stop_on_signals
from db.access.tokens import Role, list_tokens, make_token, revoke_token
from jobs.queue.logs import configure_logs
from jobs.queue.service_settings import ServiceSettings, load_service_settings
from sampler.common.errors import InputError
from sampler.runner.settings import Settings, load_settings

SERVE_EXAMPLES = """
Examples:

  rocktune serve                                         everything in one process, on SQLite

  rocktune serve --db postgresql://me@host/rocktune --migrate --no-worker

  rocktune token make ci --role submit                   then: serve --host 0.0.0.0
"""
WORKER_EXAMPLES = """
Example:

  rocktune worker --db postgresql://me@host/rocktune     on the bench host

  rocktune worker --db ... --scheduler tls://bench:8786 --certificates DIR     for many hosts
"""
TOKEN_EXAMPLES = """
Examples:

  rocktune token make ci --role submit                   shows the token, once

  rocktune token list

  rocktune token revoke ci
"""
token_command = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Tokens of the service: who may do what.",
)
_Migrate = Annotated[
    bool, typer.Option("--migrate", help="Bring a server's tables up to date first.")
]


def serve_command(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port; 0 for any.", min=0, max=65535)] = 8080,
    db: Db = None,
    no_worker: Annotated[
        bool, typer.Option("--no-worker", help="HTTP alone; `rocktune worker` runs the jobs.")
    ] = False,
    migrate: _Migrate = False,
) -> int:
    """Serves tuning jobs over HTTP, and runs them. Stop it with Ctrl-C or SIGTERM."""
    with importing():
        from api.server import serve as serve_http

    settings, service = _configured()
    with open_database(db, migrate=migrate) as engine:
        serve_http(engine, settings, service, host=host, port=port, with_worker=not no_worker)
    return Exit.DONE


def worker_command(
    scheduler: Scheduler = None,
    certificates: Certificates = None,
    db: Db = None,
    migrate: _Migrate = False,
) -> int:
    """Runs the jobs of a database, one at a time; a second worker waits its turn."""
    with importing():
        from jobs.worker import Worker

    settings, service = _configured()
    with open_database(db, migrate=migrate) as engine:
        cluster = None
        if scheduler is not None:
            cluster = partial(cluster_of, scheduler, certificates)
            cluster()  # what is wrong with the address is told now
        working = Worker(engine, settings, keep_days=service.keep_days, cluster=cluster)
        stop_on_signals(working.stop)
        working.run()
    return Exit.DONE


def _configured() -> tuple[Settings, ServiceSettings]:
    """The settings of this machine and of the service, and logs as they ask for."""
    settings, service = load_settings(), load_service_settings()
    configure_logs(service.log_level)
    return settings, service


@token_command.command("make", epilog=TOKEN_EXAMPLES)
def _make(
    name: Annotated[str, typer.Argument(help="Whose it is, for the logs and the list.")],
    role: Annotated[str, typer.Option(help="read, submit or admin.")] = "submit",
    db: Db = None,
) -> int:
    """Makes a token and shows it, once. From then on every request needs one."""
    if role not in list(Role):
        raise InputError("--role", f"{role!r} is not one of {', '.join(Role)}")
    with open_database(db) as engine:
        typer.echo(make_token(engine, name, Role(role)))
    return Exit.DONE


@token_command.command("list")
def _list(db: Db = None) -> int:
    """Lists the tokens, without their secrets."""
    require_there(db)
    with open_database(db) as engine:
        for token in list_tokens(engine):
            revoked = f"revoked {token.revoked_at:%Y-%m-%d}" if token.revoked_at else "valid"
            made = f"{token.created_at:%Y-%m-%d}"
            typer.echo(f"{token.id}  {token.name:24} {token.role.value:7} {made}  {revoked}")
    return Exit.DONE


@token_command.command("revoke")
def _revoke(
    name: Annotated[str, typer.Argument(help="The token's name or id.")], db: Db = None
) -> int:
    """Makes a token invalid from this moment on."""
    require_there(db)
    with open_database(db) as engine:
        revoke_token(engine, name)
    return Exit.DONE
