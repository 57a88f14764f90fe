"""`rocktune tune`: one job from the terminal, from the baseline to the OPTIONS file."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.options.cluster_options import Certificates, Scheduler, place_of
from cli.options.database_option import Db
from cli.options.exits import Exit, complain
from cli.options.start_options import DropUnknown, StartFrom, WarmStart
from cli.options.strategy_option import Strategy
from optimizer.strategies.registry import DEFAULT_STRATEGY

if TYPE_CHECKING:
    from rich.console import Console
    from sqlalchemy import Engine

    from db.jobs.job_store import Store
    from jobs.execution.place import Place
    from jobs.results.finished import Finished
    from jobs.specification.specification import Specification

EXAMPLES = """
Examples:

  rocktune tune                                   the quick load, a few minutes

  rocktune tune --workload load --trials 400      the paper's load, some hours

  rocktune tune --objective waf --workload load --memory 512MiB    fewer writes, more memory

  rocktune tune --objective waf --limit "rate >= 0.95 baseline"    and nearly as fast

  rocktune tune --baseline /etc/my/OPTIONS        against the file that you run today

  rocktune tune --detect 5% --trials 400          enough fresh runs to show 5%

  rocktune tune --strategy forest --warm-start auto    with what earlier jobs learned

  rocktune tune --start-from /etc/my/OPTIONS      measures these settings first

  rocktune tune --confirm-scale 8                 searches small, proves on eight times as much

  rocktune tune --db-bench /opt/10.2/db_bench     another RocksDB than the usual one

  rocktune tune --scheduler tls://bench:8786 --certificates DIR    on many hosts

  rocktune tune --minutes 30 --resume             the same command goes on where it was stopped
"""


def tune(
    workload: Annotated[str, typer.Option(help="A workload's name or TOML file.")] = "load-quick",
    space: Annotated[str, typer.Option(help="A parameter space's name or TOML file.")] = "default",
    objective: Annotated[
        str | None,
        typer.Option(help="An objective's name or TOML file. [default: paper; for reads reading]"),
    ] = None,
    limit: Annotated[
        list[str] | None,
        typer.Option(help="'rate >= 0.95 baseline' or 'write_p99 <= 200us'; may be given again."),
    ] = None,
    strategy: Strategy = DEFAULT_STRATEGY,
    baseline: Annotated[
        str | None, typer.Option(help="library, db_bench or an OPTIONS file; else the space's.")
    ] = None,
    drop_unknown: DropUnknown = False,
    trials: Annotated[
        int | None, typer.Option(help="Runs of the benchmark in all, at least 12 (default 96).")
    ] = None,
    minutes: Annotated[float | None, typer.Option(help="Time instead of --trials.")] = None,
    memory: Annotated[
        str | None, typer.Option(help="Memtables and block cache, as 512MiB; else the baseline's.")
    ] = None,
    scale: Annotated[
        int | None, typer.Option(help="Divisor of byte-sized options; else the workload's.")
    ] = None,
    confirm_scale: Annotated[
        int | None,
        typer.Option(help="Choose and prove the winner at this larger scale (smaller divisor)."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Everything random comes from it.")] = 1,
    samples: Annotated[
        int | None, typer.Option(help="Draws before the search; else 20, of genetic half.", min=1)
    ] = None,
    top: Annotated[
        int, typer.Option(help="genetic searches so many of the most important ones.", min=1)
    ] = 5,
    over: Annotated[
        str | None, typer.Option(help="Search these parameters alone, as NAME,NAME.")
    ] = None,
    stop_early: Annotated[
        bool, typer.Option("--stop-early", help="Stop searching once it no longer improves.")
    ] = False,
    generations: Annotated[
        int | None, typer.Option(help="Stop the genetic search after so many.", min=1)
    ] = None,
    fitness: Annotated[
        float | None, typer.Option(help="Stop the genetic search once this is reached.")
    ] = None,
    cutoff: Annotated[
        float,
        typer.Option(help="Cut runs off at so many times the baseline's time; 0: never.", min=0),
    ] = 4.0,
    detect: Annotated[
        str | None,
        typer.Option(help="Plan the proof to show such a change, as 5% or rate=5%, by the noise."),
    ] = None,
    start_from: StartFrom = None,
    warm_start: WarmStart = None,
    db_bench: Annotated[
        str | None,
        typer.Option(help="The RocksDB build: its name in ROCKTUNE_BUILDS, or a path."),
    ] = None,
    host_kind: Annotated[
        str | None, typer.Option(help="The kind of hosts that it is for; else any.")
    ] = None,
    scheduler: Scheduler = None,
    certificates: Certificates = None,
    db: Db = None,
    out: Annotated[Path, typer.Option(help="Receives the OPTIONS file and the report.")] = Path(
        "rocktune-out"
    ),
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the newest job of just these options.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="result.json alone on standard output.")
    ] = False,
) -> int:
    """Tunes RocksDB on this machine and proves the result.

    Exit status: 0 better options were found, 3 nothing better was found, 2 bad input,
    130 interrupted (go on with --resume).
    """
    from cli.options.name_list import names_of
    from db.connection.engine import make_engine
    from db.connection.migrate import upgrade
    from jobs.report.artifacts import require_folder
    from jobs.specification.specify import specify
    from jobs.specification.start_from import read_starts
    from jobs.specification.warm_start_text import parse_warm_start
    from optimizer.budget.sample_size import parse_detect
    from optimizer.objective.limits import parse_limit
    from optimizer.trials.problem import SearchSettings
    from sampler.common.byte_size import parse_bytes
    from sampler.runner.settings import load_settings

    change, metric = (None, None) if detect is None else parse_detect(detect)
    specification = specify(
        workload=workload,
        space=space,
        objective=objective,
        limits=[parse_limit(each) for each in limit or ()],
        strategy=strategy,
        baseline=baseline,
        drop_unknown=drop_unknown,
        trials=trials,
        minutes=minutes,
        memory=None if memory is None else parse_bytes(memory, field="--memory"),
        scale=scale,
        confirm_scale=confirm_scale,
        seed=seed,
        search=SearchSettings(
            samples=samples,
            top=top,
            over=tuple(names_of(over, field="--over")),
            generations=generations,
            fitness=fitness,
            stop_early=stop_early,
            cutoff=cutoff,
            detect=change,
            detect_metric=metric,
        ),
        db_bench=db_bench,
        host_kind=host_kind,
        start_from=read_starts(start_from or ()),
        warm_start=parse_warm_start(warm_start),
    )
    require_folder(out)
    engine = make_engine(db)
    try:
        upgrade(engine)
        place = place_of(scheduler, certificates, load_settings())
        finished = _run(engine, specification, place, resume=resume, out=out)
        if finished is None:
            return Exit.INTERRUPTED
        return _tell(finished, out, as_json=as_json)
    finally:
        engine.dispose()


def _run(
    engine: Engine, specification: Specification, place: Place, *, resume: bool, out: Path
) -> Finished | None:
    """The job's outcome; None when it was interrupted."""
    from rich.console import Console

    from cli.tuning.run_here import run_here, tell_warnings, terminate_like_interrupt
    from db.jobs.job_store import Store
    from db.leases.lease import LeaseHeld
    from db.schema.job_row import JobState
    from jobs.execution.lease_keeper import JobCancelled
    from jobs.results.finished import finished_job
    from jobs.specification.warm_start import require_job
    from sampler.common.errors import InputError
    from sampler.runner.settings import load_settings

    console = Console(stderr=True)
    store = Store(engine)
    earlier = store.newest_job_with(specification.digest()) if resume else None
    if resume and earlier is None:
        _say(console, _nothing_to_resume(store))
    if earlier and earlier.state is JobState.DONE:
        console.print(f"job {earlier.id} is done; this is what it found", highlight=False)
        return finished_job(engine, earlier.id)
    if earlier is None:  # what an earlier one has learned from is kept with it
        require_job(store, specification.warm_start)
    settings = load_settings()
    terminate_like_interrupt()
    try:
        assembly = place.assemble(
            specification, told=lambda what: _say(console, what), check=lambda: None
        )
    except KeyboardInterrupt:
        complain("interrupted before the job began")
        return None
    tell_warnings(console, assembly)
    job_id = (
        earlier.id
        if earlier
        else store.create_job(specification.document(), specification.digest())
    )
    console.print(
        f"job {job_id}, files go to {out}", markup=False, highlight=False, soft_wrap=True
    )
    try:
        return run_here(
            engine, job_id, specification, assembly, settings, console=console, place=place
        )
    except LeaseHeld as held:
        raise InputError("--resume", f"{held}") from None
    except JobCancelled as cancelled:
        complain(f"{cancelled}. The same command with --resume goes on")
        return None
    except KeyboardInterrupt:
        complain(f"interrupted; {_left(store, job_id)}. The same command with --resume goes on")
        return None


