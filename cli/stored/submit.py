"""`rocktune submit`: asks a service for a job."""

from __future__ import annotations

import json
import sys
import time
import uuid
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.client.answers import LostError, UnavailableError
from cli.client.where import Url
from cli.options.exits import Exit
from cli.options.start_options import DropUnknown, StartFrom, WarmStart
from cli.options.strategy_option import Strategy
from optimizer.strategies.registry import DEFAULT_STRATEGY

if TYPE_CHECKING:
    from cli.client.remote import Remote

EXAMPLES = """
Examples:

  export ROCKTUNE_URL=http://bench:8080 ROCKTUNE_TOKEN=...

  rocktune submit --workload load --trials 400     prints the job's number

  rocktune submit --space mine.toml --watch        and shows how it goes

  rocktune submit --baseline /etc/my/OPTIONS       to beat what you run today
"""
# What a restart of the service takes.
_AGAIN_AFTER_SECONDS = (0.5, 1.0, 2.0, 4.0, 8.0)


def submit(
    workload: Annotated[
        str, typer.Option(help="A name: a shipped workload's, or one of the service's own.")
    ] = "load-quick",
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
        typer.Option(help="The RocksDB build that measures, by the name that its hosts know."),
    ] = None,
    host_kind: Annotated[
        str | None, typer.Option(help="The kind of hosts that it is for; else any.")
    ] = None,
    priority: Annotated[int, typer.Option(help="Of queued jobs the highest goes first.")] = 0,
    watch: Annotated[bool, typer.Option("--watch", help="Show how it goes, to its end.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="The job's document alone on standard output.")
    ] = False,
    url: Url = None,
) -> int:
    """Asks a service for a tuning job, and prints the job's number.

    Exit status: 0 the service has it, 2 bad input, 1 the service failed or
    cannot be reached; with --watch that of `rocktune show`.
    """
    from cli.client.request import request_body
    from cli.client.where import opened, require_service
    from cli.options.name_list import names_of
    from jobs.specification.start_from import sent_starts
    from jobs.specification.warm_start_text import parse_warm_start

    require_service(url)
    body = request_body(
        workload=workload,
        space=space,
        objective=objective,
        baseline=baseline,
        drop_unknown=drop_unknown or None,
        limits=limit or None,
        strategy=strategy,
        trials=trials,
        minutes=minutes,
        memory=memory,
        scale=scale,
        confirm_scale=confirm_scale,
        seed=seed,
        samples=samples,
        top=top,
        over=names_of(over, field="--over") or None,
        stop_early=stop_early,
        generations=generations,
        fitness=fitness,
        cutoff=cutoff,
        detect=detect,
        start_from=sent_starts(start_from or ()),
        warm_start=parse_warm_start(warm_start),
        db_bench=db_bench,
        host_kind=host_kind,
        priority=priority,
    )
    with opened(url, None) as remote:
        document = _submitted(remote, body)
        return _tell(remote, document, watch=watch, as_json=as_json)


def _submitted(remote: Remote, body: dict[str, Any]) -> Any:
    """The job, made once: what is sent again has the same key."""
    key = uuid.uuid4().hex
    waits = iter(_AGAIN_AFTER_SECONDS)
    lost = False
    while True:
        try:
            return remote.post("jobs", body, key=key)
        except UnavailableError as error:
            # Before anything was sent there is nothing to make good.
            lost = lost or isinstance(error, LostError)
            wait = next(waits, None)
            if not lost:
                raise
            if wait is None:
                said = f"{error}; `rocktune jobs` tells whether the job was made"
                raise UnavailableError(said) from None
            time.sleep(wait)


def _tell(remote: Remote, document: Any, *, watch: bool, as_json: bool) -> int:
    from api.schemas.job_schemas import JobPublic
    from cli.client.answers import understood
    from cli.render.screen import screen
    from cli.stored.show import show_job

    job = understood(JobPublic, document)
    if as_json and not watch:
        sys.stdout.write(json.dumps(document) + "\n")
        return Exit.DONE
    console = screen(stderr=as_json)
    console.print(f"job {job.id} is {job.state}: {job.why}", soft_wrap=True)
    if watch:
        return show_job(remote, job.id, follow=True, as_json=as_json)
    console.print(f"Watch it with: rocktune show {job.id}", soft_wrap=True)
    return Exit.DONE
