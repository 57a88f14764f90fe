"""`rocktune serve`, `worker`, `token`: the service on this machine."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from cli.options.cluster_options import Certificates, Scheduler
from cli.options.database_option import Db, require_there
from cli.options.exits import Exit
from cli.options.stop_signals import stop_on_signals

if TYPE_CHECKING:
    from sqlalchemy import Engine

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
_Migrate = Annotated[
    bool, typer.Option("--migrate", help="Bring a server's tables up to date first.")
]


def serve(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port; 0 for any.", min=0, max=65535)] = 8080,
    db: Db = None,
    no_worker: Annotated[
        bool, typer.Option("--no-worker", help="HTTP alone; `rocktune worker` runs the jobs.")
    ] = False,
    migrate: _Migrate = False,
) -> int:
    """Serves tuning jobs over HTTP, and runs them. Stop it with Ctrl-C or SIGTERM."""
    from api.server import serve as serve_http
    from jobs.queue.logs import configure_logs
    from jobs.queue.service_settings import load_service_settings
    from sampler.runner.settings import load_settings

    settings, service = load_settings(), load_service_settings()
    configure_logs(service.log_level)
    engine = open_database(db, migrate=migrate)
    try:
        serve_http(engine, settings, service, host=host, port=port, with_worker=not no_worker)
    finally:
        engine.dispose()
    return Exit.DONE


def worker(
    scheduler: Scheduler = None,
    certificates: Certificates = None,
    db: Db = None,
    migrate: _Migrate = False,
) -> int:
    """Runs the jobs of a database, one at a time; a second worker waits its turn."""
    from cli.options.cluster_options import cluster_of
    from jobs.queue.logs import configure_logs
    from jobs.queue.service_settings import load_service_settings
    from jobs.worker import Worker
    from sampler.runner.settings import load_settings

    settings, service = load_settings(), load_service_settings()
    configure_logs(service.log_level)
    engine = open_database(db, migrate=migrate)
    try:
        cluster = None
        if scheduler is not None:
            cluster = partial(cluster_of, scheduler, certificates)
            cluster()  # what is wrong with the address is told now
        working = Worker(engine, settings, keep_days=service.keep_days, cluster=cluster)
        stop_on_signals(working.stop)
        working.run()
    finally:
        engine.dispose()
    return Exit.DONE


def open_database(db: str | None, *, migrate: bool) -> Engine:
    """The database, up to date: a file by itself, a server only when it was asked for."""
    from db.connection.engine import make_engine
    from db.connection.migrate import require_current, upgrade_tables

    engine = make_engine(db)
    try:
        if migrate or engine.dialect.name == "sqlite":
            upgrade_tables(engine)
        require_current(engine)
    except BaseException:
        engine.dispose()
        raise
    return engine


def make(
    name: Annotated[str, typer.Argument(help="Whose it is, for the logs and the list.")],
    role: Annotated[str, typer.Option(help="read, submit or admin.")] = "submit",
    db: Db = None,
) -> int:
    """Makes a token and shows it, once. From then on every request needs one."""
    from db.access.tokens import Role, make_token
    from sampler.common.errors import InputError

    if role not in list(Role):
        raise InputError("--role", f"{role!r} is not one of {', '.join(Role)}")
    engine = open_database(db, migrate=False)
    try:
        typer.echo(make_token(engine, name, Role(role)))
    finally:
        engine.dispose()
    return Exit.DONE


def list_(db: Db = None) -> int:
    """Lists the tokens, without their secrets."""
    from db.access.tokens import list_tokens

    require_there(db)
    engine = open_database(db, migrate=False)
    try:
        for token in list_tokens(engine):
            revoked = f"revoked {token.revoked_at:%Y-%m-%d}" if token.revoked_at else "valid"
            made = f"{token.created_at:%Y-%m-%d}"
            typer.echo(f"{token.id}  {token.name:24} {token.role.value:7} {made}  {revoked}")
    finally:
        engine.dispose()
    return Exit.DONE


def revoke(
    name: Annotated[str, typer.Argument(help="The token's name or id.")], db: Db = None
) -> int:
    """Makes a token invalid from this moment on."""
    from db.access.tokens import revoke_token

    require_there(db)
    engine = open_database(db, migrate=False)
    try:
        revoke_token(engine, name)
    finally:
        engine.dispose()
    return Exit.DONE
