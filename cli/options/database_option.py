"""`--db`, which many commands share, and the database that it names."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sampler.common.errors import InputError

if TYPE_CHECKING:
    from sqlalchemy import Engine

Db = Annotated[
    str | None,
    typer.Option(
        help="A file or postgresql:// URL; else in your data folder.", envvar="ROCKTUNE_DB"
    ),
]


def require_there(db: str | None) -> None:
    """A file that was mistyped must not be made, and told to hold nothing.

    The usual file, which ROCKTUNE_DB names, is made by the first command that needs it.

    Raises:
        InputError: The file that was named is not there.
    """
    from db.connection.address import FIELD, url_of_database

    if db is None or db == os.environ.get("ROCKTUNE_DB"):
        return
    url = url_of_database(db)
    if url.get_backend_name() == "sqlite" and not Path(str(url.database)).exists():
        raise InputError(
            FIELD,
            f"there is no {url.database}; name one that is there; `rocktune tune` makes them",
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
def open_database(db: str | None, *, migrate: bool = False) -> Iterator[Engine]:
    """The database, up to date: a file by itself, a server only when ``migrate`` asks for it."""
    from db.connection.migrate import require_current, upgrade_tables

    with connected(db) as engine:
        if migrate or engine.dialect.name == "sqlite":
            upgrade_tables(engine)
        require_current(engine)
        yield engine
