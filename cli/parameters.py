"""`rocktune parameters`: which options matter, as far as a job has learned it."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.answers import not_understood, understood
from cli.exits import Exit
from cli.where import Db, JobId, Url, opened

if TYPE_CHECKING:
    from rich.table import Table

    from api.result_schemas import Ranking

EXAMPLES = """
Examples:

  rocktune parameters 12

  rocktune parameters 12 --metric waf --top 10
"""
_UNKNOWN = "Unknown: fewer than 10 draws ended well, or all of them measured the same."


def parameters(
    job_id: JobId,
    metric: Annotated[
        str | None, typer.Option(help="Of this metric alone, in its own order.")
    ] = None,
    top: Annotated[int | None, typer.Option(help="Only so many.", min=1)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As the service tells it.")] = False,
    url: Url = None,
    db: Db = None,
) -> int:
    """Ranks the parameters, the most important first.

    For each metric: how much worse the forest predicts it once the parameter
    is shuffled (its permutation importance), and the p-value of the analysis
    of variance, corrected for the number of parameters (Holm).
    """
    from api.result_schemas import Ranking
    from cli.screen import screen

    with opened(url, db) as remote:
        document = remote.get(f"jobs/{job_id}/parameters", metric=metric, top=top)
    ranking = understood(Ranking, document)
    if as_json:
        sys.stdout.write(json.dumps(document) + "\n")
        return Exit.DONE
    try:
        table, learned = _table(ranking, metric), _learned(ranking)
    except (LookupError, TypeError, ValueError, AttributeError):
        raise not_understood() from None
    console = screen()
    console.print(table)
    console.print(learned, soft_wrap=True)
    if any(forest["r2"] is None for forest in ranking.forest.values()):
        console.print(_UNKNOWN, soft_wrap=True)
    if not ranking.final:
        console.print("The job is not done: this is what it has learned so far.", soft_wrap=True)
    return Exit.DONE


def _table(ranking: Ranking, metric: str | None) -> Table:
    from rich.table import Table

    metrics = [metric] if metric else list(ranking.forest)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("parameter", overflow="fold")
    for name in metrics:
        table.add_column(name, justify="right", no_wrap=True)
        table.add_column("p", justify="right", no_wrap=True)
    for place, row in enumerate(ranking.parameters, start=1):
        cells = [cell for name in metrics for cell in (_importance(row, name), _p(row, name))]
        factor = " (workload factor)" if row["workload_factor"] else ""
        table.add_row(str(place), f"{row['name']}{factor}", *cells)
    return table


def _importance(row: dict[str, Any], metric: str) -> str:
    found = row["importance"].get(metric)
    return "-" if found is None else f"{found['permutation']:.3f}"


def _p(row: dict[str, Any], metric: str) -> str:
    found = row["anova"].get(metric)
    if found is None or found["p_holm"] is None:
        return "-"
    return "<0.001" if found["p_holm"] < 0.001 else f"{found['p_holm']:.3f}"


def _learned(ranking: Ranking) -> str:
    """One line: how well each metric was learned."""
    shown = ", ".join(
        f"{name} {forest['r2']:.2f}" if forest["r2"] is not None else f"{name} unknown"
        for name, forest in ranking.forest.items()
    )
    return f"Permutation importance, and p by analysis of variance (Holm). R2: {shown}."
