"""`--db`, which many commands share."""

from typing import Annotated

import typer

Db = Annotated[
    str | None,
    typer.Option(
        help="A file or postgresql:// URL; else in your data folder.", envvar="ROCKTUNE_DB"
    ),
]
