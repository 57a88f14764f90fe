"""`rocktune parameters` and `contributions`: which options matter, as far as a job knows."""

from typing import Annotated, Any

import typer
from rich.table import Table

from api.schemas.result_schemas import Contributions, Ranking
from cli.client.client_errors import understanding
from cli.client.remote import Remote
from cli.client.where import JobId, Json, asking
from cli.render.outcome_screen import print_contributions
from cli.render.screen import bare_table, print_json, say, screen
from jobs.results.ranking_words import (
    anova_words,
    disagreement_words,
    first_share,
    ranks_anova,
    trust_words,
)
from optimizer.budget.power import p_figure

PARAMETERS_EXAMPLES = """
Examples:
  rocktune parameters 12
  rocktune parameters 12 --metric waf --top 10
"""
_UNKNOWN = "Unknown: fewer than 10 trials ended well, or all of them measured the same."


@asking()
def parameters_command(
    remote: Remote,
    job_id: JobId,
    metric: Annotated[
        str | None, typer.Option(help="Of this metric alone, in its own order.")
    ] = None,
    top: Annotated[int | None, typer.Option(help="Only so many.", min=1)] = None,
    as_json: Json = False,
) -> None:
    """Ranks the parameters, the most important first.

    For each metric: which share of its variance the parameter makes over the
    whole space, by a random forest (functional analysis of variance) or a
    Gaussian process of all trials, whichever predicts unseen trials better;
    and the p-value of no effect by the process. --metric shows both side by
    side, the forest's other measures, and the analysis of variance of the
    draws alone. p are corrected for all parameters and metrics (Holm).
    """
    ranking, document = remote.told(Ranking, f"jobs/{job_id}/parameters", metric=metric, top=top)
    if as_json:
        print_json(document)
        return
    with understanding():
        by_both = metric is not None and bool(ranking.models)
        table = _both(document, metric or "") if by_both else _table(ranking, document, metric)
        lines = _learned(ranking, document)
    console = screen()
    console.print(table)
    say(console, *lines)
    if any(value is None for value in _r2(ranking).values()):
        say(console, _UNKNOWN)
    if not ranking.final:
        say(console, "The job is not done: this is what it has learned so far.")


def _table(ranking: Ranking, found: dict[str, Any], metric: str | None) -> Table:
    metrics = [metric] if metric else list(ranking.forest)
    figures = [title for name in metrics for title in (name, "p")]
    table = bare_table((), ("",), ("parameter",), figures, no_wrap=True)
    for place, row in enumerate(ranking.parameters, start=1):
        pairs = [(_importance(found, row, name), _p(row, name)) for name in metrics]
        cells = [cell for pair in pairs for cell in pair]
        table.add_row(str(place), _named(row), *cells)
    return table


def _named(row: dict[str, Any]) -> str:
    return f"{row['name']}{' (workload factor)' if row['workload_factor'] else ''}"


def _importance(found: dict[str, Any], row: dict[str, Any], metric: str) -> str:
    if "model" in row:
        return _known(first_share(found, row, metric).get("total"), ".1%")
    return _known((row["importance"].get(metric) or {}).get("permutation"), ".3f")


def _p(row: dict[str, Any], metric: str) -> str:
    return _p_of(row["model" if "model" in row else "anova"].get(metric) or {})


def _p_of(test: dict[str, Any]) -> str:
    p = test.get("p_holm")
    return "-" if p is None else p_figure(p)


def _known(value: float | None, form: str) -> str:
    return "-" if value is None else f"{value:{form}}"


def _both(found: dict[str, Any], metric: str) -> Table:
    """A metric by everything that ranks it, in the order of what is shown first."""
    figures = ("forest", "95%", "process", "95%", "p", "permutation", "impurity")
    tested = ("F", "p of F") if ranks_anova(found) else ()
    table = bare_table((), ("",), ("parameter",), (*figures, *tested), no_wrap=True)
    for place, row in enumerate(found["parameters"], start=1):
        forest, process = (row[part].get(metric, {}) for part in ("importance", "model"))
        cells = [cell for share in (forest, process) for cell in _share(share)]
        cells += [_p(row, metric), *(_known(forest.get(n), ".3f") for n in ("permutation", "mdi"))]
        if tested:
            test = row["anova"].get(metric) or {}
            cells += [_known(test.get("f"), ".1f"), _p_of(test)]
        table.add_row(str(place), _named(row), *cells)
    return table


def _share(share: dict[str, Any]) -> tuple[str, str]:
    if not share:
        return "-", "-"
    return _known(share["total"], ".1%"), f"{100 * share['low']:.0f} to {100 * share['high']:.0f}"


def _learned(ranking: Ranking, found: dict[str, Any]) -> list[str]:
    """How well each metric was learned, and what that is worth."""
    if ranking.models:
        lines = ["Share of the variance over the whole space, and p of no effect (Holm)"]
        lines += trust_words(found)
        lines += [f"Forest and process disagree on {line}" for line in disagreement_words(found)]
        lines += filter(None, [anova_words(found)])
        return [f"{line}." for line in lines]
    shown = ", ".join(
        f"{name} {value:.2f}" if value is not None else f"{name} unknown"
        for name, value in _r2(ranking).items()
    )
    return [f"Permutation importance, and p by analysis of variance (Holm). R2: {shown}."]


def _r2(ranking: Ranking) -> dict[str, float | None]:
    if ranking.models:
        return {name: each["r2_cross_validated"] for name, each in ranking.models.items()}
    return {name: each["r2"] for name, each in ranking.forest.items()}


CONTRIBUTIONS_EXAMPLES = """
Examples:
  rocktune contributions 12                 the top 6
  rocktune contributions 12 --top 100       all that changed
"""


@asking()
def contributions_command(
    remote: Remote,
    job_id: JobId,
    top: Annotated[int, typer.Option(help="So many parameters.", min=1)] = 6,
    as_json: Json = False,
) -> None:
    """Says what each parameter contributed to what a greedy job found.

    In percent of each metric of the objective, value against value as they
    were kept, and in percent of the whole gain.
    """
    _, document = remote.told(Contributions, f"jobs/{job_id}/contributions")
    if as_json:
        print_json(document)
        return
    with understanding():
        print_contributions(screen(), document, top=top)
