"""A batch: from the document that asks for it to its jobs, and these as they are kept.

The document is that of a nightly.toml, and the same over HTTP. What is kept has all that the jobs
need, so that no file is read again at night.
"""

import hashlib
import itertools
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, TypeVar

from sqlalchemy import Connection

from db.jobs.job_queue import require_room
from db.nightly.batches import begin_batch
from db.schema.job_row import JobKind
from jobs.results.output_folder import OPTIONS, REPORT, RESULT, TRIALS
from jobs.specification.experiments import (
    REQUESTS,
    AnySpecification,
    job_kind,
    stored_specification,
)
from jobs.specification.named_files import BASELINES, Find, inlined, specify
from jobs.specification.request import NONE, JobRequest
from jobs.specification.specification import Specification
from optimizer.objective.objective_file import SHIPPED as OBJECTIVES
from optimizer.trials.problem import renamed
from sampler.common.documents import names_a_file, parse_toml
from sampler.common.errors import InputError, noting, refuse_noted
from sampler.rocksdb.forms import other_form
from sampler.space.space_file import SHIPPED as SPACES
from sampler.space.starting_points import point_names
from sampler.workload.workload_file import SHIPPED as WORKLOADS

BATCH_RESULT = "batch.json"
MOST_ITEMS = 500
_MOST_BYTES = 8 * 2**20  # of all specifications together; the shipped spaces take 3 KB each
_LISTS = {"workloads": "workload", "spaces": "space", "host_kinds": "host_kind"}
_USUAL = {"workload": "load-quick", "space": "default"}
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*", re.ASCII)
_MOST_CHARACTERS = 200
_TAKEN = {OPTIONS, RESULT, TRIALS, REPORT, BATCH_RESULT}


@dataclass(frozen=True)
class BatchEntry:
    """One job of a batch as it was asked for."""

    name: str  # what it is called every night
    # By the names of the options of `rocktune tune`, or with a `kind` by those of its command.
    settings: Mapping[str, Any]


