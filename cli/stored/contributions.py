"""`rocktune contributions`: what each parameter gained in a greedy job."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from cli.client.answers import not_understood, understood
from cli.client.where import Db, JobId, Url, opened
from cli.options.exits import Exit

EXAMPLES = """
Examples:

  rocktune contributions 12                 the top 6

  rocktune contributions 12 --top 100       all that changed
"""


def contributions(
    job_id: JobId,
    top: Annotated[int, typer.Option(help="So many parameters.", min=1)] = 6,
    as_json: Annotated[bool, typer.Option("--json", help="As the service tells it.")] = False,
    url: Url = None,
    db: Db = None,
) -> int:
    """Says what each parameter contributed to what a greedy job found.

    In percent of each metric of the objective, value against value as they
    were kept, and in percent of the whole gain.
    """
    from api.schemas.result_schemas import Contributions
    from cli.render.contribution_table import print_contributions
    from cli.render.screen import screen

    with opened(url, db) as remote:
        document = remote.get(f"jobs/{job_id}/contributions")
    understood(Contributions, document)
    if as_json:
        sys.stdout.write(json.dumps(document) + "\n")
        return Exit.DONE
    try:
        print_contributions(screen(), document, top=top)
    except (LookupError, TypeError, ValueError, AttributeError):
        raise not_understood() from None
    return Exit.DONE
