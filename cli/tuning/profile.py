"""`rocktune profile`: what a database of the user's does, and the load that does the same.

`rocktune tune --like` begins with it, too.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from rich.console import Console
from rich.table import Table
from typer import Argument, Option

from cli.client.remote import Url, opened, require_service
from cli.options.exits import Exit
from cli.options.job_options import DbBench, Scale
from cli.render.outcome_screen import show_told
from cli.render.screen import (
    TextConsole,
    bare_table,
    json_alone,
    print_json,
    say,
    screen,
    told_by_tenths,
    told_on_change,
)
from cli.render.submitting import Replace, Submit, require_submitted, submit_experiment
from db.schema.job_row import JobKind
from jobs.experiments.experiment import KeptRuns, RunsObserver
from jobs.experiments.fidelity import fidelity_check
from jobs.profile import OPTIONS, Profiled, load_name, profiled, require_outside
from jobs.results.figures import figure_rows
from jobs.results.output_folder import require_folder
from jobs.specification.named_files import as_written, sent_workload
from sampler.bench.settings import load_settings
from sampler.common.errors import InputError
from sampler.profile.profile import DatabaseProfile, Source, family_document, span_words
from sampler.profile.reading import read_profile
from sampler.workload.workload_file import load_workload

EXAMPLES = """
Examples:
  rocktune profile /var/lib/mydb                        the folder of a database, in use or not
  rocktune profile LOG --column-family users            a LOG alone, one column family
  rocktune profile /var/lib/mydb --check                runs the load and compares both
  rocktune profile /var/lib/mydb --check --submit       uploads the load; a service checks it
  rocktune profile trace.bin --out my-load.toml         a trace by DB::StartTrace
  rocktune profile trace.bin --replay                   a load that replays the trace
  rocktune tune --workload mydb.toml --baseline mydb.OPTIONS    tunes the load that was written
