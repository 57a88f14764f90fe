"""The option that names a strategy."""

from typing import Annotated

import typer

Strategy = Annotated[
    str,
    typer.Option(
        help="forest (guided by models), genetic (the paper's), greedy (Samsung's), nsga2, "
        "random, lhs or sobol; after `make compare` tpe or smac, and with torch optuna-gp."
    ),
]
