"""`rocktune serve`, `worker`, `token`, `db`: the service on this machine, and its database."""

import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated

import structlog
from sqlalchemy import Engine
from typer import Argument, Option, Typer, echo

from cli.options.connections import (
    Certificates,
    Db,
    Migrate,
    Scheduler,
    cluster_of,
    connected,
    open_database,
    require_there,
    upgrade,
)
from cli.options.exits import complain, importing, stop_on_signals
from db.access.tokens import (
    FIELD,
    VARIABLE,
    Role,
    ServerToken,
    any_valid_token,
    list_tokens,
    make_private_folder,
    make_token,
    place_of_token,
    read_token,
    revoke_token,
    server_token,
)
from db.connection.migrate import HEAD, count_others, current
from jobs.queue.service_settings import ServiceSettings, configure_logs, load_service_settings
from sampler.bench.settings import Settings, load_settings
from sampler.common.errors import InputError
from sampler.common.text import printable

SERVE_EXAMPLES = """
Examples:
  rocktune serve                                         all in one process, on SQLite
  rocktune serve --db postgresql://me@host/rocktune --migrate --no-worker
  rocktune serve --host 0.0.0.0 --token-file /run/secrets/rocktune
"""
WORKER_EXAMPLES = """
Examples:
  rocktune worker --db postgresql://me@host/rocktune     measures on this machine
  rocktune worker --db ... --scheduler tls://bench:8786 --certificates DIR     on a cluster
"""
TOKEN_EXAMPLES = """
Examples:
  rocktune token show                                    the server's own token (admin)
  rocktune token make ci --role submit                   shows the token once
  rocktune token list
  rocktune token revoke ci
"""
_log = structlog.get_logger("server")
_LOOK_SECONDS = 0.5
token_command = Typer(no_args_is_help=True, add_completion=False)
_TokenFile = Annotated[
    Path | None,
    Option(help="File of the server's own token. Default: in your data folder.", envvar=VARIABLE),
]


def serve_command(
    host: Annotated[str, Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, Option(help="Port; 0 for any.", min=0, max=65535)] = 8080,
    db: Db = None,
    no_worker: Annotated[
        bool, Option("--no-worker", help="HTTP only; `rocktune worker` runs the jobs.")
    ] = False,
    migrate: Migrate = False,
    token_file: _TokenFile = None,
) -> None:
    """Runs the HTTP service and its jobs. Stop it with Ctrl-C or SIGTERM."""
    with importing():
        from api.server import serve as serve_http

    settings, service = _configured()
    kept_at = place_of_token(token_file)
    # Before the database makes the same folder, open to all; what fails is told below.
    with suppress(InputError):
        make_private_folder(kept_at)
    with open_database(db, migrate=migrate) as engine:
        token = _own_token(engine, kept_at, is_named=token_file is not None)
        serve_http(
            engine,
            settings,
            service,
            host=host,
            port=port,
            with_worker=not no_worker,
            is_listening=partial(_welcome, token, kept_at),
        )


def _own_token(engine: Engine, kept_at: Path, *, is_named: bool) -> ServerToken | None:
    """The server's own token; None where none can be kept, and none is needed to get in.

    Raises:
        InputError: None can be kept where the user wants it, or nobody could get in.
    """
    try:
        return server_token(engine, kept_at)
    except InputError as error:
        if is_named or not any_valid_token(engine):
            raise
        _log.warning("the server has no token of its own", why=str(error))
        return None


def _welcome(token: ServerToken | None, kept_at: Path, url: str) -> None:
    """Says how to log in. The token itself is shown to a person, and when it was made just now.

    Not in the log: this is all that is written to the standard output.
    """
    if token is None:
        return
    if token.is_new or sys.stdout.isatty():
        echo(f"Log in: {url}/login?token={token.text}")
    else:
        echo(f"Log in: {url}/login, with the token that `rocktune token show` prints")
    echo(f"The token is stored in {kept_at}. It grants full access.")


def worker_command(
    scheduler: Scheduler = None,
    certificates: Certificates = None,
    db: Db = None,
    migrate: Migrate = False,
) -> None:
    """Runs the queued jobs of a database, one at a time. A second worker stands by."""
    with importing():
        from jobs.worker import Worker

    settings, service = _configured()
    with open_database(db, migrate=migrate) as engine:
        cluster = None
        if scheduler is not None:
            cluster = partial(cluster_of, scheduler, certificates)
            cluster()  # what is wrong with the address is told now
        working = Worker(engine, settings, service, cluster=cluster)
        stop_on_signals(working.stop)
        working.run()


def _configured() -> tuple[Settings, ServiceSettings]:
    settings, service = load_settings(), load_service_settings()
    configure_logs(service.log_level)
    return settings, service


@token_command.command("make", epilog=TOKEN_EXAMPLES)
def _make(
    name: Annotated[str, Argument(help="Owner, shown in logs and in the list.")],
    role: Annotated[str, Option(help="Role: read, submit or admin.")] = "submit",
    db: Db = None,
) -> None:
    """Creates a token, and shows it once."""
    if role not in list(Role):
        raise InputError("--role", f"{role!r} is not one of {', '.join(Role)}")
    with open_database(db) as engine:
        echo(make_token(engine, name, Role(role)))