"""
_TAKEN = {"workload": "load-quick", "baseline": None}  # by `tune --like` of the database


def profile_command(
    path: Annotated[
        Path, Argument(help="Folder of a database, its LOG, or a trace. Opened for reading only.")
    ],
    out: Annotated[
        Path | None, Option(help="Workload file to write. Default: the folder's name, with .toml.")
    ] = None,
    check: Annotated[
        bool, Option("--check", help="Run the workload 2 to 5 times; compare with the database.")
    ] = False,
    replay: Annotated[
        bool, Option("--replay", help="Write a workload that replays the trace.")
    ] = False,
    column_family: Annotated[
        str | None, Option(help="Column family to imitate. Default: the most written one.")
    ] = None,
    scale: Scale = None,
    db_bench: DbBench = None,
    submit: Submit = False,
    replace: Replace = False,
    url: Url = None,
    as_json: Annotated[bool, json_alone("the profile as JSON")] = False,
) -> int:
    """Writes a workload that imitates a database, from its folder, LOG or trace.

    Exit status: 0 written (with --check: write amplification and tree agree, or the input
    has neither), 3 the workload does not behave like the database, or its runs cannot tell,
    2 bad input.
    """
    if submit and not check:
        raise InputError("--submit", "works only with --check, which the job runs; add it")
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
    options = workload.with_suffix(".OPTIONS")
    found.require_unwritten(workload, options, named=out is not None)
    found.write(workload, options)
    beside = f" and {options}" if found.profile.options is not None else ""
    document = found.document(workload)
    console = screen(stderr=as_json)
    if not as_json:
        _show(console, found)
    say(progress, f"Written: {workload}{beside}")
    if db_bench is None and not submit:
        say(progress, *found.build_lines(load_settings()))
    fits = True
    if submit:
        load = sent_workload(str(workload), as_written)
        known = {"profile": document, "baseline_options": found.profile.options}
        with opened(url, None) as remote:
            name = remote.upload(load, replace=replace, field="PATH", **known)
        asked = {"workload": name, "db_bench": db_bench}
        return submit_experiment(JobKind.PROFILE_CHECK, asked, url=url, as_json=as_json)
    if check:
        document["fidelity"] = _fidelity(found, workload, db_bench, progress)
        fits = bool(document["fidelity"]["fits"])
        if not as_json:
            show_told(console, JobKind.PROFILE_CHECK, document["fidelity"])
    if as_json:
        print_json(document)
    return Exit.DONE if fits else Exit.ANSWER_IS_NO


def asked_like(
    asked: Mapping[str, Any], like: Path, out: Path, *, resume: bool, check: bool
) -> tuple[dict[str, Any], str | None]:
    """The settings of a job that tunes a database's own load from its own OPTIONS; its version.

    Both are written into ``out``. A job that goes on takes what is there: the LOG of a database
    in use has grown since.

    Raises:
        InputError: ``like`` cannot be profiled, or settings contradict it.
    """
    require_outside(like, out)  # before a folder is made
    require_folder(out)
    for name, usual in _TAKEN.items():
        if asked.get(name, usual) != usual:
            raise InputError(f"--{name}", "comes from the database with --like; leave it out")
    workload, options = out / f"{load_name(like)}.toml", out / OPTIONS
    console, family = TextConsole(stderr=True), asked.get("column_family")
    if resume and workload.exists():
        say(console, f"--resume: using the profile in {workload}")
        if family:  # the version was asked for when the job began
            return _settings(asked, workload, options, family), None
        profile = read_profile(like)
        return _settings(asked, workload, options, profile.busiest()), profile.version
    told = told_by_tenths(console)
    found = profiled(like, column_family=family, scale=asked.get("scale"), told=told)
    options.unlink(missing_ok=True)
    found.write(workload, options)
    shown = screen(stderr=True)
    _show(shown, found)
    if check:
        fidelity = _fidelity(found, workload, asked.get("db_bench"), console)
        show_told(shown, JobKind.PROFILE_CHECK, fidelity)
        if not fidelity["fits"]:
            say(
                console,
                f"Tuning continues with this load. To correct it, copy {workload}, edit the copy, "
                "and tune with --workload COPY"
                + (f" --baseline {options}" if options.exists() else ""),
            )
    longer = found.long_enough()
    if longer is not found:
        say(console, f"Not reproduced: {longer.chosen.not_expressed[0]}")
        longer.write(workload)
    return _settings(asked, workload, options, found.family.name), found.profile.version


def _settings(
    asked: Mapping[str, Any], workload: Path, options: Path, family: str | None
) -> dict[str, Any]:
    # A family is one of an OPTIONS file; without one the workload alone is of it.
    found = {n: v for n, v in asked.items() if n != "column_family"} | {"workload": str(workload)}
    if options.exists():
        found |= {"baseline": str(options), "column_family": family, "drop_unknown": True}
    return found


def _fidelity(
    found: Profiled, workload: Path, db_bench: str | None, console: Console
) -> Mapping[str, Any]:
    """Runs the load, and lays it beside the database."""
    load, options = load_workload(str(workload)), found.profile.options
    settings = load_settings()
    experiment = fidelity_check(
        found.profile, found.family, load, settings, options=options, db_bench=db_bench
    )
    observer = RunsObserver(
        waiting=told_on_change(console),
        starts=lambda _case, _side, number: say(
            console, f"Check: run {number} of at most {experiment.total}"
        ),
    )
    return experiment.measure(settings, KeptRuns(), observer).document


def _show(console: Console, found: Profiled) -> None:
    """A table a family: each figure, how sure it is and its source; then the load."""
    profile, load = found.profile, found.chosen.workload
    of = f"RocksDB {profile.version}" if profile.version else "RocksDB, version unknown"
    span = f", {span_words(profile.seconds)}" if profile.seconds else ""
    say(console, f"{of}{span}, column families: {len(profile.families)}")
    database = [*_of_database(profile)]
    if database:
        several = ", all column families together" if len(profile.families) > 1 else ""
        say(console, "", f"Database{several}")
        console.print(_table(database, profile.sources))
    for family in profile.families:
        say(console, "", f"Column family {family.name}")
        total = sum(family.operations.values())
        rows = (
            (field, what, f"{total:,.0f}: {value}" if field == "operations" else value)
            for field, what, value in figure_rows(family_document(family))
        )
        console.print(_table(rows, family.sources))
    say(console, *(f"Unknown: {each.what}. To find out: {each.how}" for each in profile.unknown))
    beside = f". Not profiled: {', '.join(found.others)}" if found.others else ""
    say(console, "", f"Profiled for tuning: column family {found.family.name}{beside}")
    names = ", ".join(dict.fromkeys(load.benchmarks))
    say(console, f"Workload: {names}, {load.num:,} keys, scale 1/{load.scale}")
    say(console, *(f"Not reproduced: {line}" for line in found.chosen.not_expressed))


def _table(rows: Iterable[tuple[str, str, str]], sources: Mapping[str, Source]) -> Table:
    table = bare_table(("figure",), ("value",), ("confidence", "source"))
    for field, what, value in rows:
        source = sources.get(field)
        sure, where = (source.sure, source.where) if source else ("", "")
        table.add_row(what, value, sure, where)
    return table


def _of_database(profile: DatabaseProfile) -> Iterator[tuple[str, str, str]]:
    """Field, name and value of what is known of all families together, as RocksDB counts it."""
    counted = {name: profile.operations.get(name) for name in ("get", "multiget", "seek")}
    reads = [f"{count:,.0f} {name}s" for name, count in counted.items() if count]
    if len(profile.families) > 1 and reads:
        yield "operations", "reads", ", ".join(reads)
        if profile.hit_rate is not None:
            yield "hit_rate", "gets that find a key", f"{100 * profile.hit_rate:.3g}%"
        if profile.scan_length is not None:
            yield "scan_length", "keys per scan", f"{profile.scan_length:.4g}"
    if profile.batch_size is not None:
        yield "batch_size", "keys per write", f"{profile.batch_size:.4g}"
    if profile.ingest_rate is not None:
        peak = profile.ingest_peak
        told = "" if peak is None else f", peak {peak / 2**20:.4g}"
        yield (
            "ingest_rate",
            "user writes",
            f"{profile.ingest_rate / 2**20:.4g} MiB/s{told}",
        )
    if profile.stall_percent is not None:
        yield "stall_percent", "time stalled since the opening", f"{profile.stall_percent:.2g}%"
