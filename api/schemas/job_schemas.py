"""Jobs over the wire."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from db.jobs.job_list import ListedJob
from db.schema.job_row import JobRow, JobState
from jobs.specification.request import JobRequest
from sampler.runner.outcome import TrialState


class JobChange(JobRequest):
    """What a job is asked to be; the same names as the options of ``rocktune tune``."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"trials": 200, "seed": 2}]})


class JobCreate(JobChange):
    """A job to be made."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"workload": "load-quick", "trials": 90},
                {
                    "workload": "external",
                    "trials": 60,
                    "objective": {
                        "name": "fast",
                        "metric": [{"name": "rate", "direction": "max"}],
                    },
                    "space": {
                        "name": "mine",
                        "parameter": [
                            {"name": "batch", "type": "int", "low": 1, "high": 64, "default": 8}
                        ],
                    },
                },
            ]
        }
    )

    workload: str = Field(min_length=1, max_length=100, description="A registered name.")


class Best(BaseModel):
    """The fittest new configuration so far; not proven yet."""

    trial: int
    fitness: float


class JobProgress(BaseModel):
    """How a job stands: always its phase, why it is in it, and how far it is."""

    id: int
    state: JobState
    phase: str | None = Field(description="baseline, sample, rank, search or confirm.")
    why: str = Field(description="Why it is in this state and phase.")
    error: str | None = Field(description="What ended it, when it failed.")
    priority: int
    submitter: str | None
    created_at: datetime
    updated_at: datetime
    done: int = Field(description="Trials with a whole measurement.")
    failed: int = Field(description="Trials that ended otherwise, cut-off ones included.")
    cut_off: int = Field(default=0, description="Those of them that were cut off.")
    total: int | None = Field(description="Trials in all; null while a time is not yet trials.")
    best: Best | None
    seconds_left: float | None = Field(description="An estimate; null before the first trial.")
    workload: str
    space: str
    objective: str
    strategy: str

    @classmethod
    def of(cls, job: JobRow | ListedJob) -> JobProgress:
        """From a stored job."""
        return cls(**_progress(job))


class JobPublic(JobProgress):
    """A job with all that was asked for."""

    run: int = Field(description="How often it was queued.")
    counts: dict[str, int] = Field(description="Ended trials by state.")
    bench_seconds: float
    specification: dict[str, Any]
    environment: dict[str, Any] | None = Field(description="What it is measured on, once known.")

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
    """Jobs in the order asked for; ``next`` is the ``after`` of the next page, null at the end."""

    jobs: list[JobProgress]
    next: int | None


def public_specification(specification: Mapping[str, Any]) -> dict[str, Any]:
    """A specification as it may be shown: the operator's command lines may hold secrets."""
    workload = dict(specification["workload"])
    if "command" in workload:
        workload["command"] = {**workload["command"], "argv": ["(the operator's own)"]}
    return {**specification, "workload": workload}


def _progress(job: JobRow | ListedJob) -> dict[str, Any]:
    standing = job.standing or {}
    return {
        **{name: getattr(job, name) for name in _AS_STORED},
        "phase": job.phase.value if job.phase else None,
        "why": job.why or _WHY[job.state],
        "done": standing.get("done", 0),
        "failed": standing.get("failed", 0),
        "cut_off": standing.get("counts", {}).get(TrialState.CENSORED.value, 0),
        "total": standing.get("total", _asked(job)),
        "best": standing.get("best"),
        "seconds_left": standing.get("seconds_left"),
        **_names(job),
    }


_AS_STORED = ("id", "state", "error", "priority", "submitter", "created_at", "updated_at")
_PARTS = ("workload", "space", "objective")
_WHY = {
    JobState.QUEUED: "waits to be run",
    JobState.RUNNING: "has been taken up",
    JobState.DONE: "all trials are in",
    JobState.FAILED: "see error",
    JobState.CANCELLED: "cancelled",
}


def _asked(job: JobRow | ListedJob) -> int | None:
    return job.trials if isinstance(job, ListedJob) else job.specification.get("trials")


def _names(job: JobRow | ListedJob) -> dict[str, str]:
    if isinstance(job, ListedJob):
        return {name: getattr(job, name) for name in (*_PARTS, "strategy")}
    asked = job.specification
    return {part: asked[part]["name"] for part in _PARTS} | {"strategy": asked["strategy"]}
