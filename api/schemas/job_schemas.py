"""Jobs and their trials over the wire."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, JsonValue, Tag

from db.schema.job_row import JobKind, JobRow, JobState, ListedJob
from jobs.specification.experiments import (
    CompareRequest,
    ExplainRequest,
    ProfileCheckRequest,
    UpgradeCheckRequest,
)
from jobs.specification.request import JobRequest
from optimizer.trials.problem import Whole
from optimizer.trials.trial import Trial
from sampler.bench.outcome import TrialState

if TYPE_CHECKING:
    from jobs.external import ReportedTrial
    from optimizer.run.ports import AskedTrials


def body(*examples: dict[str, Any]) -> ConfigDict:
    """The configuration of what clients send."""
    return ConfigDict(extra="forbid", strict=True, json_schema_extra={"examples": [*examples]})


class JobChange(JobRequest):
    """Settings of a tuning job, named like the options of ``rocktune tune``."""

    model_config = body({"trials": 200, "seed": 2})


class JobCreate(JobChange):
    """A tuning job to submit."""

    model_config = body(
        {"workload": "load-quick", "trials": 90},
        {
            "workload": "external",
            "trials": 60,
            "objective": {"name": "fast", "metric": [{"name": "rate", "direction": "max"}]},
            "space": {
                "name": "mine",
                "parameter": [
                    {"name": "batch", "type": "int", "low": 1, "high": 64, "default": 8}
                ],
            },
        },
    )

    kind: Literal["tune"] = Field(default="tune", description="Kind of job.")
    workload: str = Field(min_length=1, max_length=100, description="Name of a workload.")


def kind_in(body: Any) -> str:
    """The kind that a body asks for; without one it tunes."""
    told = body.get("kind", "tune") if isinstance(body, dict) else getattr(body, "kind", "tune")
    return told if isinstance(told, str) else ""


JobAsked = Annotated[
    Annotated[JobCreate, Tag("tune")]
    | Annotated[CompareRequest, Tag("compare")]
    | Annotated[UpgradeCheckRequest, Tag("upgrade-check")]
    | Annotated[ExplainRequest, Tag("explain")]
    | Annotated[ProfileCheckRequest, Tag("profile-check")],
    Discriminator(kind_in),
]
"""A job of any kind, to be made."""


class Best(BaseModel):
    """The fittest new configuration so far; not proven yet."""

    trial: int
    fitness: float


class JobProgress(BaseModel):
    """Progress of a job: state, phase with its reason, and counts."""

    id: int
    kind: JobKind = Field(default=JobKind.TUNE, description="Kind of job.")
    state: JobState
    phase: str | None = Field(
        description="baseline, sample, rank, search or confirm; null for an experiment."
    )
    why: str = Field(description="Reason for the state and phase.")
    error: str | None = Field(description="Why the job failed, if it did.")
    priority: int
    submitter: str | None
    created_at: datetime
    updated_at: datetime
    done: int = Field(description="Number of completely measured trials.")
    failed: int = Field(description="Number of other ended trials, cut-off ones included.")
    cut_off: int = Field(default=0, description="Number of cut-off trials.")
    total: int | None = Field(description="Total trials; null until a time limit is converted.")
    best: Best | None
    seconds_left: float | None = Field(description="Estimate; null before the first trial.")
    workload: str
    title: str | None = Field(default=None, description="Question of an experiment, in words.")
    space: str | None
    objective: str | None
    strategy: str | None

    @classmethod
    def of(cls, job: JobRow | ListedJob) -> JobProgress:
        """From a stored job."""
        return cls(**_progress(job))


class JobPublic(JobProgress):
    """A job with its whole specification."""

    run: int = Field(description="Number of times that it was queued.")
    counts: dict[str, int] = Field(description="Number of ended trials by state.")
    bench_seconds: float
    specification: dict[str, Any]
    environment: dict[str, Any] | None = Field(description="Machine and RocksDB, once known.")

    @classmethod
    def of(cls, job: JobRow | ListedJob) -> JobPublic:
        """From a stored job."""
        assert isinstance(job, JobRow)
        standing = job.standing or {}
        return cls(
            **_progress(job),
            run=job.run,
            counts=standing.get("counts", {}),
            bench_seconds=standing.get("bench_seconds", 0.0),
            specification=public_specification(job.specification),
            environment=dict(job.environment) if job.environment else None,
        )


class JobPage(BaseModel):
    """A page of jobs; ``next`` is the ``after`` of the next page, null at the end."""

    jobs: list[JobProgress]
    next: int | None

    @classmethod
    def of(cls, rows: Sequence[ListedJob], limit: int) -> JobPage:
        """A page of ``limit`` jobs at most, and where the next one begins."""
        following = rows[-1].id if len(rows) == limit else None
        return cls(jobs=[JobProgress.of(row) for row in rows], next=following)


def public_specification(specification: Mapping[str, Any]) -> dict[str, Any]:
    """A specification as it may be shown: the operator's command lines may hold secrets."""
    workload = dict(specification["workload"])  # an experiment's has a name alone
    if "command" in workload:
        workload["command"] = {**workload["command"], "argv": ["(the operator's own)"]}
    return {**specification, "workload": workload}


