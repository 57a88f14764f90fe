"""`rocktune explain`: why a job's winner is better, and which of its changes are enough."""

import os
import signal
from dataclasses import replace
from typing import Annotated, Any

import typer

from cli.client.client_errors import NotFoundError, understanding
from cli.client.following import job_of
from cli.client.where import Db, JobId, Json, Url, opened
from cli.options.database_option import open_database, require_there
from cli.options.exits import Exit, complain
from cli.render.experiment_screen import RunsShown
from cli.render.outcome_screen import show_explanation
from cli.render.screen import print_json, say, screen
from cli.render.submitting import submittable
from db.schema.job_row import JobKind
from jobs.experiments.experiment import InterleavedRuns, RunsObserver
from sampler.common.errors import InputError
from sampler.common.untrusted_text import cleaned

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
) -> int:
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
        status = _measure(job_id, runs, steps, margin, url=url, db=db)
        if status is not None:
            return status
    with opened(url, db) as remote:
        document, why = _explanation(remote, job_id)
    if document is None:
        complain(why)
        return Exit.ANSWER_IS_NO
    if as_json:
        print_json(document)
        return Exit.DONE
    with understanding():
        show_explanation(screen(), cleaned(document), job_id)
    return Exit.DONE


def _explanation(remote: Any, job_id: int) -> tuple[Any, str]:
    """The document; None where there is nothing to explain, and why."""
    try:
        return remote.get(f"jobs/{job_id}/explanation"), ""
    except NotFoundError as none:
        # There is nothing to explain, or not even a job: then this is not found either.
        if job_of(remote, job_id)[0].state.value != "done":
            raise
        return None, none.problem


def _measure(
    job_id: int, runs: int, steps: int, margin: str, *, url: str | None, db: str | None
) -> int | None:
    """Measures on this machine; a status where that is the end of it."""
    from db.jobs.job_store import JobStore
    from db.leases.lease import LeaseHeld
    from db.schema.job_row import JobState
    from jobs.experiments.explain import measure_explanation
    from jobs.specification.specification import require_tunes
    from optimizer.budget.sample_size import parse_detect
    from sampler.runner.settings import load_settings

    if url is not None or (db is None and os.environ.get("ROCKTUNE_URL")):
        raise InputError("--runs", "measures on this machine: give --db, or --submit to a service")
    share, metric = parse_detect(margin, field="--margin")
    if metric is not None:
        raise InputError("--margin", "is a share of the winner's fitness; write for example 10%")
    given = db or os.environ.get("ROCKTUNE_DB") or None
    require_there(db)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with open_database(given) as engine:
            try:
                job = JobStore(engine).job(job_id)
            except KeyError:
                raise InputError("ID", f"there is no job {job_id}") from None
            require_tunes(job, "ID")
            if job.state is not JobState.DONE:
                problem = f"job {job_id} is {job.state.value}; it has no result yet"
                raise InputError("ID", problem)
            measure_explanation(
                engine,
                job,
                load_settings(),
                runs=runs,
                steps=steps,
                margin=share,
                observer=_observer(),
            )
    except LeaseHeld as held:
        raise InputError("ID", f"{held}") from None
    except KeyboardInterrupt:
        complain(f"interrupted; the runs are kept with job {job_id}. The same command goes on")
        return Exit.INTERRUPTED
    return None


def _observer() -> RunsObserver:
    console = screen(stderr=True)

    def begins(runs: InterleavedRuns, left: int) -> None:
        subjects = ", ".join(runs.sides)
        say(console, f"{left} runs: {runs.rounds} rounds of {subjects}")

    shown = RunsShown(console, run_of="{side}").observer
    return replace(shown, begins=begins, away=lambda what: say(console, what))