@token_command.command("show")
def _show(token_file: _TokenFile = None) -> None:
    """Prints the server's own token, which `rocktune serve` created."""
    path = place_of_token(token_file)
    token = read_token(path)
    if token is None:
        raise InputError(
            FIELD,
            f"there is no {path}; start `rocktune serve` once on this machine as this user, or "
            "name the token file",
        )
    echo(token)


@token_command.command("list")
def _list(db: Db = None) -> None:
    """Lists the tokens, without their secrets."""
    require_there(db)
    with open_database(db) as engine:
        for token in list_tokens(engine):
            revoked = f"revoked {token.revoked_at:%Y-%m-%d}" if token.revoked_at else "valid"
            made = f"{token.created_at:%Y-%m-%d}"
            name = printable(token.name)
            echo(f"{token.id}  {name:24} {token.role.value:7} {made}  {revoked}")


@token_command.command("revoke")
def _revoke(
    name: Annotated[str, Argument(help="Name or id of the token.")], db: Db = None
) -> None:
    """Revokes a token, with immediate effect."""
    require_there(db)
    with open_database(db) as engine:
        revoke_token(engine, name)


ARCHIVE_EXAMPLES = """
Examples:
  rocktune db archive 12 job-12.jsonl.gz                 job 12 with all its trials
  gzip -cd job-12.jsonl.gz | head -2                     the specification, and the first trial
"""
RESTORE_EXAMPLES = """
Examples:
  rocktune db restore job-12.jsonl.gz --db other.db      then `tune ... --resume --db other.db`
"""
db_command = Typer(no_args_is_help=True, add_completion=False)


@db_command.command("upgrade")
def _upgrade(
    db: Db = None,
    wait: Annotated[
        int | None,
        Option(
            min=0,
            help="PostgreSQL: before old tables are changed, wait so many seconds for the other "
            "services to stop; exit status 2 if they do not. Default: change them at once.",
        ),
    ] = None,
) -> None:
    """Creates or upgrades the tables; several processes may do so at once.

    Services of an older version stop working with upgraded tables.
    """
    with connected(db) as engine:
        before = current(engine)
        if wait is not None and before not in (None, HEAD):
            _await_others(engine, wait)
        upgrade(engine)
        after = current(engine)
        echo(f"at {after}" if before == after else f"from {before or 'nothing'} to {after}")


def _await_others(engine: Engine, seconds: float) -> None:
    deadline, told = time.monotonic() + seconds, False
    while count := count_others(engine):
        using = f"other services of Rocktune use the database ({count} connections); stop them"
        if time.monotonic() >= deadline:
            raise InputError("--wait", f"{using}, then run the command again; nothing was changed")
        if not told:
            complain(f"{using}; the tables are upgraded as soon as they have stopped")
            told = True
        time.sleep(_LOOK_SECONDS)


@db_command.command("archive", epilog=ARCHIVE_EXAMPLES)
def _archive(
    job_id: Annotated[int, Argument(metavar="ID", help="Job number.")],
    file: Annotated[Path, Argument(metavar="FILE", help="File to write (.jsonl.gz).")],
    db: Db = None,
) -> None:
    """Writes a job with all its trials to one compressed JSON Lines file."""
    from jobs.archive import write_archive

    require_there(db)
    with open_database(db) as engine:
        try:
            count = write_archive(engine, job_id, file)
        except KeyError as error:
            raise InputError("ID", str(error.args[0])) from None
    echo(f"job {job_id} with {count} trials written to {file}")


@db_command.command("restore", epilog=RESTORE_EXAMPLES)
def _restore(
    file: Annotated[Path, Argument(metavar="FILE", help="File that `db archive` wrote.")],
    db: Db = None,
    migrate: Migrate = False,
    trust_program: Annotated[
        list[str] | None,
        Option(
            "--trust-program",
            metavar="PATH",
            help="Program or file named by the archive that the job may use, as the archive "
            "writes it. May be repeated.",
        ),
    ] = None,
) -> None:
    """Restores an archived job into a database, where it can be resumed.

    An archive holds trials, not conclusions. When the job is resumed and has all its
    trials, its result is computed again, and nothing is measured.

    An archive may name programs and files of the machine that it comes from: a benchmark of its
    own, a db_bench by path, a trace. They are printed. The job does not run until each is trusted
    with --trust-program, now or by the same command later.
    """
    from jobs.archive import restore_archive

    with open_database(db, migrate=migrate, make=True) as engine:
        restored = restore_archive(engine, file, trusted=trust_program or ())
    job_id = restored.job_id
    for place in restored.places:
        echo(f"The job uses {place.words()}")
    told = "restored as" if restored.new else "is already"
    echo(
        f"{file} {told} job {job_id}, without a result yet. Continue with its `rocktune "
        f"tune` command and --resume, or with `rocktune resume {job_id}` and a worker"
        if not restored.waits
        else f"{file} {told} job {job_id}. It does not run before you trust each program and file "
        f"above: rocktune db restore {file} --trust-program PATH"
    )
