"""`rocktune parameters`, `contributions`, `explain`: what matters, and why a winner is better."""

import os
from contextlib import suppress
from dataclasses import replace
from typing import Annotated

from typer import Option

from api.schemas.result_schemas import Ranking
from cli.client.client_errors import understanding
from cli.client.remote import Db, JobId, Json, Remote, Url, asking, opened
from cli.options.connections import open_database, require_there
from cli.options.exits import interruptible
from cli.render.outcome_screen import print_contributions, print_section, show_explanation
from cli.render.screen import print_json, runs_observer, say, screen
from cli.render.submitting import submittable
from cli.stored.jobs import answer_may_be_no
from db.schema.job_row import JobKind
from jobs.report.ranking import brief_section
from jobs.specification.experiments import ExplainRequest
from optimizer.results.document import Contributions
from sampler.common.errors import InputError
from sampler.common.text import cleaned

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
        show_explanation(screen(), cleaned(document), asked.job)


def _measure(asked: ExplainRequest, *, url: str | None, db: str | None) -> None:
    from db.leases import LeaseHeld
    from jobs.experiments.experiment import Experiment, no_runs
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
            prepared(specification, engine, settings).measure(settings, no_runs(), observer)
        except LeaseHeld as held:
            raise InputError("job", str(held)) from None
