"""`rocktune space`, `workloads`, `objectives`, `starts`, `guide`: what a job can begin with."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from rich.table import Table
from typer import Argument, Option, echo

from cli.options.exits import complain
from cli.options.job_options import request_options
from cli.render.screen import bare_table, json_alone, print_json, screen
from jobs.results.output_folder import require_folder
from optimizer.objective.objective import limit_words
from optimizer.objective.objective_file import SHIPPED as OBJECTIVES
from optimizer.objective.objective_file import load_objective, objective_text
from sampler.common.atomic_write import write_output
from sampler.common.documents import parse_toml
from sampler.common.errors import InputError
from sampler.common.text import format_decimal
from sampler.rocksdb.parameters import Parameter
from sampler.space.kioxia_guide import (
    COUNTERPARTS,
    PRESET,
    Guide,
    GuideRequest,
    compute_guide,
    guide_document,
    read_planned,
    rocksdb_values,
    whole,
)
from sampler.space.space_file import SHIPPED as SPACES
from sampler.space.space_file import load_space, space_text
from sampler.space.starting_points import (
    GUIDE,
    GUIDE_HELP,
    GUIDE_SOURCE,
    handfuls,
    known_points,
    point_names,
)
from sampler.workload.workload_file import SHIPPED as WORKLOADS
from sampler.workload.workload_file import load_workload, workload_document, workload_text

SPACE_EXAMPLES = """
Examples:
  rocktune space                              lists all spaces
  rocktune space default                      its parameters and their ranges
  rocktune space default --toml > mine.toml   a file to edit and tune with
"""
STARTS_EXAMPLES = """
Examples:
  rocktune starts                         lists all, by class of load
  rocktune starts writing-leveled         its values with their sources
  rocktune starts --for mixed-quick       what a job of this load measures first
"""
WORKLOADS_EXAMPLES = """
Example:
  rocktune workloads load --toml > mine.toml
"""
_Name = Annotated[str | None, Argument(help="Name or TOML file. Default: list all.")]
_For = Annotated[
    str | None,
    Option("--for", metavar="WORKLOAD", help="Show what a job of this workload measures first."),
]
_CLASSES = {
    "writing": "for loads that write",
    "mixed": "for loads that read and write",
    "reading": "for loads that read",
    "scans": "for loads that scan",
    "space": "where space counts most",
}
_Toml = Annotated[bool, Option("--toml", help="Print the TOML file.")]


def space_command(name: _Name = None, toml: _Toml = False) -> None:
    """Lists the parameter spaces, or shows one."""
    if name is None:
        texts = {name: parse_toml(space_text(name), field=name) for name in SPACES}
        _list({name: text["help"] for name, text in texts.items()})
        return
    chosen = load_space(name)
    if toml:
        echo(space_text(name), nl=False)
        return

    def span(parameter: Parameter) -> str:
        if parameter.values:
            shown = " | ".join(str(value).lower() for value in parameter.values)
        else:
            shown = f"{parameter.low:.12g} to {parameter.high:.12g}"
            if parameter.multiple_of:
                shown += f" times {parameter.multiple_of}"
        return shown + "".join(f", or {value}" for value in parameter.special)

    for parameter in chosen.parameters:
        default = str(chosen.context[parameter.name]).lower()
        swept = ", ".join(str(value).lower() for value in parameter.sweep)
        swept = f"; swept: {swept}" if swept else ""
        echo(f"{parameter.name}: {span(parameter)} (default {default}){swept}")
        echo(f"    {parameter.help}")
    for fixed, value in chosen.fixed.items():
        echo(f"{fixed}: always {str(value).lower()}")


def starts_command(name: _Name = None, load: _For = None) -> None:
    """Lists the starting points for --start-from, or shows one with its sources."""
    points = known_points()
    if load is not None:
        if name is not None:
            raise InputError("--for", "give either a name or --for")
        _begins(load)
        return
    if name is None:
        for kind, names in handfuls().items():
            echo(f"{_CLASSES[kind]}: {', '.join(names)}")
        echo()
        _list({**{each: point.help for each, point in points.items()}, GUIDE: GUIDE_HELP})
        return
    if name == GUIDE:
        echo(f"{GUIDE_HELP}. Source: {GUIDE_SOURCE}.")
        return
    if name not in points:
        raise InputError("NAME", f"{name!r} is not one of {', '.join(point_names())}")
    point = points[name]
    echo(f"{point.help}. Source: {point.source}.")
    values = {**point.values, **point.rules}
    for parameter in point.sources or values:  # in the order of the catalogue
        value = values[parameter]
        echo(f"{parameter}: {str(value).lower() if isinstance(value, bool) else value}")
        if source := point.sources.get(parameter):
            echo(f"    {source}")


def _begins(load: str) -> None:
    """What a job of a workload measures right after its baseline, in order, as it would set it."""
    from jobs.specification.named_files import specify
    from jobs.specification.resolved_job import resolve

    problem = resolve(specify(workload=load), None).problem
    default = problem.space.default_configuration()
    for start in problem.starts:
        found = problem.configuration(start.point)
        echo(start.name)
        for parameter, value in found.items():
            if value != default.get(parameter):
                echo(f"    {parameter}: {str(value).lower()}")


def workloads_command(name: _Name = None, toml: _Toml = False) -> None:
    """Lists the workloads, or shows one."""
    if name is None:
        _list({name: load_workload(name).help for name in WORKLOADS})
        return
    document = workload_document(load_workload(name))
    if toml:
        echo(workload_text(name), nl=False)
        return
    for field, value in document.items():
        echo(f"{field}: {value}")


def objectives_command(name: _Name = None, toml: _Toml = False) -> None:
    """Lists the objectives, or shows one."""
    if name is None:
        _list({name: load_objective(name).help for name in OBJECTIVES})
        return
    objective = load_objective(name)
    if toml:
        echo(objective_text(name), nl=False)
        return
    echo(objective.help)
    for term in objective.terms:
        echo(f"{term.metric}: {term.direction}, weight {term.weight:g}")
    for limit in objective.limits:
        echo(f"limit: {limit_words(limit)}")


def _list(helps: Mapping[str, str]) -> None:
    """A name a line, what it is beside it, all in one column."""
    width = max(map(len, helps))
    for name, text in helps.items():
        echo(f"{name:{width}}  {text}")


GUIDE_EXAMPLES = """
Examples:
  rocktune guide --keys 8e9 --key-size 20 --value-size 800 --cpu-threads 48 --memory 128GB
  rocktune guide --keys 1e9 --key-size 16 --value-size 400 --cpu-threads 16 --memory 64GiB --out guided
  rocktune guide --keys 8e9 --key-size 20 --value-size 800 --cpu-threads 48 --memory 128GB --json
  rocktune tune --space blob --start-from guide       starts a search from these options
