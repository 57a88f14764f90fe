"""`rocktune options`, `report`, `front`, `pick`, `parameters`, `contributions`, `explain`."""

import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from rich.table import Table
from typer import Option, echo

from cli.client.client_errors import understanding
from cli.client.remote import Db, JobId, Json, Remote, Url, asking, opened
from cli.options.connections import open_database, require_there
from cli.options.exits import interruptible, leave
from cli.options.job_options import request_options
from cli.render.outcome_screen import print_section
from cli.render.screen import bare_table, print_json, runs_observer, say, screen
from cli.render.submitting import submittable
from cli.stored.jobs import answer_may_be_no
from db.schema.job_row import JobKind
from jobs.report.changed import contributed_section, explanation_section, options_section
from jobs.report.ranking import brief_section
from jobs.results.figures import metric_amount
from jobs.results.output_folder import DIFFERENCE, OPTIONS, require_folder
from jobs.specification.experiments import ExplainRequest, FrontRequest, PickRequest
from jobs.views.answers import ParetoFront, PickAnswer, PickRow, Ranking
from optimizer.explained import Explanation
from optimizer.objective.objective_file import SHIPPED, load_objective, objective_document
from optimizer.results.ranking import Contributions
from sampler.common.atomic_write import write_output
from sampler.common.errors import InputError
from sampler.common.text import cleaned, printable
from sampler.rocksdb.forms import FORMS

OPTIONS_EXAMPLES = """
Examples:
  rocktune options 12                      prints the file
  rocktune options 12 --out OPTIONS.ini    writes it to a file
  rocktune options 12 --minimal            the fewest changes that keep the gain, by models
  rocktune options 12 --fullest            the candidate before it was simplified
  rocktune options 12 --format setoptions   the calls that change a running database
  rocktune options 12 --format string      option strings, for MyRocks
"""


def options_command(
    job_id: JobId,
    out: Annotated[Path | None, Option(help="File to write. Default: standard output.")] = None,
    minimal: Annotated[
        bool, Option("--minimal", help="File with the fewest changes, according to models.")
    ] = False,
    fullest: Annotated[
        bool, Option("--fullest", help="File of the candidate with the most changes, not proven.")
    ] = False,
    form: Annotated[str, Option("--format", help=f"Format: {', '.join(FORMS)}.")] = "ini",
    url: Url = None,
    db: Db = None,
) -> None:
    """Writes the OPTIONS file of a job's winner, or the same in another format.

    Exit status: 0 written, 3 nothing was proven (or there is no file with fewer
    changes for --minimal, with more for --fullest), 2 bad input.
    """
    if minimal and fullest:
        raise InputError("--fullest", "give either --fullest or --minimal")
    if form not in FORMS:
        raise InputError("--format", f"{form!r} is not one of {', '.join(FORMS)}")
    why = f"job {job_id} found nothing better than its baseline"
    why += ", or none of its changes can be left out" if minimal else ""
    why += ", or no candidate has more changes" if fullest else ""
    asked = {
        "minimal": "true" if minimal else None,  # what services of earlier versions know
        "which": "fullest" if fullest else None,
        "format": None if form == "ini" else form,
    }
    path = f"jobs/{job_id}/options"
    with opened(url, db) as remote, answer_may_be_no(remote, job_id, f"{why}; there is no file"):
        if form == "json":
            text = json.dumps(remote.get(path, **asked), indent=1) + "\n"
        else:
            text = remote.file(path, "text/plain", **asked).text
    if out is not None:
        write_output(out, text.encode())
    elif sys.stdout.isatty():
        sys.stdout.write("".join(f"{printable(line)}\n" for line in text.splitlines()))
    else:
        sys.stdout.write(text)


REPORT_EXAMPLES = """
Examples:
  rocktune report 12                        writes report-12.html
  rocktune report 12 --out /tmp/load.html   writes /tmp/load.html
  rocktune report 12 --db /tmp/other.db     a job in another database
"""


@asking()
def report_command(
    remote: Remote,
    job_id: JobId,
    out: Annotated[
        Path | None, Option(help="HTML file to write. Default: report-ID.html.")
    ] = None,
) -> None:
    """Writes the report of a finished job: one HTML file that opens offline.

    A report by an earlier version of Rocktune is made anew from the stored trials.

    Exit status: 0 written, 2 bad input, such as a job that has not ended.
    """
    path = Path(f"report-{job_id}.html") if out is None else out
    write_output(path, remote.file(f"jobs/{job_id}/report", "text/html").content)
    echo(f"Written to {path}")