def _left(store: Store, job_id: int) -> str:
    """Notes of a job that nobody runs it any more, and says how much of it is there."""
    from db.leases.lease import LeaseHeld
    from jobs.execution.patience import is_away
    from jobs.queue.lifecycle import give_up
    from sampler.runner.outcome import TrialState

    try:
        with suppress(LeaseHeld, KeyError):  # another's by now, or deleted
            give_up(store.engine, job_id)
        counts = store.count_trials(job_id)
    except Exception as error:
        if not is_away(error, store.engine):
            raise
        return f"the database does not answer, and keeps what it had of job {job_id}"
    kept = sum(counts.values()) - counts.get(TrialState.LOST, 0)
    return f"{kept} trials of job {job_id} are kept"


def _nothing_to_resume(store: Store) -> str:
    newest = store.jobs(limit=1)
    there = "there is no job yet"
    if newest:
        row = newest[0]
        there = (
            f"the newest is job {row.id}, {row.specification['workload']['name']}, "
            f"{row.state.value}"
        )
    return f"--resume: no job has just these options ({there}); a new one begins"


def _say(console: Console, what: str) -> None:
    console.print(what, markup=False, highlight=False, soft_wrap=True)


def _tell(finished: Finished, out: Path, *, as_json: bool) -> int:
    """Writes the files and prints what was found."""
    import json

    from rich.console import Console

    from cli.render.outcome_table import print_outcome
    from jobs.report.artifacts import REFUSED, write_artifacts
    from sampler.common.errors import InputError

    try:
        written = write_artifacts(finished, out)
    except InputError as error:
        mend = "the same command with --resume writes the files"
        raise InputError(error.field, f"{error.problem}, and {mend}") from None
    if as_json:
        sys.stdout.write(json.dumps(finished.result, allow_nan=False) + "\n")
    console = Console(stderr=as_json)
    print_outcome(console, finished.result)
    names = " ".join(path.name for path in written)
    console.print(f"Written to {out}: {names}", markup=False, highlight=False, soft_wrap=True)
    refused = (finished.result.get("export") or {}).get("refused")
    if refused:
        complain(f"{refused}. All that was measured is kept; the file is {out / REFUSED}")
        return Exit.TOOL_FAILED
    return Exit.DONE if finished.result["best"] else Exit.ANSWER_IS_NO
