"""A nightly.toml: many jobs in one file, all checked before the first begins."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from jobs.batch.batch_items import batch_items, require_name
from jobs.batch.batch_plan import BatchItem, BatchPlan, require_measured_here, require_small
from jobs.specification.checked_specification import Asked
from jobs.specification.specification import Specification
from jobs.specification.specify import specify
from jobs.specification.start_from import NONE, read_starts
from jobs.specification.warm_start_text import parse_warm_start
from optimizer.budget.sample_size import parse_detect
from optimizer.objective.limits import parse_limit
from optimizer.objective.objective_file import SHIPPED as OBJECTIVES
from optimizer.trials.problem import SearchSettings
from sampler.common.byte_size import parse_bytes
from sampler.common.documents import finite_number, names_a_file, read_document
from sampler.common.errors import InputError, noting, refuse_noted
from sampler.space.space_file import SHIPPED as SPACES
from sampler.space.starting_points import point_names
from sampler.workload.workload_file import SHIPPED as WORKLOADS

_SEARCH = {each.name for each in fields(SearchSettings)} - {"detect_metric"}
# What `specify` takes, so that a setting which it learns can be written here at once.
_NAMED = set(inspect.signature(specify).parameters) - {"asked"}
SETTINGS = ((_NAMED | Asked.__optional_keys__) - {"search"}) | _SEARCH
_BY_NAME = {
    "workload": WORKLOADS,
    "space": SPACES,
    "objective": OBJECTIVES,
    "baseline": ("library", "db_bench"),
    "start_from": (*point_names(), NONE),
}
_WHOLE = ("trials", "scale", "confirm_scale", "seed", "samples", "top", "generations")
_AT_LEAST_ONE = ("samples", "top", "generations")
_NUMBERS = ("minutes", "fitness", "cutoff")


def read_batch(path: Path) -> BatchPlan:
    """Reads a batch and all files that it names, which are looked for beside it.

    Raises:
        InputError: Something is wrong; the message names the item, the field and the mend.
        InputErrors: Several things are.
    """
    document = read_document(_text(path), field=str(path))
    found: list[InputError] = []
    name = ""
    with noting(found):
        name = _name(document)
    rest = {key: value for key, value in document.items() if key != "name"}
    items = []
    for each in batch_items(rest, known=SETTINGS, found=found, field=path.name):
        try:
            specification = specified(each.settings, path.parent)
        except InputError as error:
            found += findings_of(each.name, error)
        else:
            items.append(BatchItem(each.name, specification))
    refuse_noted(found)
    plan = BatchPlan(name, tuple(items))
    require_small(plan.document()["items"])
    return plan


def batch_file(path: Path) -> tuple[str, dict[str, Any]]:
    """The name of a batch, and the rest of its file as it is written.

    Raises:
        InputError: It cannot be read, or has no name.
    """
    document = read_document(_text(path), field=str(path))
    return _name(document), {key: value for key, value in document.items() if key != "name"}


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InputError("FILE", f"cannot read {str(path)!r}: {reason}") from None


def findings_of(item: str, error: InputError) -> list[InputError]:
    """What is wrong with an item, each with the item's name before the field."""
    found: list[InputError] = []
    with noting(found):
        raise error
    return [InputError(f"{item}: {_as_written(each.field)}", each.problem) for each in found]


def _as_written(field: str) -> str:
    """An option of the terminal as the file calls it: ``--host-kind`` is ``host_kind``."""
    option, space, rest = field.partition(" ")
    if option.startswith("--"):
        option = option.removeprefix("--").replace("-", "_")
        option = "limits" if option == "limit" else option  # a list in the file
    return f"{option}{space}{rest}"


def specified(settings: Mapping[str, Any], beside: Path) -> Specification:
    """What a job of a batch measures.

    Args:
        settings: By the names of the options of ``rocktune tune``.
        beside: The folder in which files are looked for first.

    Raises:
        InputError: A setting is of the wrong type, or what it says is wrong.
        InputErrors: Several are.
    """
    found: list[InputError] = []
    given: dict[str, Any] = {}
    for name, value in settings.items():
        with noting(found):
            given |= _read(name, value, beside)
    refuse_noted(found)
    search = {name: given.pop(name) for name in list(given) if name in _SEARCH | {"detect_metric"}}
    specification = specify(**given, search=SearchSettings(**search))
    require_measured_here(specification)
    return specification


def _name(document: Mapping[str, Any]) -> str:
    if "name" not in document:
        raise InputError("name", 'give the batch a name, as name = "nightly"')
    return require_name(document["name"], "name")


def _read(name: str, value: Any, beside: Path) -> dict[str, Any]:
    """A setting as ``specify`` takes it."""
    if name in _WHOLE:
        return {name: _whole(name, value)}
    if name in _NUMBERS:
        return {name: _number(name, value)}
    if name in ("stop_early", "drop_unknown"):
        if not isinstance(value, bool):
            raise InputError(name, "write true or false")
        return {name: value}
    if name == "memory":
        return {name: parse_bytes(_sized(name, value), field=name)}
    if name == "detect":
        change, metric = parse_detect(_sized(name, value), field=name)
        return {"detect": change, "detect_metric": metric}
    if name == "limits":
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise InputError(name, "write a list of limits, as ['rate >= 0.95 baseline']")
        return {name: tuple(parse_limit(each, field=name) for each in value)}
    if name == "over":
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise InputError(name, "write a list of the names of parameters")
        return {name: tuple(dict.fromkeys(value))}
    if name == "start_from":
        return {name: read_starts(started(value, beside))}
    if name == "warm_start":
        return {name: parse_warm_start(value, field=name)}
    if not isinstance(value, str) or not value or "\0" in value:
        raise InputError(name, f"{value!r:.80} is not a text")
    return {name: file_beside(name, value, beside)}


def started(value: Any, beside: Path) -> list[str]:
    """The names and files of ``start_from``, files looked for beside the batch.

    Raises:
        InputError: It is no list of texts.
    """
    if not isinstance(value, list) or not all(isinstance(each, str) and each for each in value):
        raise InputError("start_from", "write a list, as ['benchmark.sh', 'my.ini'] or ['none']")
    return [file_beside("start_from", each, beside) for each in value]


def file_beside(name: str, given: str, folder: Path) -> str:
    """A file of the batch's folder where one is meant and there, or else what was given."""
    is_path = "/" in given if name == "db_bench" else given not in _BY_NAME.get(name, (given,))
    near = folder / given
    return str(near) if is_path and names_a_file(near) else given


def _whole(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(name, f"{value!r:.80} is not a whole number")
    if name in _AT_LEAST_ONE and value < 1:
        raise InputError(name, f"{value} is below 1")
    return value


def _number(name: str, value: Any) -> float:
    number = finite_number(value)
    if number is None:
        raise InputError(name, f"{value!r:.80} is not a finite number")
    return number


def _sized(name: str, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise InputError(name, f"{value!r:.80} is neither a number nor a text")
    return str(value)
