"""What may be asked of an experiment, and how it is stored; and what of a finished job.

The bodies of ``POST /v1/jobs`` with a ``kind``, and the jobs of a batch that have one. Fields are
those of the terminal's commands: what is a file there is its text here, and builds have names.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from db.schema.job_row import JobKind
from jobs.specification.named_files import options_text
from jobs.specification.request import JobNumber, StartFile
from jobs.specification.specification import Specification, specification_from_document
from optimizer.trials.problem import Number, Whole
from sampler.common.errors import InputError, refuse_noted, value_problem

Name = Annotated[str, StringConstraints(min_length=1, max_length=100)]
Build = Annotated[
    str,
    StringConstraints(min_length=1, max_length=64),
    Field(description="Name of a RocksDB build (`builds` under /v1/hosts), or default."),
]
Side = Annotated[str, StringConstraints(min_length=1, max_length=10_000)] | StartFile
_SIDE = (
    "default; parameter=value,...; job:NUMBER; a starting point; guide or guide:CPU_THREADS; a "
    "build; BUILD:... with one of these; or an OPTIONS file as an object of name and options."
)


class ExperimentRequest(BaseModel):
    """What all of them have."""

    model_config = ConfigDict(extra="forbid", strict=True)

    kind: str
    priority: Whole = Field(
        default=0, ge=-1000, le=1000, description="Priority in the queue; the highest first."
    )


class _OnOptions(ExperimentRequest):
    column_family: Annotated[str, StringConstraints(min_length=1, max_length=500)] | None = Field(
        default=None,
        description="Column family of the OPTIONS file. Default: the one named `default`.",
    )
    drop_unknown: bool = Field(
        default=False,
        description="Measure without the options of the OPTIONS file that RocksDB does not know.",
    )
    scale: Whole | None = Field(
        default=None, ge=1, lt=2**31, description="Divisor of byte-sized options."
    )
    seed: Whole = Field(
        default=1, ge=0, lt=2**31, description="Random seed of draws and of the order of the runs."
    )


def _example(**body: Any) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": [body]})


class CompareRequest(_OnOptions):
    """Two or three configurations or builds, by interleaved runs: ``rocktune compare``."""

    model_config = _example(kind="compare", a="default", b="compression_type=none")

    kind: Literal["compare"]
    a: Side = Field(default="default", description=_SIDE)
    b: Side | None = None
    around: Name | None = Field(
        default=None, description="Instead of b: a parameter, for a's value halved and doubled."
    )
    workload: Name | list[Name] = Field(default="load-quick", description="A name, or a list.")
    rounds: Whole = Field(
        default=5, ge=3, le=1000, description="Number of runs of each side, at least 3."
    )
    metrics: Annotated[list[Name], Field(max_length=100)] | None = Field(
        default=None, description="Metrics to compare. Default: the usual."
    )
    db_bench_a: Build | None = None
    db_bench_b: Build | None = None


class UpgradeCheckRequest(_OnOptions):
    """Two builds under the same configurations: ``rocktune upgrade-check``."""

    model_config = _example(kind="upgrade-check", old="default", new="default")

    kind: Literal["upgrade-check"]
    old: Build
    new: Build
    workload: Name = "load-quick"
    options: str | None = Field(
        default=None, max_length=500_000, description="Text of the OPTIONS file in use."
    )
    pairs: Whole = Field(
        default=7,
        ge=0,
        le=1000,
        description="Runs of each configuration on each build; 0: run no load.",
    )
    configurations: Whole = Field(
        default=0, ge=0, le=100, description="Number of random configurations of the space to add."
    )
    space: str | dict[str, Any] = Field(
        default="default", description="Space to draw random configurations from."
    )


class ExplainRequest(ExperimentRequest):
    """Measured runs that check a job's explanation: ``rocktune explain --runs``."""

    model_config = _example(kind="explain", job=1)

    kind: Literal["explain"]
    job: JobNumber = Field(description="Number of the finished tuning job to explain.")
    runs: Whole = Field(default=7, ge=3, le=1000, description="Runs of each configuration.")
    steps: Whole = Field(default=3, ge=0, le=1000, description="First steps to measure.")
    margin: Annotated[str, Field(max_length=30)] | Number = Field(
        default="10%", description="Share of the fitness that the fewest changes may lose."
    )