FRONT_EXAMPLES = """
Examples:
  rocktune front 12                                by the metrics of the job's objective
  rocktune front 12 --x write_p99 --y rate         throughput against latency
  rocktune front 12 --x cpu_percent --y rate       throughput against CPU use
"""


@request_options(FrontRequest, {"x": "First metric of a front of two; with --y."})
def front_command(
    asked: Mapping[str, Any], job_id: JobId, as_json: Json = False, url: Url = None, db: Db = None
) -> None:
    """Lists the Pareto front of a job's measured configurations.

    Single runs: explored, not proven. `rocktune pick` chooses one of them by a
    service level or by weights.
    """
    with opened(url, db) as remote:
        answer, document = remote.told(ParetoFront, f"jobs/{job_id}/pareto", **asked)
    if as_json:
        print_json(document)
        return
    with understanding():
        rows = {"baseline": answer.baseline} if answer.baseline else {}
        rows |= {str(point.number): point.metrics for point in answer.points}
        table = bare_table((), ("trial", *answer.metrics), no_wrap=True)
        for title, found in rows.items():
            table.add_row(title, *(_amount(found, name) for name in answer.metrics))
    console = screen()
    console.print(table)
    say(
        console, f"{len(answer.points)} on the front, mostly of single runs: explored, not proven."
    )


def _amount(metrics: Mapping[str, float], name: str) -> str:
    return metric_amount(metrics[name], name) if name in metrics else "-"


_OBJECTIVE = "Name or TOML file. Replaces the job's objective with its limits."
PICK_EXAMPLES = """
Examples:
  rocktune pick 12                                    by the job's own objective
  rocktune pick 12 --weights waf=2,sa=1,rate=1        WAF counts twice
  rocktune pick 12 --weights rate --limit "sa <= 1.0 baseline" --limit "memory <= 64MiB"
  rocktune pick 12 --slo "write_p99 <= 340 us"        highest throughput within a service level
  rocktune pick 12 --objective mine.toml --model      with the predictions of models
  rocktune pick 12 --weights waf --out picked         writes picked/OPTIONS.ini
"""


@request_options(PickRequest, {"objective": _OBJECTIVE})
def pick_command(
    asked: Mapping[str, Any],
    job_id: JobId,
    out: Annotated[
        Path | None, Option(help="Folder for the OPTIONS file of the first pick.")
    ] = None,
    as_json: Json = False,
    url: Url = None,
    db: Db = None,
) -> None:
    """Picks a job's best measured configurations by other weights or limits.

    Nothing is measured. The picks are explored, not proven: most configurations
    were measured once, and the best of many is partly luck.

    Exit status: 0 picked, 3 no configuration keeps the limits or is better than
    the baseline, 2 bad input.
    """
    if out is not None:
        require_folder(out)
    objective = asked.get("objective")
    if objective not in (None, *SHIPPED):  # the interface takes what is in a file
        read = objective_document(load_objective(objective))
        asked = {**asked, "objective": json.dumps(read, allow_nan=False)}
    with opened(url, db) as remote:
        answer, document = remote.told(PickAnswer, f"jobs/{job_id}/pick", **asked)
    text = document["options"]  # as it came: a file is not cleaned for a terminal
    # Before anything is printed: whoever reads it may leave after the first lines.
    if text is not None and out is not None:
        write_output(out / OPTIONS, text.encode())
        if document.get("difference"):
            write_output(out / DIFFERENCE, document["difference"].encode())
    if as_json:
        print_json(document)
    else:
        _print(answer, model="model" in asked)
    if text is None and not answer.picks:
        leave(f"none of {answer.judged} configurations keeps every limit: no file")
    if text is None:
        leave("nothing measured is better than the baseline by this preference: no file")
    if out is not None:
        (sys.stderr if as_json else sys.stdout).write(f"Written to {out / OPTIONS}\n")


def _print(answer: PickAnswer, *, model: bool) -> None:
    console = screen()
    with understanding():
        table = _pick_table(answer)
    if answer.picks:
        console.print(table)
        picked = answer.picks[0].configuration
        print_section(console, options_section(answer.baseline.configuration, picked))
    kept = f"{answer.keeping} of {answer.judged} configurations"
    kept = f"{kept} keep {'; '.join(answer.limits)}" if answer.limits else f"The best of {kept}"
    means = "Means of all runs, times and rates corrected for drift."
    say(console, f"{kept}. {means}", _certainty(answer, model=model))


def _certainty(answer: PickAnswer, *, model: bool) -> str:
    said = f"These picks are {answer.standing}: the best of many runs is partly luck."
    own = next((row.trial for row in answer.picks if row.proven_by_job), None)
    if own is not None:
        said += f" Trial {own} is proven by the job's own objective, not by this preference."
    if any(row.model for row in answer.picks):
        said += " The models' fitness has a 95% interval that assumes correct models."
    elif model and answer.picks:
        said += " There are too few trials for models."
    return said


