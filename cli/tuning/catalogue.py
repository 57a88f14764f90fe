"""`rocktune space`, `workloads`, `objectives`: what there is, and how to write one's own."""

from collections.abc import Mapping
from typing import Annotated

from typer import Argument, Option, echo

from optimizer.objective.objective import limit_words
from optimizer.objective.objective_file import SHIPPED as OBJECTIVES
from optimizer.objective.objective_file import load_objective, objective_text
from sampler.common.documents import parse_toml
from sampler.common.errors import InputError
from sampler.kioxia_guide.document import HELP, NAME, SOURCE
from sampler.parameters.parameter import Parameter
from sampler.space.space_file import SHIPPED as SPACES
from sampler.space.space_file import load_space, space_text
from sampler.space.starting_points import handfuls, known_points, point_names
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
        _list({**{each: point.help for each, point in points.items()}, NAME: HELP})
        return
    if name == NAME:
        echo(f"{HELP}. Source: {SOURCE}.")
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
