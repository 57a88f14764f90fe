"""`rocktune front`: the configurations of a job between which only taste decides."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from cli.client.answers import not_understood, understood
from cli.client.where import Db, JobId, Url, opened
from cli.options.exits import Exit

if TYPE_CHECKING:
    from rich.table import Table

    from api.schemas.result_schemas import ParetoFront

EXAMPLES = """
Examples:

  rocktune front 12                                in the metrics of the job's objective

  rocktune front 12 --x write_p99 --y rate         throughput against latency

  rocktune front 12 --x cpu_percent --y rate       throughput against CPU use
"""


def front(
    job_id: JobId,
    x: Annotated[str | None, typer.Option(help="One metric of two; with --y.")] = None,
    y: Annotated[str | None, typer.Option(help="The other; the best in it is last.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As the service tells it.")] = False,
    url: Url = None,
    db: Db = None,
) -> int:
    """Lists the Pareto front: what no other measured configuration beats.

    Single runs: explored, not proven. `rocktune pick` takes one of them by a
    service level or by weights.
    """
    from api.schemas.result_schemas import ParetoFront
    from cli.render.screen import screen

    with opened(url, db) as remote:
        document = remote.get(f"jobs/{job_id}/pareto", x=x, y=y)
    answer = understood(ParetoFront, document)
    if as_json:
        sys.stdout.write(json.dumps(document) + "\n")
        return Exit.DONE
    try:
        table = _table(answer)
    except (LookupError, TypeError, ValueError, AttributeError):
        raise not_understood() from None
    console = screen()
    console.print(table)
    console.print(
        f"{len(answer.points)} on the front. Single runs: explored, not proven.", soft_wrap=True
    )
    return Exit.DONE


def _table(answer: ParetoFront) -> Table:
    from rich.table import Table

    from cli.render.outcome_table import figure

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("trial", *answer.metrics):
        table.add_column(title, justify="right", no_wrap=True)
    if answer.baseline:
        level = [figure(name, answer.baseline[name]) for name in answer.metrics]
        table.add_row("baseline", *level)
    for point in answer.points:
        shown = [
            figure(name, point.metrics[name]) if name in point.metrics else "-"
            for name in answer.metrics
        ]
        table.add_row(str(point.number), *shown)
    return table
