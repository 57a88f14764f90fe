"""Jobs over the wire."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from db.schema.job_row import JobKind, JobRow, JobState, ListedJob
from jobs.specification.experiments import (
    CompareRequest,
    ExplainRequest,
    ProfileCheckRequest,
    UpgradeCheckRequest,
)
from jobs.specification.request import JobRequest
from sampler.runner.outcome import TrialState


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
