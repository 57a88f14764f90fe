"""The options by which a command finds its database and its cluster, and what they name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from cli.options.exits import complain
from sampler.common.errors import InputError

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from jobs.cluster.cluster import Cluster
    from jobs.execution.assembly import ExecutionBackend
    from sampler.bench.settings import Settings

Db = Annotated[
    str | None,
    Option(help="File or postgresql:// URL. Default: in your data folder.", envvar="ROCKTUNE_DB"),
]

Migrate = Annotated[bool, Option("--migrate", help="Upgrade a database server's tables first.")]


def require_there(db: str | None) -> None:
    """Refuses, with an InputError, a file that is not there: it may be mistyped.

    The usual file, which ROCKTUNE_DB names, is made by the first command that needs it.
    """
    from db.connection.engine import FIELD, url_of_database

    if db is None or db == os.environ.get("ROCKTUNE_DB"):
        return
    url = url_of_database(db)
    if url.get_backend_name() == "sqlite" and not Path(str(url.database)).exists():
        raise InputError(
            FIELD,
            f"there is no {url.database}; name an existing file (`rocktune tune` creates one)",
        )


@contextmanager
def connected(db: str | None) -> Iterator[Engine]:
    """The database as it is, of whatever version."""
    from db.connection.engine import make_engine

    engine = make_engine(db)
    try:
        yield engine
    finally:
        engine.dispose()


@contextmanager
def open_database(
    db: str | None, *, migrate: bool | None = None, make: bool = False
) -> Iterator[Engine]:
    """The database, up to date: a file by itself, a server only when the user asks for it.

    A server is shared: services of another version would answer no more. ``migrate`` says whether
    the user asks for that, None where a command has no such option; ``make`` whether tables are
    made where a server has none at all. What cannot be used, or is not up to date, is an
    InputError.
    """
    from db.connection.migrate import is_current, is_empty, require_current

    with connected(db) as engine:
        if not is_current(engine):
            if migrate or engine.dialect.name == "sqlite" or (make and is_empty(engine)):
                upgrade(engine)
            require_current(engine, can_migrate=migrate is not None)
        yield engine


def upgrade(engine: Engine) -> None:
    """Brings the tables up to date, and names the copy that was made of a file before."""
    from db.connection.migrate import upgrade_tables

    copy = upgrade_tables(engine)
    if copy is not None:
        complain(f"backup of the database before this update: {copy}")


Certificates = Annotated[
    Path | None,
    Option(
        help="Folder with authority.pem and this role's certificate; required beyond loopback.",
        envvar="ROCKTUNE_CERTIFICATES",
    ),
]
Scheduler = Annotated[
    str | None,
    Option(
        help="Measure on the hosts of this scheduler (tls://HOST:8786). Default: this machine.",
        envvar="ROCKTUNE_SCHEDULER",
    ),
]


def backend_of(
    scheduler: str | None, certificates: Path | None, settings: Settings
) -> ExecutionBackend:
    """Where jobs are measured: this machine, or the cluster that was named; see ``cluster_of``."""
    from jobs.execution.assembly import ThisMachine

    return ThisMachine(settings) if scheduler is None else cluster_of(scheduler, certificates)


def cluster_of(scheduler: str, certificates: Path | None) -> Cluster:
    """A cluster, not connected yet; an InputError if its address or certificates are wrong."""
    from jobs.cluster.certificates import CertificateRole, security_of
    from jobs.cluster.cluster import Cluster
    from jobs.cluster.listening import scheduler_address

    address = scheduler_address(scheduler, encrypted=certificates is not None)
    security = security_of(certificates, CertificateRole.CONTROLLER)
    return Cluster(address, security)
