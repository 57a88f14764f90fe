"""What may be asked of a job: each setting once, with its type, default, bounds and help.

The body of ``POST /v1/jobs``, a job of a nightly.toml, the dashboard's form and the options of
``rocktune tune`` and ``rocktune submit`` are all made of these fields. Those of the search are
``SearchOptions``, beside the search. A new setting is a field, and a check in ``specification``
where its bounds hang on something else.
"""

import re
from collections.abc import Mapping
from copy import copy
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    create_model,
)
from pydantic.fields import FieldInfo

from optimizer.trials.problem import (
    Number,
    SearchOptions,
    Whole,
    strategy_name,
)
from sampler.common.errors import InputError, noting, refuse_noted, value_problem

StrategyName = Annotated[str, AfterValidator(strategy_name)]
"""A strategy; one that had another name once is found by that, too."""

JobNumber = Annotated[Whole, Field(ge=1, le=2**63 - 1)]


class StartFile(BaseModel):
    """An OPTIONS file as a starting point."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: str = Field(min_length=1, max_length=200, description="Name of the file in reports.")
    options: str = Field(min_length=1, max_length=500_000, description="Text of the file.")


class JobDocuments(BaseModel):
    """What is measured, what is moved, and what better means."""

    workload: str = Field(default="", max_length=100, description="Name of a workload.")
    space: str | dict[str, Any] = Field(
        default="default",
        title="Parameter space",
        description="Name of a shipped space, or an object with the fields of a TOML file.",
    )
    objective: str | dict[str, Any] = Field(
        default="paper",
        description="Name of a shipped objective, or an object with the fields of a TOML file. "
        "Default: paper, or reading if the workload reads a prepared database.",
    )
    limits: list[Annotated[str, StringConstraints(max_length=300)]] | None = Field(
        default=None,
        max_length=50,
        title="Limits, one per line",
        description="Limits besides those of the objective, such as 'rate >= 0.95 baseline' or "
        "'write_p99 <= 200us'. In a clone they replace all limits of its objective.",
    )


class JobSettings(BaseModel):
    """The settings that a job keeps as they were asked for."""

    strategy: StrategyName = Field(
        default="guided",
        max_length=100,
        description="guided (by models; formerly forest), genetic (the paper's), greedy "
        "(Samsung's), nsga2, random, lhs or sobol; after `make compare` also tpe and smac, and "
        "with torch optuna-gp.",
    )
    baseline: Literal["library", "db_bench"] | None = Field(
        default=None, description="Baseline: library or db_bench. Default: the space's."
    )
    column_family: Annotated[str, StringConstraints(min_length=1, max_length=500)] | None = Field(
        default=None,
        description="Column family of the OPTIONS file to tune. The others are not changed. "
        "Default: `default` (of `tune --like`: the most written one).",
    )
    trials: Whole | None = Field(
        default=None,
        description="Total runs, baseline and proof included; at least 12. Default: 96.",
    )
    minutes: Number | None = Field(default=None, description="Minutes to run, instead of trials.")
    scale: Whole | None = Field(
        default=None, description="Divisor of byte-sized options. Default: the workload's."
    )
    confirm_scale: Whole | None = Field(
        default=None,
        title="Scale of the proof",
        description="Larger scale (smaller divisor) to choose and prove the winner at, with "
        "proportionally more keys. Default: the scale of the search.",
    )
    seed: Whole = Field(default=1, description="Random seed.")
    warm_start: Literal["auto", "none"] | JobNumber | None = Field(
        default=None,
        title="Learn from earlier jobs",
        description="Earlier jobs that guided learns from: auto (similar jobs on the same hosts), "
        "the number of a job, or none. Default: none.",
    )
    no_price: bool = Field(
        default=False,
        title="Skip the reads after the proof",
        description="Skip the reads after each run of the proof (of loads that write), which show "
        "what the winner costs reads. Reads that a limit names are measured all the same.",
    )
    host_kind: str | None = Field(
        default=None,
        max_length=64,
        title="Kind of hosts",
        description="Kind of host that measures the job. Default: any.",
    )


def _may_be_null(field: FieldInfo) -> Any:
    """A field of a request in which null stands for what is usual."""
    asked = copy(field)
    asked.default = None
    return field.annotation | None, asked  # type: ignore[operator]


_SearchAsked = create_model(
    "_SearchAsked",
    **{name: _may_be_null(field) for name, field in SearchOptions.model_fields.items()},
)


class JobRequest(_SearchAsked, JobSettings, JobDocuments):  # type: ignore[misc, valid-type]
    """A job as it is asked for; what is not set is as usual, or as in the job that is cloned."""

    model_config = ConfigDict(extra="forbid", strict=True)

    baseline_options: str | None = Field(
        default=None,
        max_length=500_000,
        title="Baseline: the text of an OPTIONS file",
        description="Text of an OPTIONS file, as the baseline to beat.",
    )
    drop_unknown: bool | None = Field(
        default=None,
        title="Leave out unknown options of the OPTIONS file",
        description="Measure without the options of the OPTIONS file that RocksDB does not know, "
        "and keep them in the resulting file.",
    )
    memory: (
        Annotated[Whole, Field(ge=0, le=2**60)] | Annotated[str, Field(max_length=30)] | None
    ) = Field(
        default=None,
        description="Limit of memtables and block cache, such as 512MiB. Default: the baseline's.",
    )
    detect: Annotated[str, Field(max_length=220)] | Number | None = Field(
        default=None,
        title="Change to detect",
        description="Change that the proof is planned to show, given the measured noise: 5% or "
        "rate=5%; a number is in percent.",
    )
    start_from: list[Annotated[str, StringConstraints(max_length=100)] | StartFile] | None = Field(
        default=None,
        max_length=20,
        title="Starting points, separated by commas",
        description="Settings to measure first: names of starting points, or OPTIONS files as "
        "objects of name and options; ['none'] for none. Default: the usual points for the load.",
    )
    db_bench: str | None = Field(
        default=None,
        max_length=64,
        title="RocksDB build",
        description="RocksDB build that measures, by the name that hosts use (`builds` under "
        "/v1/hosts); not a path. Default: each host's default.",
    )
    priority: Whole = Field(
        default=0, ge=-1000, le=1000, description="Priority in the queue; the highest first."
    )


WRITE: Mapping[str, str] = {
    "space": "write a shipped name, or the space itself as an object",
    "objective": "write a shipped name, or the objective itself as an object",
    "detect": "write a change such as 5% or rate=5%",
    "warm_start": "write auto, none, or the number of a job",
    "memory": f"write bytes, a whole number of at most {2**60}, or a size such as 512MiB",
}
"""What may be written where several types are allowed: pydantic names each of them by itself."""

_LISTS: Mapping[str, str] = {
    "limits": "write a list of limits, such as ['rate >= 0.95 baseline']",
    "over": "write a list of parameter names",
    "start_from": "write a list: ['benchmark.sh', 'my.ini'] or ['none']",
}
_PLAIN = (int, float, str)
_WHOLE = re.compile(r"[+-]?\d{1,30}", re.ASCII)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
AUTO, NONE = "auto", "none"
WarmStart = str | int | None
"""``auto``, the number of a job, or None for none."""


def read_request(given: Mapping[str, Any]) -> JobRequest:
    """Checks what a terminal or a nightly.toml asks for; an InputError names the wrong options."""
    found: list[InputError] = []
    asked = dict(given)
    with noting(found):
        if "warm_start" in asked:
            asked["warm_start"] = parse_warm_start(asked.pop("warm_start")) or NONE
    request = JobRequest()
    try:
        request = JobRequest.model_validate(asked)
    except ValidationError as error:
        problems = {str(each["loc"][0]): _problem(each) for each in error.errors()}
        found += [InputError(name, problem) for name, problem in problems.items()]
    refuse_noted(found)
    return request


def require_file(column_family: str | None, options: str | None) -> None:
    """Refuses, with an InputError, a column family where there is no OPTIONS file to have it."""
    if column_family is not None and options is None:
        problem = f"needs an OPTIONS file for {column_family!r:.80}; give one"
        raise InputError("column_family", problem)


def _problem(error: Any) -> str:
    kind, value, (name, *_) = error["type"], error["input"], error["loc"]
    if name in ("memory", "detect") and (isinstance(value, bool) or not isinstance(value, _PLAIN)):
        return f"{value!r:.80} is neither a number nor a text"
    if name in WRITE:
        return f"{value!r:.80}: {WRITE[name]}"
    if name in _LISTS and kind in ("list_type", "tuple_type", "string_type"):
        return _LISTS[name]
    return value_problem(error)


def parse_warm_start(given: str | int | None) -> WarmStart:
    """Reads ``auto``, ``none`` or the number of a job; an InputError of anything else."""
    if given is None or given == NONE:
        return None
    text = str(given).strip()
    if text == AUTO:
        return AUTO
    # Numbers of jobs are whole ones of at most 64 bits.
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else 0
    if isinstance(given, bool) or number < 1:
        problem = f"{given!r:.60} is neither auto, none nor the number of a job"
        raise InputError("warm_start", problem)
    return number


def _types(annotation: Any) -> set[Any]:
    parts = get_args(annotation)
    if get_origin(annotation) is Annotated:
        return _types(parts[0])
    if get_origin(annotation) in (Union, UnionType):
        return {kind for part in parts for kind in _types(part)} - {NoneType}
    return {get_origin(annotation) or annotation}


def field_types(name: str, request: type[BaseModel]) -> set[Any]:
    """The types that a field of a request may have, without None and without what is in a list."""
    return _types(request.model_fields[name].annotation)


Kind = Literal["whole", "number", "check", "list", "text"]


def field_kind(name: str, request: type[BaseModel] = JobRequest) -> Kind:
    """How a person writes a field: in an input of the form, or after an option."""
    kinds: Mapping[frozenset[Any], Kind] = {
        frozenset({int}): "whole", frozenset({float}): "number", frozenset({bool}): "check",
        frozenset({list}): "list", frozenset({tuple}): "list",
    }  # fmt: skip
    return kinds.get(frozenset(field_types(name, request)), "text")


def typed(name: str, text: str, request: type[BaseModel] = JobRequest) -> int | float | str:
    """What a person has written for a field: a number where it may be one and is, else text."""
    types = field_types(name, request)
    if int in types and _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if types == {float} and _NUMBER.fullmatch(text) else text
