"""What a user asks for: everything that a job needs, as one document."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import ConfigDict, ValidationError

from db.schema.job_row import JobKind, JobRow
from jobs.specification.request import JobSettings
from optimizer.objective.objective_file import objective_from_document
from optimizer.trials.problem import FORMER_NAMES, SearchSettings
from sampler.bench.fitting_build import database_version, fitting_build
from sampler.common.errors import InputError, value_problem
from sampler.space.space_file import space_from_document
from sampler.workload.workload_file import workload_from_document


class Specification(JobSettings):
    """A job as it was asked for, with every file's content in it; of two budgets one is None."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    workload: Mapping[str, Any]  # a document as its TOML file would hold it, as the next two are
    space: Mapping[str, Any]
    objective: Mapping[str, Any]
    # Whether the space came with Rocktune: then options that the installed RocksDB does not know
    # are left out, where the user's own space is refused.
    shipped_space: bool
    baseline_options: str | None = None  # the text of an OPTIONS file instead of `baseline`
    drop_unknown: bool = False
    memory: int | None = None  # bytes; None: the baseline's
    search: Mapping[str, Any]  # as `SearchSettings` documents it
    # The build that measures: a name that hosts know, or the path of a program of the machine that
    # the job was made on; None: the one in use on the host.
    db_bench: str | None = None
    # The RocksDB of the database that `db_bench` was chosen for, ``9.10.0``. None: the user named
    # the build, or nothing tells of a version.
    chosen_for: str | None = None
    # Where the search begins: each the `name` of a shipped point, or with `options` the text of an
    # OPTIONS file. None: where the strategy usually does.
    start_from: Sequence[Mapping[str, Any]] | None = None
    # The CPU threads that starting points are worked out for: those of where the job was made, so
    # that it begins alike wherever it goes on. None: it is of an earlier version.
    cores: int | None = None

    def document(self) -> dict[str, Any]:
        """The specification as JSON holds it."""
        return self.model_dump()

    def digest(self) -> str:
        """The same for the same specification, whoever wrote it down.

        What is left at its default does not count, so that a setting that a later version adds
        does not part a job from those who come back to it. Nor do the host's CPU threads. A
        strategy counts by its former name, so that jobs and nights from before go on.
        """
        former = {now: before for before, now in FORMER_NAMES.items()}
        usual = SearchSettings().document()
        search = {k: v for k, v in self.search.items() if k not in usual or v != usual[k]}
        said = {k: v for k, v in self.document().items() if v is not None and v is not False}
        said.pop("cores", None)
        if said.pop("chosen_for", None) is not None:
            said.pop("db_bench", None)
        if self.baseline_options is not None:  # once read without the ends of its lines
            said["baseline_options"] = self.baseline_options.replace("\r\n", "\n")
        said["strategy"] = former.get(self.strategy, self.strategy)
        asked = {**said, "shipped_space": self.shipped_space, "search": search}
        text = json.dumps(asked, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def on_fitting_build(
    specification: Specification,
    builds: Callable[[], Mapping[str, str]],
    database: str | None = None,
) -> Specification:
    """The specification with the build for the database that its OPTIONS file is of.

    ``builds`` gives the versions of the builds at hand by name, the one in use first;
    ``database`` is the version of the database where the file does not tell it. Only for a
    specification whose build nobody has named.
    """
    database = database_version(specification.baseline_options, database)
    workload = specification.workload
    if database is None or {"command", "external"} & workload.keys() or not (known := builds()):
        return specification
    build = fitting_build(database, known)
    return specification.model_copy(update={"db_bench": build, "chosen_for": database})


def on_build_of(specification: Specification, stored: Mapping[str, Any]) -> Specification:
    """The specification with the build of a stored one that it goes on with."""
    update = {name: stored.get(name) for name in ("db_bench", "chosen_for")}
    return specification.model_copy(update=update)


def specification_from_document(document: Mapping[str, Any]) -> Specification:
    """Reads a stored specification back; an InputError if this version cannot understand it."""
    try:
        specification = Specification.model_validate(document)
        SearchSettings.of(specification.search)
    except (ValidationError, TypeError) as error:
        wrong = str(error)
        if isinstance(error, ValidationError):
            told = error.errors()
            wrong = "; ".join(f"{'.'.join(map(str, e['loc']))}: {value_problem(e)}" for e in told)
        raise InputError("job", f"was written by another version of Rocktune: {wrong}") from None
    workload_from_document(specification.workload, stored=True)
    space_from_document(specification.space)
    objective_from_document(specification.objective)
    return specification


def require_tunes(row: JobRow, field: str) -> None:
    """Refuses, with an InputError, a job that is an experiment."""
    if row.kind is not JobKind.TUNE:
        raise InputError(field, f"job {row.id} is of kind {row.kind}; name a tuning job")
