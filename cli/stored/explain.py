"""`rocktune explain`: why a job's winner is better, and which of its changes are enough."""

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from cli.client.client_errors import understanding
from cli.client.where import Db, JobId, Json, Url, opened
from cli.options.database_option import open_database, require_there
from cli.options.exits import interruptible
from cli.render.outcome_screen import show_explanation
from cli.render.progress_screen import runs_observer
from cli.render.screen import print_json, say, screen
from cli.render.submitting import submittable
from cli.stored.jobs import answer_may_be_no
from db.schema.job_row import JobKind, JobState
from sampler.common.errors import InputError
from sampler.common.untrusted_text import cleaned

if TYPE_CHECKING:
    from jobs.experiments.interleaved import InterleavedRuns

EXAMPLES = """
Examples:
  rocktune explain 12                      at once, by models of the job's trials
  rocktune explain 12 --runs 7             and measures the first steps on this machine
  rocktune explain 12 --runs 7 --submit    the same as a job of a service
  rocktune explain 12 --runs 7 --steps 0   only the fewest changes against the winner
  rocktune options 12 --minimal            the OPTIONS file with the fewest changes
"""


@submittable(JobKind.EXPLAIN, job_id="job")
def explain_command(
    job_id: JobId,
    runs: Annotated[
        int, typer.Option(help="Real runs of each configuration, at least 3; 0: none.", min=0)
    ] = 0,
    steps: Annotated[
        int, typer.Option(help="With --runs: so many first steps of the path.", min=0)
    ] = 3,
    margin: Annotated[
        str, typer.Option(help="With --runs: the fitness that the fewest changes may lose.")
    ] = "10%",
    as_json: Json = False,
    url: Url = None,
    db: Db = None,
) -> None:
    """Explains why a job's winner is better than its baseline.

    A path from the baseline to the winner, the largest gain first, and the
    fewest changes that are as good: by models of the job's trials. With --runs
    the baseline, the first steps, the fewest changes and the winner are
    measured in turn on this machine, and that is kept with the job.

    An explanation that too few configurations support is withheld: a line says
    how many it needs.

    Exit status: 0 explained, 3 nothing was proven better, or the explanation is
    withheld, 2 bad input, 130 interrupted (the same command goes on).
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
    """Measures on this machine, and keeps that with the job."""
    from db.jobs.job_store import JobStore
    from db.leases.lease import LeaseHeld
    from jobs.experiments.explain import measure_explanation
    from jobs.specification.specification import require_tunes
    from optimizer.budget.sample_size import parse_detect
    from sampler.runner.settings import load_settings

    if url is not None or (db is None and os.environ.get("ROCKTUNE_URL")):
        raise InputError("--runs", "measures on this machine: give --db, or --submit to a service")
    share, metric = parse_detect(margin, field="--margin")
    if metric is not None:
        raise InputError("--margin", "is a share of the winner's fitness; write for example 10%")
    require_there(db)
    console = screen(stderr=True)

    def begins(runs: InterleavedRuns, left: int) -> None:
        say(console, f"{left} runs: {runs.rounds} rounds of {', '.join(runs.sides)}")

    observer = replace(
        runs_observer(console, "{side}"), begins=begins, away=lambda what: say(console, what)
    )
    kept = f"the runs are kept with job {job_id}. The same command goes on"
    with (
        interruptible(f"interrupted; {kept}"),
        open_database(db or os.environ.get("ROCKTUNE_DB") or None) as engine,
    ):
        try:
            job = JobStore(engine).job(job_id)
        except KeyError:
            raise InputError("ID", f"there is no job {job_id}") from None
        require_tunes(job, "ID")
        if job.state is not JobState.DONE:
            raise InputError("ID", f"job {job_id} is {job.state.value}; it has no result yet")
        try:
            measure_explanation(
                engine, job, load_settings(),
                runs=runs, steps=steps, margin=share, observer=observer,
            )  # fmt: skip
        except LeaseHeld as held:
            raise InputError("ID", f"{held}") from None
