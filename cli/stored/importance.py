"""`rocktune parameters` and `contributions`: which options matter, as far as a job knows."""

from typing import Annotated, Any

import typer
from rich.table import Table

from api.schemas.result_schemas import Contributions, Ranking
from cli.client.client_errors import understanding
from cli.client.where import Db, JobId, Json, Url, asked_for
from cli.render.outcome_screen import print_contributions
from cli.render.screen import bare_table, print_json, say, screen
from optimizer.budget.power import p_figure

PARAMETERS_EXAMPLES = """
Examples:
  rocktune parameters 12
  rocktune parameters 12 --metric waf --top 10
"""
_UNKNOWN = "Unknown: fewer than 10 trials ended well, or all of them measured the same."


def parameters_command(
    job_id: JobId,
    metric: Annotated[
        str | None, typer.Option(help="Of this metric alone, in its own order.")
    ] = None,
    top: Annotated[int | None, typer.Option(help="Only so many.", min=1)] = None,
    as_json: Json = False,
    url: Url = None,
    db: Db = None,
) -> None:
    """Ranks the parameters, the most important first.

    For each metric: which share of its variance the parameter makes, by the
    models that guide the search, and the p-value of no effect. Where no models
    rank (genetic, random, ...): how much worse a forest predicts the metric
    once the parameter is shuffled (its permutation importance), and the
    p-value of the analysis of variance. Both p are corrected for all
    parameters and metrics (Holm).
    """
    ranking, document = asked_for(
        Ranking, f"jobs/{job_id}/parameters", url=url, db=db, metric=metric, top=top
    )
    if as_json:
        print_json(document)
        return
    with understanding():
        table, learned = _table(ranking, metric), _learned(ranking)
    console = screen()
    console.print(table)
    say(console, learned)
    if any(value is None for value in _r2(ranking).values()):
        say(console, _UNKNOWN)
    if not ranking.final:
        say(console, "The job is not done: this is what it has learned so far.")


def _table(ranking: Ranking, metric: str | None) -> Table:
    metrics = [metric] if metric else list(ranking.forest)
    figures = [title for name in metrics for title in (name, "p")]
    table = bare_table((), ("",), ("parameter",), figures, no_wrap=True)
    for place, row in enumerate(ranking.parameters, start=1):
        cells = [cell for name in metrics for cell in (_importance(row, name), _p(row, name))]
        factor = " (workload factor)" if row["workload_factor"] else ""
        table.add_row(str(place), f"{row['name']}{factor}", *cells)
    return table


def _importance(row: dict[str, Any], metric: str) -> str:
    if "model" in row:
        model = row["model"].get(metric)
        return "-" if model is None else f"{100 * model['total']:.1f}%"
    found = row["importance"].get(metric)
    return "-" if found is None else f"{found['permutation']:.3f}"


def _p(row: dict[str, Any], metric: str) -> str:
    found = (row["model"] if "model" in row else row["anova"]).get(metric)
    if found is None or found["p_holm"] is None:
        return "-"
    return p_figure(found["p_holm"])


def _learned(ranking: Ranking) -> str:
    """One line: how well each metric was learned."""
    shown = ", ".join(
        f"{name} {value:.2f}" if value is not None else f"{name} unknown"
        for name, value in _r2(ranking).items()
    )
    if ranking.models:
        return f"Share of the variance by the models, and p of no effect (Holm). R2: {shown}."
    return f"Permutation importance, and p by analysis of variance (Holm). R2: {shown}."


def _r2(ranking: Ranking) -> dict[str, float | None]:
    if ranking.models:
        return {name: each["r2_cross_validated"] for name, each in ranking.models.items()}
    return {name: each["r2"] for name, each in ranking.forest.items()}


CONTRIBUTIONS_EXAMPLES = """
Examples:
  rocktune contributions 12                 the top 6
  rocktune contributions 12 --top 100       all that changed
"""


def contributions_command(
    job_id: JobId,
    top: Annotated[int, typer.Option(help="So many parameters.", min=1)] = 6,
    as_json: Json = False,
    url: Url = None,
    db: Db = None,
) -> None:
    """Says what each parameter contributed to what a greedy job found.

    In percent of each metric of the objective, value against value as they
    were kept, and in percent of the whole gain.
    """
    _, document = asked_for(Contributions, f"jobs/{job_id}/contributions", url=url, db=db)
    if as_json:
        print_json(document)
        return
    with understanding():
        print_contributions(screen(), document, top=top)
