"""`rocktune parameters`, `contributions`, `explain`: what matters, and why a winner is better."""

import os
from dataclasses import replace
from typing import Annotated, Any

from rich.table import Table
from typer import Option

from api.schemas.result_schemas import Ranking
from cli.client.client_errors import understanding
from cli.client.remote import Db, JobId, Json, Remote, Url, asking, opened
from cli.options.connections import open_database, require_there
from cli.options.exits import interruptible
from cli.render.outcome_screen import print_contributions, show_explanation
from cli.render.screen import bare_table, if_known, print_json, runs_observer, say, screen
from cli.render.submitting import submittable
from cli.stored.jobs import answer_may_be_no
from db.schema.job_row import JobKind
from jobs.results.ranking_words import (
    anova_words,
    disagreement_words,
    first_share,
    ranks_anova,
    trust_words,
)
from optimizer.budget.power import p_figure
from optimizer.results.document import Contributions
from sampler.common.errors import InputError
from sampler.common.untrusted_text import cleaned

PARAMETERS_EXAMPLES = """
Examples:
  rocktune parameters 12
  rocktune parameters 12 --metric waf --top 10
"""
_UNKNOWN = "Unknown: fewer than 10 trials succeeded, or all measured the same."


@asking()
def parameters_command(
    remote: Remote,
    job_id: JobId,
    metric: Annotated[str | None, Option(help="Show this metric alone, and rank by it.")] = None,
    top: Annotated[int | None, Option(help="Number of parameters to show.", min=1)] = None,
    as_json: Json = False,
) -> None:
    """Ranks the parameters of a job by importance.

    Importance is the share of a metric's variance over the whole space, by a
    Gaussian process of all trials, with its p-value of no effect. --metric also
    shows what a random forest says (permutation importance on unseen trials,
    decrease in impurity), and the analysis of variance of the random
    configurations alone. p-values are corrected for all parameters and metrics (Holm).
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
        say(console, "The job is not done. The ranking so far:")


def _table(ranking: Ranking, found: dict[str, Any], metric: str | None) -> Table:
    metrics = [metric] if metric else list(ranking.forest)
    figures = [title for name in metrics for title in (name, "p")]
    table = bare_table((), ("",), ("parameter",), figures, no_wrap=True)
    for place, row in enumerate(found["parameters"], start=1):
        pairs = [(_importance(found, row, name), _p(row, name)) for name in metrics]
        cells = [cell for pair in pairs for cell in pair]
        table.add_row(str(place), _named(row), *cells)
    return table


def _named(row: dict[str, Any]) -> str:
    return f"{row['name']}{' (property of the load)' if row['workload_factor'] else ''}"


def _importance(found: dict[str, Any], row: dict[str, Any], metric: str) -> str:
    if "model" in row:
        return if_known(first_share(found, row, metric).get("total"), "{:.1%}", "-")
    return if_known((row["importance"].get(metric) or {}).get("permutation"), "{:.3f}", "-")


def _p(row: dict[str, Any], metric: str) -> str:
    return _p_of(row["model" if "model" in row else "anova"].get(metric) or {})


def _p_of(test: dict[str, Any]) -> str:
    p = test.get("p_holm")
    return "-" if p is None else p_figure(p)


def _both(found: dict[str, Any], metric: str) -> Table:
    """A metric by everything that ranks it, in the order of what is shown first."""
    rows = found["parameters"]
    # Of earlier versions, whose forests have shares of the variance too.
    by_forest = any("total" in row["importance"].get(metric, {}) for row in rows)
    shared = ("forest", "95%") if by_forest else ()
    figures = (*shared, "process", "95%", "p", "permutation", "impurity")
    tested = ("F", "p of F") if ranks_anova(found) else ()
    table = bare_table((), ("",), ("parameter",), (*figures, *tested), no_wrap=True)
    for place, row in enumerate(rows, start=1):
        forest, process = (row[part].get(metric, {}) for part in ("importance", "model"))
        shares = (forest, process) if by_forest else (process,)
        cells = [cell for share in shares for cell in _share(share)]
        cells.append(_p(row, metric))
        cells += [if_known(forest.get(name), "{:.3f}", "-") for name in ("permutation", "mdi")]
        if tested:
            test = row["anova"].get(metric) or {}
            cells += [if_known(test.get("f"), "{:.1f}", "-"), _p_of(test)]
        table.add_row(str(place), _named(row), *cells)
    return table


def _share(share: dict[str, Any]) -> tuple[str, str]:
    if not share:
        return "-", "-"
    within = f"{100 * share['low']:.0f} to {100 * share['high']:.0f}"
    return if_known(share["total"], "{:.1%}", "-"), within


def _learned(ranking: Ranking, found: dict[str, Any]) -> list[str]:
    if ranking.models:
        lines = ["Share of the variance over the whole space, and p-value of no effect (Holm)"]
        lines += trust_words(found)
        lines += [f"Forest and process disagree on {line}" for line in disagreement_words(found)]
        lines += filter(None, [anova_words(found)])
        return [f"{line}." for line in lines]
    shown = ", ".join(
        f"{name} {value:.2f}" if value is not None else f"{name} unknown"
        for name, value in _r2(ranking).items()
    )
    return [f"Permutation importance, and p-value by analysis of variance (Holm). R2: {shown}."]


def _r2(ranking: Ranking) -> dict[str, float | None]:
    if ranking.models:
        return {name: each.r2_cross_validated for name, each in ranking.models.items()}
    return {name: each.r2 for name, each in ranking.forest.items()}


CONTRIBUTIONS_EXAMPLES = """
Examples:
  rocktune contributions 12                 the top 6
  rocktune contributions 12 --top 100       all changed parameters
