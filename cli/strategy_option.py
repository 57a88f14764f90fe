"""The option that names a strategy."""

from typing import Annotated

import typer

Strategy = Annotated[
    str,
    typer.Option(help="genetic, nsga2, random, lhs or sobol."),
]