def batch_items(
    document: Mapping[str, Any],
    *,
    known: Collection[str],
    found: list[InputError],
    field: str = "batch",
) -> list[BatchEntry]:
    """The jobs of a batch that can be told: workloads x spaces x host kinds, each ``[[job]]``.

    The document is as the TOML file holds it, without ``name``; ``known`` are the settings that a
    job may have. ``found`` receives what is wrong: a key is unknown or of the wrong type, two
    items have the same name, there are none, or too many.
    """
    before = len(found)
    for key in document:
        with noting(found):
            _require_known(key, key, {*known, *_LISTS, "job"})
    common = {key: value for key, value in document.items() if key in known}
    items: list[BatchEntry] = []
    with noting(found):
        items += _product(document, common)
    rows = document.get("job", [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        found.append(InputError("job", "write each job as a table [[job]]"))
        rows = []
    for number, row in enumerate(rows, start=1):
        with noting(found):
            items.append(_single(row, f"job[{number}]", common, known))
    if not items and len(found) == before:
        found.append(InputError(field, "has no jobs; give workloads, spaces or a [[job]]"))
    if len(items) > MOST_ITEMS:
        found.append(InputError(field, f"has {len(items)} jobs; the limit is {MOST_ITEMS}"))
        return []
    repeated = "is the name of two jobs; rename one in a [[job]]"
    times = Counter(item.name for item in items)
    found += [InputError(name, repeated) for name, count in times.items() if count > 1]
    return items


def require_name(given: object, field: str) -> str:
    """The name of a batch or a schedule, which is also that of a folder; else an InputError."""
    if not isinstance(given, str) or len(given) > _MOST_CHARACTERS or not _NAME.fullmatch(given):
        problem = f"{given!r:.80} is not a name; use letters, digits, dots, dashes or underscores"
        raise InputError(field, problem)
    return given


def _product(document: Mapping[str, Any], common: Mapping[str, Any]) -> list[BatchEntry]:
    if not _LISTS.keys() & document.keys():
        return []
    found: list[InputError] = []
    axes: dict[str, list[Any]] = {}
    for plural, single in _LISTS.items():
        axes[single] = document.get(plural, [common.get(single, _USUAL.get(single))])
        if not isinstance(axes[single], list) or not axes[single]:
            found.append(InputError(plural, "write a list of at least one name"))
    refuse_noted(found)
    items = []
    for values in itertools.product(*axes.values()):
        settings = {**common, **dict(zip(axes, values, strict=True))}
        settings = {name: value for name, value in settings.items() if value is not None}
        items.append(BatchEntry(_called(settings), settings))
    return items


def _single(
    row: Mapping[str, Any], where: str, common: Mapping[str, Any], known: Collection[str]
) -> BatchEntry:
    kind = row.get("kind", JobKind.TUNE.value)
    own = {key: value for key, value in row.items() if key != "name"}
    if kind == JobKind.TUNE:
        own.pop("kind", None)
    elif kind not in [*REQUESTS]:
        raise InputError(f"{where}.kind", f"{kind!r:.80} is not one of {', '.join(JobKind)}")
    else:
        known = REQUESTS[JobKind(kind)].model_fields
    for key in own:
        _require_known(key, f"{where}.{key}", {*known, "name"})
    if kind != JobKind.TUNE:  # it stands by itself: what is common is of the jobs that tune
        return BatchEntry(_item_name(row.get("name", kind), where), own)
    if "trials" in own or "minutes" in own:  # a budget of one kind replaces that of the other
        common = {key: common[key] for key in common if key not in ("trials", "minutes")}
    settings = {**_USUAL, **common, **own}
    if "name" not in row:
        return BatchEntry(_called(settings), settings)
    return BatchEntry(_item_name(row["name"], where), settings)


def _item_name(given: object, where: str) -> str:
    parts = given.split("/") if isinstance(given, str) else [given]
    for part in parts:
        require_name(part, f"{where}.name")
    return _checked(str(given), f"{where}.name")


def _require_known(key: str, field: str, known: set[str]) -> None:
    if key not in known:
        raise InputError(field, f"is unknown; choose one of {', '.join(sorted(known))}")


def _called(settings: Mapping[str, Any]) -> str:
    """``load-quick/default/nvme``: files by their names, sent documents by the names in them."""
    parts = []
    for axis in _LISTS.values():
        if (given := settings.get(axis)) is None:
            continue
        named = given.get("name") if isinstance(given, dict) else given
        if not isinstance(named, str):
            raise InputError(axis, f"{named!r:.80} is not a name")
        parts.append(re.sub(r"[^A-Za-z0-9._-]", "_", PurePath(named).name.removesuffix(".toml")))
    return _checked("/".join(require_name(part, "the name of a job") for part in parts), "name")


def _checked(name: str, field: str) -> str:
    if _TAKEN & set(name.split("/")):
        raise InputError(field, f"{name!r} contains the name of a result file; choose another")
    if len(name) > _MOST_CHARACTERS:
        raise InputError(field, f"has {len(name)} characters; the limit is {_MOST_CHARACTERS}")
    return name


@dataclass(frozen=True)
class BatchItem:
    """One job of a batch."""

    name: str  # what it is called every night
    specification: AnySpecification  # what it measures
    priority: int = 0  # in the service's queue


@dataclass(frozen=True)
class BatchPlan:
    """A batch of jobs that are run one after another, in this order."""

    name: str
    items: tuple[BatchItem, ...]

    def digest(self) -> str:
        """The same for the same jobs under the same names."""
        parts = [self.name, *([item.name, item.specification.digest()] for item in self.items)]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def document(self) -> dict[str, Any]:
        """All of it, as a schedule keeps it."""
        items = [
            {"item": i.name, "specification": i.specification.document(), "priority": i.priority}
            for i in self.items
        ]
        return {"name": self.name, "items": items}

    def begin(
        self,
        connection: Connection,
        *,
        job_why: str,
        submitter: str | None = None,
        most_queued: int | None = None,
        **about: Any,
    ) -> int | None:
        """Keeps the batch with all of its jobs; takes and returns what ``begin_batch`` does.

        ``job_why`` is what the jobs wait for, ``submitter`` the name of the token that asked,
        ``most_queued`` how many jobs the queue takes; None: any number.

        Raises:
            QueueFullError: It has no room for all of them.
        """
        require_room(connection, len(self.items), most_queued)
        jobs = [
            {
                "kind": job_kind(item.specification),
                "specification": item.specification.document(),
                "digest": item.specification.digest(),
                "priority": item.priority,
                "batch_item": item.name,
                "why": job_why,
                "submitter": submitter,
            }
            for item in self.items
        ]
        # The batch's row keeps an outline: its jobs' rows have the rest.
        outline = [{"item": job["batch_item"], "digest": job["digest"]} for job in jobs]
        about |= {"document": {"name": self.name, "items": outline}, "digest": self.digest()}
        return begin_batch(connection, name=self.name, jobs=jobs, **about)


def plan_from_document(document: Mapping[str, Any]) -> BatchPlan:
    """Reads a kept batch back; an InputError if another version wrote what is not understood."""
    items = [
        BatchItem(i["item"], stored_specification(i["specification"]), i["priority"])
        for i in document["items"]
    ]
    return BatchPlan(document["name"], tuple(items))


def require_measured_here(specification: AnySpecification) -> None:
    """Refuses, with an InputError, a workload that a runner of the user's own measures."""
    if specification.workload.get("external"):
        name = specification.workload["name"]
        problem = f"{name!r} needs an external runner; a batch cannot measure it"
        raise InputError("workload", problem)


def require_small(documents: Iterable[Mapping[str, Any]]) -> None:
    """Refuses, with an InputError, documents of jobs that are together too large for a batch."""
    size = 0
    for each in documents:
        size += len(json.dumps(each, default=str))
        if size > _MOST_BYTES:
            problem = f"needs more than {_MOST_BYTES:,} bytes for all its jobs"
            raise InputError("batch", f"{problem}; split it, or leave out OPTIONS files")


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
        specification = specify(find=files_beside(path.parent), **settings)
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
        return {"name": name, **inlined(settings, find=files_beside(path.parent))}

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
