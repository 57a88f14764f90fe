"""`rocktune upgrade-check`: is the new RocksDB as good as the old one, with what I run?"""

import signal
from pathlib import Path
from typing import Annotated

import typer

from cli.options.exits import Exit, complain
from cli.options.job_options import (
    ColumnFamily,
    DropUnknown,
    ResumeRuns,
    Scale,
    Workload,
)
from cli.render.experiment_screen import RunsShown, show_builds, show_differences, show_told
from cli.render.screen import json_alone, print_json, screen
from cli.render.submitting import submittable
from db.schema.job_row import JobKind
from jobs.experiments.experiment import measure_in_folder
from jobs.experiments.upgrade.check import build_differences, find_builds, upgrade_check
from jobs.specification.named_files import specify
from sampler.common.errors import InputError
from sampler.options.normal_form import read_user_options
from sampler.runner.settings import load_settings

EXAMPLES = """
Examples:
  rocktune upgrade-check default /opt/10.2/db_bench      by their names or paths
  rocktune upgrade-check 7.8 10.2 --options /etc/my/OPTIONS    with the file that you run
  rocktune upgrade-check 7.8 10.2 --pairs 0              only what can be told without a load
  rocktune upgrade-check 7.8 10.2 --configurations 5 --pairs 10
  rocktune upgrade-check 7.8 10.2 --resume               goes on where it was stopped
  rocktune upgrade-check default 10.2 --submit           as a job of a service
"""
_BUILD = "A name of ROCKTUNE_BUILDS, `default`, or the path of a db_bench."


@submittable(JobKind.UPGRADE_CHECK)
def upgrade_check_command(
    old: Annotated[str, typer.Argument(help=_BUILD)],
    new: Annotated[str, typer.Argument(help=_BUILD)],
    workload: Workload = "load-quick",
    options: Annotated[
        Path | None, typer.Option(help="The OPTIONS file that you run with, to be tried as well.")
    ] = None,
    pairs: Annotated[
        int, typer.Option(help="Runs of each configuration on either build; 0: no load.", min=0)
    ] = 7,
    configurations: Annotated[
        int, typer.Option(help="Random configurations of --space as well.", min=0)
    ] = 0,
    space: Annotated[str, typer.Option(help="Where those are drawn from.")] = "default",
    column_family: ColumnFamily = None,
    drop_unknown: DropUnknown = False,
    scale: Scale = None,
    seed: Annotated[int, typer.Option(help="Decides the draws and the order of the runs.")] = 1,
    out: Annotated[Path, typer.Option(help="Receives every run, and upgrade.json.")] = Path(
        "rocktune-upgrade"
    ),
    resume: ResumeRuns = False,
    as_json: Annotated[bool, json_alone("upgrade.json")] = False,
) -> int:
    """Compares two RocksDB builds: their defaults, and the same configurations measured on both.

    Exit status: 0 nothing got significantly worse, 3 something did (or the new build
    refuses the OPTIONS file), 2 bad input, 1 the tool failed, 130 interrupted (go on
    with --resume).
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if options is not None:
        _require_options(options)
    specification = specify(
        workload=workload,
        space=space,
        baseline=None if options is None else str(options.absolute()),
        column_family=column_family,
        drop_unknown=drop_unknown,
        scale=scale,
        seed=seed,
    )
    settings = load_settings()
    answer = screen(stderr=as_json)
    shown = RunsShown(screen(stderr=True), run_of="{case} on the {side} build")
    try:
        builds = find_builds(old, new, settings)
        show_builds(answer, builds)
        found = build_differences(builds, specification)
        show_differences(answer, found)
        experiment = upgrade_check(
            specification, builds, found, settings, pairs=pairs, draws=configurations
        )
        checked = measure_in_folder(experiment, out, resume=resume, observer=shown.observer)
    except KeyboardInterrupt:
        complain(f"interrupted; the runs are in {out}. The same command with --resume goes on")
        return Exit.INTERRUPTED
    show_told(answer, JobKind.UPGRADE_CHECK, checked.document)
    if as_json:
        print_json(checked.document)
    return Exit.ANSWER_IS_NO if checked.document["worse"] else Exit.DONE


def _require_options(path: Path) -> None:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise InputError("--options", f"{str(path)!r} is no OPTIONS file to read") from None
    read_user_options(text, name=f"--options {path}")