def _pick_table(answer: PickAnswer) -> Table:
    terms = [row["name"] for row in answer.objective["metric"]]
    limited = [row["metric"] for row in answer.objective.get("limit", [])]
    metrics = list(dict.fromkeys([*terms, *limited, "memory"]))
    shown = [name for name in metrics if name in answer.baseline.metrics]
    models = any(row.model for row in answer.picks)
    opinion = ["models"] if models else []
    table = bare_table((), ("trial", "runs", "fitness", *opinion, *shown), no_wrap=True)
    level = [metric_amount(answer.baseline.metrics[name], name) for name in shown]
    table.add_row("baseline", "", "0", *("" for _ in opinion), *level)
    for row in answer.picks:
        cells = [_opinion(row) for _ in opinion] + [_cell(row, name) for name in shown]
        table.add_row(str(row.trial), str(row.runs), f"{row.fitness:,.0f}", *cells)
    return table


def _opinion(row: PickRow) -> str:
    said = row.model
    return f"{said.fitness:,.0f} [{said.low:,.0f}, {said.high:,.0f}]" if said else "-"


def _cell(row: PickRow, name: str) -> str:
    change, value = row.change.get(name), _amount(row.metrics, name)
    return value if change is None else f"{value} ({change:+.1f}%)"


PARAMETERS_EXAMPLES = """
Examples:
  rocktune parameters 12
  rocktune parameters 12 --metric waf --top 10
"""


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
    console = screen()
    with understanding():
        print_section(console, brief_section(ranking, metric))
    if not ranking.final:
        say(console, "The job is not done. The ranking so far:")


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
    found, document = remote.told(Contributions, f"jobs/{job_id}/contributions")
    if as_json:
        print_json(document)
        return
    with understanding():
        print_section(screen(), contributed_section(found, top))


EXPLAIN_EXAMPLES = """
Examples:
  rocktune explain 12                      by models of the job's trials
  rocktune explain 12 --runs 7             also measures the first steps on this machine
  rocktune explain 12 --runs 7 --submit    the same as a job of a service
  rocktune explain 12 --runs 7 --steps 0   measures only the fewest changes and the winner
  rocktune options 12 --minimal            the OPTIONS file with the fewest changes
"""


_EXPLAINED = {
    "runs": "Measured runs of each configuration, at least 3; 0: none, with --submit 7.",
}


@submittable(JobKind.EXPLAIN, _EXPLAINED, arguments={"job": "ID"}, unasked={"runs": 0})
def explain_command(
    asked: ExplainRequest, as_json: Json = False, url: Url = None, db: Db = None
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
    if "runs" in asked.model_fields_set:
        _measure(asked, url=url, db=db)
    with opened(url, db) as remote, answer_may_be_no(remote, asked.job):
        document = remote.get(f"jobs/{asked.job}/explanation")
    if as_json:
        print_json(document)
        return
    with understanding():
        found = Explanation.model_validate(cleaned(document))
        metrics = list(found.steps[0].metrics) if found.steps else []
        print_section(screen(), explanation_section(found, metrics).numbered(asked.job))


def _measure(asked: ExplainRequest, *, url: str | None, db: str | None) -> None:
    from db.leases import LeaseHeld
    from jobs.experiments.experiment import Experiment, KeptRuns
    from jobs.experiments.explain import NothingToExplain
    from jobs.experiments.kinds import KnownNames, prepared, specified
    from sampler.bench.settings import load_settings

    if url is not None or (db is None and os.environ.get("ROCKTUNE_URL")):
        raise InputError("runs", "measures on this machine; give --db, or use --submit")
    require_there(db)
    console = screen(stderr=True)

    def begins(runs: Experiment, left: int) -> None:
        say(console, f"{left} runs: {runs.rounds} rounds of {', '.join(runs.sides)}")

    observer = replace(
        runs_observer(console, "{side}"), begins=begins, away=lambda what: say(console, what)
    )
    kept = f"the runs are kept with job {asked.job}. Run the same command to continue"
    with (
        interruptible(f"interrupted; {kept}"),
        open_database(db or os.environ.get("ROCKTUNE_DB") or None) as engine,
        suppress(NothingToExplain),
    ):
        specification = specified(asked, KnownNames(engine=engine))
        try:
            settings = load_settings()
            prepared(specification, engine, settings).measure(settings, KeptRuns(), observer)
        except LeaseHeld as held:
            raise InputError("job", str(held)) from None
