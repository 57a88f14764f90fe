"""`rocktune pick`: the best of what a job has measured, by a preference named afterwards."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.client.answers import not_understood, understood
from cli.client.where import Db, JobId, Url, opened
from cli.options.exits import Exit, complain

if TYPE_CHECKING:
    from rich.table import Table

    from api.schemas.pick_schemas import PickAnswer, PickRow

EXAMPLES = """
Examples:

  rocktune pick 12                                    by the job's own objective

  rocktune pick 12 --weights waf=2,sa=1,rate=1        WAF counts twice

  rocktune pick 12 --weights rate --limit "sa <= 1.0 baseline" --limit "memory <= 64MiB"

  rocktune pick 12 --slo "write_p99 <= 340 us"        the most throughput within a service level

  rocktune pick 12 --objective mine.toml --model      beside it what models expect

  rocktune pick 12 --weights waf --out picked         the first as picked/OPTIONS.ini
"""


def pick(
    job_id: JobId,
    weights: Annotated[
        str | None, typer.Option(help="METRIC=WEIGHT,METRIC=WEIGHT; else the objective's.")
    ] = None,
    limit: Annotated[
        list[str] | None,
        typer.Option(help="'sa <= 1.0 baseline', beside the job's; may be given again."),
    ] = None,
    slo: Annotated[
        list[str] | None,
        typer.Option(
            help="A service level: 'write_p99 <= 340 us'. A limit; by itself picks by throughput."
        ),
    ] = None,
    objective: Annotated[
        str | None,
        typer.Option(help="A name or TOML file instead of the job's, its limits included."),
    ] = None,
    top: Annotated[int, typer.Option(help="So many.", min=1, max=100)] = 5,
    model: Annotated[
        bool, typer.Option("--model", help="Beside it what models of the metrics expect: seconds.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="A folder that receives the OPTIONS file of the first.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As the service tells it.")] = False,
    url: Url = None,
    db: Db = None,
) -> int:
    """Picks the best configurations that a job has measured, by any preference.

    Nothing is measured. What is picked is explored, not proven: most
    configurations were measured once, and the best of many is partly luck.

    Exit status: 0 picked, 3 nothing keeps the limits or is better than the
    baseline, 2 bad input.
    """
    from api.schemas.pick_schemas import PickAnswer
    from jobs.report.artifacts import OPTIONS
    from jobs.results.output_folder import require_folder
    from sampler.common.atomic_write import write_output

    if out is not None:
        require_folder(out)
    with opened(url, db) as remote:
        document = remote.get(
            f"jobs/{job_id}/pick",
            weights=weights,
            limit=limit or None,
            slo=slo or None,
            objective=None if objective is None else _objective(objective),
            top=top,
            model="true" if model else None,
        )
    answer = understood(PickAnswer, document)
    text = document["options"]  # as it came: a file is not cleaned for a terminal
    # Before anything is printed: whoever reads it may leave after the first lines.
    if text is not None and out is not None:
        write_output(out / OPTIONS, text.encode())
    if as_json:
        sys.stdout.write(json.dumps(document) + "\n")
    else:
        _print(answer, model=model)
    if text is None:
        complain(_nothing(answer))
        return Exit.ANSWER_IS_NO
    if out is not None:
        (sys.stderr if as_json else sys.stdout).write(f"Written to {out / OPTIONS}\n")
    return Exit.DONE


def _objective(given: str) -> str:
    """As the interface takes it: a shipped name, or the file's content."""
    from optimizer.objective.objective_file import SHIPPED, load_objective, objective_document

    if given in SHIPPED:
        return given
    return json.dumps(objective_document(load_objective(given)), allow_nan=False)


def _nothing(answer: PickAnswer) -> str:
    if not answer.picks:
        return f"none of {answer.judged} configurations keeps every limit; there is no file"
    return "nothing measured is better than the baseline by this preference; there is no file"


def _print(answer: PickAnswer, *, model: bool) -> None:
    from cli.render.outcome_table import changed_options
    from cli.render.screen import screen

    console = screen()
    try:
        table = _table(answer)
    except (LookupError, TypeError, ValueError, AttributeError):
        raise not_understood() from None
    if answer.picks:
        console.print(table)
        console.print(
            changed_options(answer.baseline.configuration, answer.picks[0].configuration)
        )
    kept = f"{answer.keeping} of {answer.judged} configurations"
    if answer.limits:
        kept += f" keep {'; '.join(answer.limits)}"
    else:
        kept = f"The best of {kept}"
    console.print(f"{kept}. Means of the runs that there are, clocks corrected.", soft_wrap=True)
    console.print(_standing(answer, model=model), soft_wrap=True)


def _standing(answer: PickAnswer, *, model: bool) -> str:
    """How sure that is."""
    said = f"These picks are {answer.standing}: the best of many runs is partly luck."
    own = next((row.trial for row in answer.picks if row.proven_by_job), None)
    if own is not None:
        said += f" Trial {own} is proven by the job's own objective, not by this preference."
    if any(row.model for row in answer.picks):
        said += " The models' fitness has its 95% interval, if they are right."
    elif model and answer.picks:
        said += " The models know too few trials to tell."
    return said


def _table(answer: PickAnswer) -> Table:
    from rich.table import Table

    terms = [row["name"] for row in answer.objective["metric"]]
    limited = [row["metric"] for row in answer.objective.get("limit", [])]
    metrics = list(dict.fromkeys([*terms, *limited, "memory"]))
    shown = [name for name in metrics if name in answer.baseline.metrics]
    models = any(row.model for row in answer.picks)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("trial", "runs", "fitness", *(["models"] if models else []), *shown):
        table.add_column(title, justify="right", no_wrap=True)
    level = [_figure(name, answer.baseline.metrics[name]) for name in shown]
    table.add_row("baseline", "", "0", *([""] if models else []), *level)
    for row in answer.picks:
        opinion = [_opinion(row)] if models else []
        cells = [_cell(row, name) for name in shown]
        table.add_row(str(row.trial), str(row.runs), f"{row.fitness:,.0f}", *opinion, *cells)
    return table


def _opinion(row: PickRow) -> str:
    said = row.model
    return f"{said.fitness:,.0f} [{said.low:,.0f}, {said.high:,.0f}]" if said else "-"


def _cell(row: PickRow, name: str) -> str:
    change = row.change.get(name)
    value = _figure(name, row.metrics[name]) if name in row.metrics else "-"
    return value if change is None else f"{value} ({change:+.1f}%)"


def _figure(name: str, value: float) -> str:
    from cli.render.outcome_table import figure

    return figure(name, value)