"""  # noqa: E501
_SIZES = ("target_file_size_base", "max_bytes_for_level_base")


@request_options(GuideRequest, {})
def guide_command(
    asked: dict[str, Any],
    out: Annotated[
        Path | None,
        Option(help="Folder for OPTIONS.trocksdb.ini and OPTIONS.rocksdb.ini."),
    ] = None,
    as_json: Annotated[bool, json_alone("one JSON document")] = False,
) -> None:
    """Computes options from the size of a database, by KIOXIA's tuning guide.

    The options are for TRocksDB, which keeps keys and values in separate files, and
    translated for RocksDB with integrated BlobDB. Nothing is measured. How good they
    are: docs/explanation/kioxia-guide.md.
    """
    planned = read_planned(GuideRequest.model_construct(**asked))
    if out is not None:
        require_folder(out)
    found = compute_guide(planned)
    document = guide_document(found)
    # Before anything is printed: whoever reads it may leave after the first lines.
    written = [] if out is None else [out / name for name in document["options"]]
    for path in written:
        write_output(path, document["options"][path.name].encode())
    if as_json:
        print_json(document)
    else:
        console = screen()
        console.print(_settings(found))
        for table in (_levels(found), _translated(found)):
            console.print()
            console.print(table)
    for each in document["warnings"]:
        complain(f"warning: {each['setting']}: {each['text']}")
    for path in written:
        (sys.stderr if as_json else sys.stdout).write(f"Written to {path}\n")


def _settings(found: Guide) -> Table:
    planned = found.planned
    per_file = f"{found.keys_per_file:,}"
    number = found.settings["max_write_buffer_number"]
    buffers = f"{number} write buffers: {format_decimal(found.memtables)}"
    why = {
        "max_background_jobs": "CPU threads",
        "num_threads": "CPU threads; --threads of db_bench",
        "max_write_buffer_number": "a quarter of the CPU threads, plus 1",
        "level0_file_num_compaction_trigger": "fixed",
        "level0_slowdown_writes_trigger": "three quarters of the CPU threads",
        "level0_stop_writes_trigger": "CPU threads",
        "target_file_size_base": f"{per_file} keys per file, {planned.key_bytes} B each with the "
        f"pointer; {found.files:,} files",
        "max_bytes_for_level_base": "8 files",
        "max_bytes_for_level_multiplier": "fixed",
        "vlogfile_max_size": f"{per_file} values per file, {planned.value_size} B each; "
        f"{found.files:,} files",
        "write_buffer_size": f"a file of keys plus a file of values; {buffers}",
        "cache_size": "80% of the memory left by the write buffers; set in the application",
    }
    table = bare_table(("setting",), ("value", ""), ("why",))
    for name, value in found.settings.items():
        in_bytes = name.endswith("_size") or name in _SIZES
        table.add_row(name, str(value), format_decimal(value) if in_bytes else "", why[name])
    return table


def _levels(found: Guide) -> Table:
    table = bare_table(("level",), ("files", "bytes", ""))
    for each in found.levels:
        size = format_decimal(each.bytes)
        table.add_row(str(each.level), str(each.files), str(each.bytes), size)
    files, size_of_all = whole(found.levels)
    table.add_row("total", str(files), str(size_of_all), format_decimal(size_of_all))
    return table


def _translated(found: Guide) -> Table:
    values = rocksdb_values(found)
    there = {**PRESET, "vlogfile_max_size": str(found.settings["vlogfile_max_size"])}
    table = bare_table(("TRocksDB", "", "RocksDB with BlobDB", ""))
    for old, new in COUNTERPARTS.items():
        table.add_row(old, there[old], new, str(values[new]))
    return table