"""


@asking()
def contributions_command(
    remote: Remote,
    job_id: JobId,
    top: Annotated[int, Option(help="Number of parameters to show.", min=1)] = 6,
    as_json: Json = False,
) -> None:
    """Shows the gain of each parameter in a greedy job.

    In percent of each metric of the objective, each kept value against the
    one before it, and in percent of the whole gain.
    """
    _, document = remote.told(Contributions, f"jobs/{job_id}/contributions")
    if as_json:
        print_json(document)
        return
    with understanding():
        print_contributions(screen(), document, top=top)


EXPLAIN_EXAMPLES = """
Examples:
  rocktune explain 12                      by models of the job's trials
  rocktune explain 12 --runs 7             also measures the first steps on this machine
  rocktune explain 12 --runs 7 --submit    the same as a job of a service
  rocktune explain 12 --runs 7 --steps 0   measures only the fewest changes and the winner
  rocktune options 12 --minimal            the OPTIONS file with the fewest changes
"""


@submittable(JobKind.EXPLAIN, job_id="job")
def explain_command(
    job_id: JobId,
    runs: Annotated[
        int, Option(help="Measured runs of each configuration, at least 3; 0: none.", min=0)
    ] = 0,
    *,
    steps: int,
    margin: str,
    as_json: Json = False,
    url: Url = None,
    db: Db = None,
) -> None:
    """Explains why a job's winner is better than its baseline.

    Shows a path from the baseline to the winner, largest gain first, and the
    fewest changes that are as good, by models of the job's trials. --runs also
    measures the baseline, the first steps, the fewest changes and the winner by
    interleaved runs on this machine, and stores them with the job.

    With too few configurations the explanation is withheld; a line says how many
    it needs.

    Exit status: 0 explained, 3 nothing was proven better, or the explanation is
    withheld, 2 bad input, 130 interrupted (continue with the same command).
    """
    if runs:
        _measure(job_id, runs, steps, margin, url=url, db=db)
    with opened(url, db) as remote, answer_may_be_no(remote, job_id):
        document = remote.get(f"jobs/{job_id}/explanation")
    if as_json:
        print_json(document)
        return
    with understanding():
        show_explanation(screen(), cleaned(document), job_id)


def _measure(
    job_id: int, runs: int, steps: int, margin: str, *, url: str | None, db: str | None
) -> None:
    from db.leases import LeaseHeld
    from jobs.experiments.experiment import Experiment, no_runs
    from jobs.experiments.explain import explanation_check, finished_job
    from optimizer.budget.sample_size import parse_detect
    from sampler.runner.settings import load_settings

    if url is not None or (db is None and os.environ.get("ROCKTUNE_URL")):
        raise InputError("--runs", "measures on this machine; give --db, or use --submit")
    share, metric = parse_detect(margin, field="--margin")
    if metric is not None:
        raise InputError("--margin", "is a share of the winner's fitness; write for example 10%")
    require_there(db)
    console = screen(stderr=True)

    def begins(runs: Experiment, left: int) -> None:
        say(console, f"{left} runs: {runs.rounds} rounds of {', '.join(runs.sides)}")

    observer = replace(
        runs_observer(console, "{side}"), begins=begins, away=lambda what: say(console, what)
    )
    kept = f"the runs are kept with job {job_id}. Run the same command to continue"
    with (
        interruptible(f"interrupted; {kept}"),
        open_database(db or os.environ.get("ROCKTUNE_DB") or None) as engine,
    ):
        job = finished_job(engine, job_id, field="ID")
        try:
            settings = load_settings()
            check = explanation_check(engine, job, settings, runs=runs, steps=steps, margin=share)
            if check is not None:
                check.measure(settings, no_runs(), observer)
        except LeaseHeld as held:
            raise InputError("ID", f"{held}") from None