class ProfileCheckRequest(ExperimentRequest):
    """An uploaded workload, compared with its database: ``rocktune profile --check``."""

    model_config = _example(kind="profile-check", workload="my-db")

    kind: Literal["profile-check"]
    workload: Name = Field(description="Workload that was uploaded with its profile.")
    db_bench: Build | None = None


_Bounds = Annotated[list[Annotated[str, StringConstraints(max_length=500)]], Field(max_length=100)]


class FrontRequest(BaseModel):
    """Two metrics for a front of a job's measured configurations: ``rocktune front``."""

    x: str | None = Field(
        default=None, max_length=200, description="First metric of a front of two; with `y`."
    )
    y: str | None = Field(
        default=None, max_length=200, description="Second metric; the best in it is last."
    )


class PickRequest(BaseModel):
    """A preference by which a job's measured configurations are picked: ``rocktune pick``."""

    weights: str | None = Field(
        default=None,
        max_length=2000,
        description="METRIC=WEIGHT,METRIC=WEIGHT, such as waf=2,sa=1. Default: the objective's.",
    )
    limit: _Bounds | None = Field(
        default=None, description="Further limit, such as 'sa <= 1.0 baseline'; repeatable."
    )
    slo: _Bounds | None = Field(
        default=None,
        description="Service level, such as 'write_p99 <= 340 us'; repeatable. Without weights or "
        "an objective, the highest rate within it is picked.",
    )
    # A document as JSON takes a few thousand characters.
    objective: str | None = Field(
        default=None,
        max_length=20_000,
        description="Shipped name or JSON. Replaces the job's objective with its limits.",
    )
    top: int = Field(default=5, ge=1, le=100, description="Number of picks.")
    model: bool = Field(
        default=False, description="Also give the predictions of models; takes seconds."
    )
    column_family: Annotated[str, StringConstraints(min_length=1, max_length=500)] | None = Field(
        default=None,
        description="Column family to write the OPTIONS file for. Default: the tuned one.",
    )


REQUESTS: Mapping[JobKind, type[ExperimentRequest]] = {
    JobKind.COMPARE: CompareRequest,
    JobKind.UPGRADE_CHECK: UpgradeCheckRequest,
    JobKind.EXPLAIN: ExplainRequest,
    JobKind.PROFILE_CHECK: ProfileCheckRequest,
}


@dataclass(frozen=True)
class ExperimentSpecification:
    """An experiment as it was asked for, with every document in it."""

    kind: JobKind
    title: str  # what it asks, in a few words
    workload: Mapping[str, Any]  # the ``name``, of several all of them
    asked: Mapping[str, Any]  # as ``jobs.experiments.kinds`` made it

    def document(self) -> dict[str, Any]:
        """As JSON holds it."""
        return asdict(self)

    def digest(self) -> str:
        """The same for the same experiment."""
        text = json.dumps(self.document(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


AnySpecification = Specification | ExperimentSpecification


def job_kind(specification: AnySpecification) -> JobKind:
    """The kind of job that it is of."""
    return getattr(specification, "kind", JobKind.TUNE)


def stored_specification(document: Mapping[str, Any]) -> AnySpecification:
    """Reads any kept specification back; an InputError as of ``specification_from_document``."""
    if "kind" not in document:
        return specification_from_document(document)
    return ExperimentSpecification(**{**document, "kind": JobKind(document["kind"])})


T = TypeVar("T", bound=BaseModel)


def read_asked(request: type[T], given: Mapping[str, Any]) -> T:
    """The fields of a request as a terminal gives them, where files and builds may be paths.

    Raises:
        InputError: All that is wrong with fields; the length of a path is never.
    """
    try:
        return request.model_validate(given)
    except ValidationError as error:
        found = error.errors()
    paths = {each["loc"][0] for each in found if each["type"] == "string_too_long"}
    wrong = {str(e["loc"][0]): value_problem(e) for e in found if e["loc"][0] not in paths}
    refuse_noted([InputError(name, problem) for name, problem in wrong.items()])
    return request.model_construct(**given)


def read_experiment(kind: JobKind, given: Mapping[str, Any]) -> ExperimentRequest:
    """An experiment as a terminal asks for it, with the text of its OPTIONS file.

    Raises:
        InputError: All that is wrong with fields, or the file cannot be read.
    """
    asked = read_asked(REQUESTS[kind], {"kind": kind.value, **given})
    if isinstance(asked, UpgradeCheckRequest) and asked.options is not None:
        return asked.model_copy(update={"options": options_text("options", asked.options)})
    return asked
