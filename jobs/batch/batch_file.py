"""A nightly.toml: many jobs in one file, all checked before the first begins."""

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, TypeVar

from jobs.batch.batch_plan import (
    BatchItem,
    BatchPlan,
    batch_items,
    require_measured_here,
    require_name,
    require_small,
)
from jobs.specification.experiments import sent_experiment
from jobs.specification.named_files import BASELINES, Find, inlined, specified
from jobs.specification.request import NONE, JobRequest
from jobs.specification.specification import Specification
from optimizer.objective.objective_file import SHIPPED as OBJECTIVES
from optimizer.trials.problem import renamed
from sampler.common.documents import names_a_file, parse_toml
from sampler.common.errors import InputError, noting, refuse_noted
from sampler.options.other_forms import other_form
from sampler.space.space_file import SHIPPED as SPACES
from sampler.space.starting_points import point_names
from sampler.workload.workload_file import SHIPPED as WORKLOADS

T = TypeVar("T")
Tell = Callable[[str], None]
"""Shows a line to whoever has named the file."""

SETTINGS = JobRequest.model_fields.keys() - {"baseline_options", "priority"}
_BY_NAME: Mapping[str, Collection[str]] = {
    "workload": WORKLOADS,
    "space": SPACES,
    "objective": OBJECTIVES,
    "baseline": BASELINES,
    "start_from": (*point_names(), NONE),
    **dict.fromkeys(("a", "b", "options"), ()),  # of experiments
}


def read_batch(
    path: Path,
    tell: Tell = lambda _: None,
    fit: Callable[[Specification], Specification] = lambda asked: asked,
) -> BatchPlan:
    """Reads a batch and all files that it names, which are looked for beside it.

    ``fit`` chooses the build of a job that names none.

    Raises:
        InputError: Something is wrong; the message names the item, the field and the mend.
    """

    def item(name: str, settings: Mapping[str, Any]) -> BatchItem:
        if "kind" in settings:
            problem = f"a terminal cannot run {settings['kind']} in a batch"
            raise InputError("kind", f"{problem}; send the file to a service with `url`")
        specification = specified(settings, find=files_beside(path.parent))
        if settings.get("db_bench") is None:
            specification = fit(specification)
        require_measured_here(specification)
        return BatchItem(name, specification)

    plan = BatchPlan(*_read(path, item, tell))
    require_small(plan.document()["items"])
    return plan


def batch_request(path: Path, tell: Tell = lambda _: None) -> dict[str, Any]:
    """The batch for the body of ``POST /v1/schedules``, each of its jobs as a single one.

    The files that it names are looked for beside it.

    Raises:
        InputError: A file cannot be read, or names what cannot be sent.
    """

    def row(name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        read = sent_experiment if "kind" in settings else inlined
        return {"name": name, **read(settings, find=files_beside(path.parent))}

    name, rows = _read(path, row, tell)
    return {"name": name, "job": list(rows)}


def _read(
    path: Path, make: Callable[[str, Mapping[str, Any]], T], tell: Tell
) -> tuple[str, tuple[T, ...]]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise InputError("FILE", f"cannot read {str(path)!r}: {reason}") from None
    try:
        document = parse_toml(text, field=str(path))
    except InputError:
        if told := other_form(text):
            raise InputError(str(path), f"{told}. A batch is written in TOML") from None
        raise
    found: list[InputError] = []
    name, in_file = "", list[InputError]()
    with noting(in_file):
        if "name" not in document:
            raise InputError("name", 'is missing; write for example name = "nightly"')
        name = require_name(document.pop("name"), "name")
    made = []
    items = batch_items(document, known=SETTINGS, found=in_file, field="job")
    found += [InputError(f"{path.name}: {each.field}", each.problem) for each in in_file]
    for line in dict.fromkeys(renamed(each.settings.get("strategy")) for each in items):
        if line:
            tell(f"{path.name}: {line}")
    for each in items:
        try:
            made.append(make(each.name, each.settings))
        except InputError as error:
            found += findings_of(each.name, error)
    refuse_noted(found)
    return name, tuple(made)


def findings_of(item: str, error: InputError) -> list[InputError]:
    """What is wrong with an item, each with the item's name before the field."""
    found: list[InputError] = []
    with noting(found):
        raise error
    # Only over HTTP a baseline is a field with the text of its file.
    fields = [each.field.replace("baseline_options", "baseline", 1) for each in found]
    return [
        InputError(f"{item}: {field}", each.problem)
        for field, each in zip(fields, found, strict=True)
    ]


def files_beside(folder: Path) -> Find:
    """A file of the batch's folder where one is meant and there, or else what was given."""

    def find(name: str, given: str) -> str:
        is_path = "/" in given if name == "db_bench" else given not in _BY_NAME.get(name, (given,))
        near = folder / given
        return str(near) if is_path and names_a_file(near) else given

    return find
