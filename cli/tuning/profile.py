"""`rocktune profile`: what a database of the user's does, and the load that does the same."""

from pathlib import Path
from typing import Annotated

import typer

from cli.client.where import Url, opened, require_service
from cli.options.exits import Exit
from cli.options.job_options import ColumnFamily, DbBench, Scale
from cli.render.experiment_screen import show_told
from cli.render.profile_screen import show_load, show_profile
from cli.render.screen import (
    TextConsole,
    json_alone,
    print_json,
    say,
    screen,
    told_by_tenths,
    told_once,
)
from cli.render.submitting import Replace, Submit, require_submitted, submit_experiment
from db.schema.job_row import JobKind
from jobs.experiments.experiment import NOTHING_KEPT, RunsObserver
from jobs.experiments.fidelity import fidelity_check
from jobs.profile.profiled import load_name, profiled, require_outside
from jobs.specification.named_files import as_written, sent_workload
from sampler.common.errors import InputError
from sampler.runner.settings import load_settings
from sampler.workload.workload_file import load_workload

EXAMPLES = """
Examples:
  rocktune profile /var/lib/mydb                        a database's folder, open or not
  rocktune profile LOG --column-family users            a LOG alone, one of its families
  rocktune profile /var/lib/mydb --check                runs the load, and compares
  rocktune profile /var/lib/mydb --check --submit       uploads it; a service runs the check
  rocktune profile trace.bin --out my-load.toml         what DB::StartTrace recorded
  rocktune profile trace.bin --replay                   a load that replays the trace itself
  rocktune tune --workload mydb.toml --baseline mydb.OPTIONS    tunes what was written
"""


def profile_command(
    path: Annotated[
        Path, typer.Argument(help="A database's folder, its LOG, or a trace; it is read only.")
    ],
    out: Annotated[
        Path | None, typer.Option(help="The workload file. [default: the folder's name.toml]")
    ] = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Run the workload once, and compare both."),
    ] = False,
    replay: Annotated[
        bool,
        typer.Option("--replay", help="Of a trace: a workload that replays it."),
    ] = False,
    column_family: ColumnFamily = None,
    scale: Scale = None,
    db_bench: DbBench = None,
    submit: Submit = False,
    replace: Replace = False,
    url: Url = None,
    as_json: Annotated[bool, json_alone("The profile")] = False,
) -> int:
    """Reads a database, its LOG or a trace, and writes a workload that does the same.

    Exit status: 0 written (with --check: and nothing that decides differs, or is told),
    3 the workload does not behave like the database, 2 bad input.
    """
    if submit and not check:
        raise InputError("--submit", "a job runs the workload; give --check as well")
    require_submitted(replace, submit)
    if submit:
        require_service(url)
    progress = TextConsole(stderr=True)
    workload = out or Path(f"{load_name(path)}.toml")
    require_outside(path, workload)
    found = profiled(
        path,
        column_family=column_family,
        scale=scale,
        replay=replay,
        told=told_by_tenths(progress),
    )
    if out is None:
        found.require_unwritten(workload)
    options = workload.with_suffix(".OPTIONS")
    found.write(workload, options)
    beside = f" and {options}" if found.profile.options is not None else ""
    document = found.document(workload)
    console = screen(stderr=as_json)
    if not as_json:
        show_profile(console, found.profile)
        show_load(console, found.chosen, found.family.name, found.others)
    say(progress, f"Written: {workload}{beside}")
    fits = True
    if submit:
        load = sent_workload(str(workload), as_written)
        known = {"profile": document, "baseline_options": found.profile.options}
        with opened(url, None) as remote:
            name = remote.upload(load, replace=replace, field="PATH", **known)
        asked = {"workload": name, "db_bench": db_bench}
        return submit_experiment(JobKind.PROFILE_CHECK, asked, url=url, as_json=as_json)
    if check:
        experiment = fidelity_check(
            found.profile,
            found.family,
            load_workload(str(workload)),
            load_settings(),
            options=found.profile.options,
            db_bench=db_bench,
        )
        checked = experiment.measure(NOTHING_KEPT, RunsObserver(waiting=told_once(progress)))
        document["fidelity"], fits = checked.document, checked.document["fits"]
        if not as_json:
            show_told(console, JobKind.PROFILE_CHECK, checked.document)
    if as_json:
        print_json(document)
    return Exit.DONE if fits else Exit.ANSWER_IS_NO
