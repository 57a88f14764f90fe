"""`rocktune tune --like`: a profile and its check before the job, and the job's settings."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cli.render.experiment_screen import show_told
from cli.render.profile_screen import show_load, show_profile
from cli.render.screen import TextConsole, say, screen, told_by_tenths, told_once
from db.schema.job_row import JobKind
from jobs.experiments.experiment import NOTHING_KEPT, RunsObserver
from jobs.experiments.fidelity import fidelity_check
from jobs.profile.profiled import OPTIONS, load_name, profiled, require_outside
from sampler.common.errors import InputError
from sampler.profile.reading import read_profile
from sampler.runner.settings import load_settings
from sampler.workload.workload_file import load_workload

_TAKEN = {"workload": "load-quick", "baseline": None}


def asked_like(
    asked: Mapping[str, Any], like: Path, out: Path, *, resume: bool, check: bool
) -> dict[str, Any]:
    """The settings of a job that tunes a database's own load from its own OPTIONS.

    Both are written into ``out``. A job that goes on takes what is there: the LOG of a database
    in use has grown since.

    Raises:
        InputError: ``like`` cannot be profiled, or settings contradict it.
    """
    for name, usual in _TAKEN.items():
        if asked.get(name, usual) != usual:
            raise InputError(f"--{name}", "is taken from the database with --like; leave it out")
    require_outside(like, out)
    workload, options = out / f"{load_name(like)}.toml", out / OPTIONS
    console = TextConsole(stderr=True)
    if resume and workload.exists():
        say(console, f"--resume: takes the profile that is in {workload}")
        family = asked.get("column_family") or read_profile(like).busiest()
        return _settings(asked, workload, options, family)
    found = profiled(
        like,
        column_family=asked.get("column_family"),
        scale=asked.get("scale"),
        told=told_by_tenths(console),
    )
    options.unlink(missing_ok=True)
    found.write(workload, options)
    shown = screen(stderr=True)
    show_profile(shown, found.profile)
    show_load(shown, found.chosen, found.family.name, found.others)
    if check:
        experiment = fidelity_check(
            found.profile,
            found.family,
            load_workload(str(workload)),
            load_settings(),
            options=found.profile.options,
            db_bench=asked.get("db_bench"),
        )
        checked = experiment.measure(NOTHING_KEPT, RunsObserver(waiting=told_once(console)))
        show_told(shown, JobKind.PROFILE_CHECK, checked.document)
        if not checked.document["fits"]:
            say(
                console,
                f"Tuning goes on with it. To correct it, copy {workload}, edit the copy, and tune "
                f"with --workload COPY" + (f" --baseline {options}" if options.exists() else ""),
            )
    longer = found.long_enough()
    if longer is not found:
        say(console, f"Not expressed: {longer.chosen.not_expressed[0]}")
        longer.write(workload)
    return _settings(asked, workload, options, found.family.name)


def _settings(
    asked: Mapping[str, Any], workload: Path, options: Path, family: str | None
) -> dict[str, Any]:
    # A family is one of an OPTIONS file; without one the workload alone is of it.
    found = {n: v for n, v in asked.items() if n != "column_family"} | {"workload": str(workload)}
    if options.exists():
        found |= {"baseline": str(options), "column_family": family, "drop_unknown": True}
    return found
