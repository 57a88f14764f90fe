"""The fields of a request as options of a terminal."""

import inspect
from collections.abc import Callable, Collection, Mapping
from functools import wraps
from typing import Annotated, Any

from pydantic import BaseModel
from typer import Argument, Option

from cli.options.exits import as_typed, complain
from jobs.specification.request import JobRequest, field_kind, field_types, typed
from optimizer.trials.problem import renamed
from sampler.common.errors import InputError, noting, refuse_noted

# What may be a file at a terminal, where a request holds what is in it.
_FILES = {
    "workload": "Workload name or TOML file.",
    "space": "Parameter space name or TOML file.",
    "objective": "Objective name or TOML file. Default: paper, or reading for prepared databases.",
    "limits": "Limit, such as 'rate >= 0.95 baseline' or 'write_p99 <= 200us'; repeatable.",
    "baseline": "Baseline: library, db_bench or an OPTIONS file. Default: the space's.",
    "start_from": "Settings to measure first: a starting point (`rocktune starts`), an OPTIONS "
    "file, or none; repeatable. Default: the usual starting points for the load.",
    "db_bench": "RocksDB build: a name in ROCKTUNE_BUILDS, or a path. Default: the one "
    "that fits the version of the OPTIONS file or database.",
}
Workload = Annotated[str, Option(help=_FILES["workload"])]
Baseline = Annotated[str | None, Option(help=_FILES["baseline"])]
DbBench = Annotated[str | None, Option(help=_FILES["db_bench"])]
Scale = Annotated[int | None, Option(help="Divisor of byte-sized options.")]
ColumnFamily = Annotated[
    str | None,
    Option(help="Column family of the OPTIONS file. Default: the one named `default`."),
]
DropUnknown = Annotated[
    bool,
    Option(
        "--drop-unknown",
        help="Measure without the options of the OPTIONS file that RocksDB does not know.",
    ),
]
ResumeRuns = Annotated[bool, Option("--resume", help="Continue with the runs in --out.")]
_AT_A_SERVICE = {
    "workload": "Name of a workload that the service knows, or a TOML file to upload.",
    "db_bench": "RocksDB build that measures, by the name that its hosts use.",
}
_USUAL = {"workload": "load-quick", "objective": None}
_AGAIN = ("limits", "limit", "slo", "start_from")


def job_options(*, at_a_service: bool = False) -> Callable[[Callable[..., int]], Any]:
    """Gives a command an option for each setting of a job, before its own options.

    The command's first parameter receives what was given, by the names of a ``JobRequest``.
    ``at_a_service``: a service will run the job, which is told by names and has a place in its
    queue.
    """
    helps = _FILES | (_AT_A_SERVICE if at_a_service else {})
    left_out = ("baseline_options",) if at_a_service else ("baseline_options", "priority")
    return request_options(JobRequest, helps, left_out)


def request_options(
    request: type[BaseModel],
    helps: Mapping[str, str],
    left_out: Collection[str] = (),
    *,
    arguments: Mapping[str, str] | None = None,
    unasked: Mapping[str, Any] | None = None,
    first: Collection[str] = (),
) -> Callable[[Callable[..., int | None]], Any]:
    """Gives a command an option for each field of a request, before its own options.

    The command's first parameter receives what was given, by the names of the fields. ``helps``
    are those that differ from the fields' own; fields that are ``left_out`` get no option.
    ``arguments`` are fields that are given without an option, each with its name in help texts;
    ``unasked`` are values by field with which a field counts as not given, ``first`` the fields
    that --help lists before others.
    """
    arguments, unasked = arguments or {}, unasked or {}
    options = [
        _option(name, request, helps.get(name, field.description or ""), arguments, unasked)
        for name, field in sorted(request.model_fields.items(), key=lambda x: x[0] not in first)
        if name not in left_out
    ]

    def made(command: Callable[..., int | None]) -> Callable[..., int | None]:
        _, *own = inspect.signature(command, eval_str=True).parameters.values()

        @wraps(command)
        def asking(**given: Any) -> int | None:
            asked = {each.name: given.pop(each.name) for each in options}
            asked = {n: v for n, v in asked.items() if n not in unasked or v != unasked[n]}
            return command(_settings(asked, request), **given)

        both = [*options, *(each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own)]
        asking.__signature__ = inspect.Signature(both)  # type: ignore[attr-defined]
        return asking

    return made


def _settings(given: Mapping[str, Any], request: type[BaseModel]) -> dict[str, Any]:
    """What was asked for, by the names of a request and of its types; no list may be empty."""
    asked = {n: v for n, v in given.items() if v is not None and v is not False and v != ()}
    found: list[InputError] = []
    for name, value in asked.items():
        with noting(found):
            if _repeats(name, request):
                asked[name] = list(value)
            elif field_kind(name, request) == "list":
                asked[name] = names_of(value, field=name)
            elif isinstance(value, str):
                asked[name] = typed(name, value, request)
    refuse_noted(found)
    if line := renamed(asked.get("strategy")):
        complain(line)
    return asked


def _repeats(name: str, request: type[BaseModel]) -> bool:
    """Whether an option is given once for each of a list: also where one may stand for a list."""
    return name in _AGAIN or {str, list} <= field_types(name, request)


def option_of(name: str) -> str:
    """A field as the terminal calls it."""
    return "--limit" if name == "limits" else f"--{name.replace('_', '-')}"


def in_options(warning: str) -> str:
    """A warning of a job, with the settings that it names as their options."""
    return as_typed(warning, {name: option_of(name) for name in JobRequest.model_fields})


def names_of(text: str, *, field: str) -> list[str]:
    """The names of a list as NAME,NAME, in their order, each once; an InputError for none."""
    names = list(dict.fromkeys(filter(None, map(str.strip, text.split(",")))))
    if not names:
        raise InputError(field, f"{text!r} has no names; write NAME,NAME")
    return names


def _option(
    name: str,
    request: type[BaseModel],
    text: str,
    arguments: Mapping[str, str],
    unasked: Mapping[str, Any],
) -> inspect.Parameter:
    field, kind = request.model_fields[name], field_kind(name, request)
    again = _repeats(name, request)
    if kind == "list" and not again:
        text, *default = text.partition(" Default:")
        text = "".join([text.removesuffix("."), ", as NAME,NAME.", *default])
    types: Mapping[str, Any] = {"whole": int, "number": float, "check": bool}
    of: Any = list[str] if again else types.get(kind, str)
    usual = False if kind == "check" else _USUAL.get(name, field.default)
    usual = inspect.Parameter.empty if field.is_required() else unasked.get(name, usual)
    usual = None if again else usual
    made = Option(option_of(name), help=text)
    if name in arguments:
        made = Argument(metavar=arguments[name], help=text)
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=usual,
        annotation=Annotated[of if usual is not None else of | None, made],
    )
