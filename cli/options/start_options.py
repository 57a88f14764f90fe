"""The options that say what a job begins with: its files, its points and its knowledge."""

from typing import Annotated

import typer

StartFrom = Annotated[
    list[str] | None,
    typer.Option(
        help="Measure this first: a starting point's name (`rocktune starts`), an OPTIONS file, "
        "or none; may be given again. Else the usual points with forest, none with the others."
    ),
]
WarmStart = Annotated[
    str | None,
    typer.Option(
        help="Let forest learn from earlier jobs: auto (similar ones of this host), the number "
        "of one, or none (the default)."
    ),
]
DropUnknown = Annotated[
    bool,
    typer.Option(
        "--drop-unknown",
        help="Leave options of the OPTIONS file that RocksDB does not know out while measuring.",
    ),
]
