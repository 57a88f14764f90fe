"""`rocktune profile`: what a database of the user's does, and the load that does the same."""

from pathlib import Path
from typing import Annotated

import typer

from cli.options.exits import Exit
from cli.options.job_options import ColumnFamily, DbBench, Scale
from cli.render.profile_screen import show_fidelity, show_load, show_profile
from cli.render.screen import (
    TextConsole,
    json_alone,
    print_json,
    say,
    screen,
    told_by_tenths,
    told_once,
)
from jobs.profile.fidelity import check_load
from jobs.profile.profiled import load_name, profiled, require_outside
from sampler.runner.settings import load_settings

EXAMPLES = """
Examples:
  rocktune profile /var/lib/mydb                        a database's folder, open or not
  rocktune profile LOG --column-family users            a LOG alone, one of its families
  rocktune profile /var/lib/mydb --check                runs the load, and compares
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
    as_json: Annotated[bool, json_alone("The profile")] = False,
) -> int:
    """Reads a database, its LOG or a trace, and writes a workload that does the same.

    Exit status: 0 written (with --check: and nothing that decides differs, or is told),
    3 the workload does not behave like the database, 2 bad input.
    """
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
    if check:
        settings = load_settings()
        checked = check_load(
            found.profile,
            found.family,
            workload,
            settings,
            baseline=options if found.profile.options is not None else None,
            db_bench=db_bench,
            waiting=told_once(progress),
        )
        document["fidelity"], fits = checked.document(), checked.fits
        if not as_json:
            show_fidelity(console, checked)
    if as_json:
        print_json(document)
    return Exit.DONE if fits else Exit.ANSWER_IS_NO
