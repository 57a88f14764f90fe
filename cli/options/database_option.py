"""`--db`, which many commands share."""

import os
from pathlib import Path
from typing import Annotated

import typer

from sampler.common.errors import InputError

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