def _progress(job: JobRow | ListedJob) -> dict[str, Any]:
    standing, asked = job.standing or {}, dict(job.asked)
    trials = asked.pop("trials")
    return {
        **{name: getattr(job, name) for name in _AS_STORED},
        "phase": job.phase.value if job.phase else None,
        "why": job.why or _WHY[job.state],
        "done": standing.get("done", 0),
        "failed": standing.get("failed", 0),
        "cut_off": standing.get("counts", {}).get(TrialState.CENSORED.value, 0),
        "total": standing.get("total", trials),
        "best": standing.get("best"),
        "seconds_left": standing.get("seconds_left"),
        **asked,
    }


_AS_STORED = ("id", "kind", "state", "error", "priority", "submitter", "created_at", "updated_at")
_WHY = {
    JobState.QUEUED: "waits to start",
    JobState.RUNNING: "has started",
    JobState.DONE: "all trials are done",
    JobState.FAILED: "see error",
    JobState.CANCELLED: "cancelled",
}


# Beyond it a change in percent could be more than a number can hold.
_MOST = 1e100
Measured = Annotated[float, Field(ge=-_MOST, le=_MOST)]


class TrialPublic(BaseModel):
    """A trial."""

    number: int
    phase: str
    purpose: str
    state: TrialState
    subject: int | None = Field(description="First trial with this configuration.")
    attempt: int
    given: bool = Field(description="Whether it was measured before the job and imported.")
    why: str
    configuration: dict[str, Any]
    effective: dict[str, Any] | None = Field(description="Values that RocksDB really used.")
    metrics: dict[str, float]
    failure: str | None
    warnings: list[str]
    host: str | None
    bench_seconds: float
    started_at: datetime | None
    finished_at: datetime | None

    @classmethod
    def of(cls, trial: Trial) -> TrialPublic:
        """From a stored trial; what is stored is sound, and a page has a thousand of them."""
        values = {name: getattr(trial, name) for name in cls.model_fields}
        return cls.model_construct(**values | {"warnings": list(trial.warnings)})


class TrialPage(BaseModel):
    """A page of trials; ``next`` is the ``after`` of the next page, null at the end."""

    trials: list[TrialPublic]
    next: int | None

    @classmethod
    def of(cls, rows: Sequence[Trial], limit: int) -> TrialPage:
        """A page of ``limit`` trials at most, and where the next one begins."""
        following = rows[-1].number if len(rows) == limit else None
        return cls.model_construct(trials=[TrialPublic.of(row) for row in rows], next=following)


class Suggestion(BaseModel):
    """A configuration to measure."""

    number: int = Field(description="Number to report the result under.")
    attempt: int
    phase: str
    purpose: str
    why: str
    configuration: dict[str, Any] = Field(description="Value of every active parameter.")

    @classmethod
    def of(cls, trial: Trial) -> Suggestion:
        """From a proposal."""
        return cls(**{name: getattr(trial, name) for name in cls.model_fields})


class SuggestionsCreate(BaseModel):
    """A request for configurations to measure."""

    model_config = body({"count": 4})

    count: Whole = Field(default=1, ge=1, le=1000)
    reclaim_seconds: float | None = Field(
        default=None, gt=0, le=1e9, description="Age at which open suggestions are given again."
    )


class Suggestions(BaseModel):
    """Configurations to measure now."""

    suggestions: list[Suggestion]
    why: str = Field(description="Reason if there are fewer than asked for.")
    complete: bool = Field(description="Whether the job is done and has a result.")

    @classmethod
    def of(cls, asked: AskedTrials) -> Suggestions:
        """From what the job proposes."""
        made = [Suggestion.of(trial) for trial in asked.trials]
        return cls(suggestions=made, why=asked.why, complete=asked.complete)


class TrialCreate(BaseModel):
    """The result of a suggestion (``number``), or a trial measured before the job."""

    model_config = body(
        {"number": 1, "metrics": {"rate": 101000.0}},
        {"number": 2, "state": "failed", "failure": "it ran out of memory"},
        {"configuration": {"batch": 16}, "metrics": {"rate": 99000.0}},
    )

    number: Whole | None = Field(default=None, ge=1, le=2**31 - 1)
    attempt: Whole | None = Field(default=None, ge=1, le=2**31 - 1)
    baseline: bool = Field(default=False, description="Run of the baseline, measured before.")
    configuration: dict[str, JsonValue] | None = Field(
        default=None, description="Measured configuration; the rest is the baseline's."
    )
    state: Literal["done", "failed", "timed_out", "lost"] = "done"
    metrics: dict[str, Measured] = Field(default={}, max_length=500)
    failure: str | None = Field(default=None, max_length=10_000)
    host: str | None = Field(default=None, max_length=200)
    bench_seconds: float = Field(default=0.0, ge=0, le=1e9)

    def told(self) -> ReportedTrial:
        """As the job takes it."""
        from jobs.external import ReportedTrial

        return ReportedTrial(**self.model_dump() | {"state": TrialState(self.state)})


class TrialsCreate(BaseModel):
    """Trials measured elsewhere."""

    model_config = body({"trials": [{"number": 1, "metrics": {"rate": 1e5}}]})

    trials: list[TrialCreate] = Field(min_length=1, max_length=5000)


class TrialsKept(BaseModel):
    """The trials as they are stored, in the order of the request."""

    trials: list[TrialPublic]
