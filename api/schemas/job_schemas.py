"""Jobs over the wire."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from api.http.whole import Whole
from db.jobs.job_list import ListedJob
from db.schema.job_row import JobRow, JobState
from optimizer.strategies.registry import DEFAULT_STRATEGY
from sampler.runner.outcome import TrialState

Bytes = Annotated[Whole, Field(ge=0, le=2**60)]
BytesText = Annotated[str, Field(max_length=30)]
LimitText = Annotated[str, StringConstraints(max_length=300)]
DetectText = Annotated[str, Field(max_length=220)]
Percent = Annotated[float, Field(allow_inf_nan=False)]
StartName = Annotated[str, StringConstraints(max_length=100)]
JobNumber = Annotated[Whole, Field(ge=1, le=2**63 - 1)]


class StartFile(BaseModel):
    """An OPTIONS file to begin at."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: str = Field(min_length=1, max_length=200, description="What it is called in reports.")
    options: str = Field(min_length=1, max_length=500_000, description="Its text.")


class JobChange(BaseModel):
    """What a job is asked to be; the same names as the options of ``rocktune tune``."""

    model_config = ConfigDict(
        extra="forbid", strict=True, json_schema_extra={"examples": [{"trials": 200, "seed": 2}]}
    )

    workload: str = Field(default="", max_length=100, description="A registered name.")
    space: str | dict[str, Any] = Field(
        default="default", description="A shipped name, or a space as its TOML file would hold it."
    )
    objective: str | dict[str, Any] = Field(
        default="paper",
        description="A shipped name, or an objective as its file would hold it. Left out: paper, "
        "or reading where the workload reads a prepared database.",
    )
    limits: list[LimitText] | None = Field(
        default=None,
        max_length=50,
        description="Added to those of the objective, as 'rate >= 0.95 baseline' or "
        "'write_p99 <= 200us'. In a clone they stand instead of all limits of its objective.",
    )
    strategy: str = Field(
        default=DEFAULT_STRATEGY,
        max_length=100,
        description="Guided by models by default; genetic is the reference paper's.",
    )
    baseline: Literal["library", "db_bench"] | None = Field(
        default=None, description="Else the space's own."
    )
    baseline_options: str | None = Field(
        default=None, max_length=500_000, description="The text of an OPTIONS file, to beat that."
    )
    drop_unknown: bool | None = Field(
        default=None,
        description="Leave options of that file that RocksDB does not know out while measuring, "
        "and keep them in the file that is handed back.",
    )
    trials: Whole | None = Field(
        default=None, description="Runs in all, 12 or more; 96 by default."
    )
    minutes: float | None = Field(
        default=None, description="Time instead of trials.", allow_inf_nan=False
    )
    memory: Bytes | BytesText | None = Field(
        default=None, description="Bytes, or as 512MiB; the baseline's by default."
    )
    scale: Whole | None = Field(default=None, description="Divisor of byte-sized options.")
    confirm_scale: Whole | None = Field(
        default=None,
        description="Choose and prove the winner at this scale, below that of the search, with as "
        "many times more keys; the same by default.",
    )
    seed: Whole = Field(default=1, description="Everything random comes from it.")
    samples: Whole | None = Field(
        default=None,
        ge=1,
        le=1_000_000,
        description="Drawn before the search; by default 20 of forest, of genetic half of all.",
    )
    top: Whole | None = Field(
        default=None,
        ge=1,
        le=1000,
        description="genetic searches so many of the most important parameters; 5 by default.",
    )
    over: list[Annotated[str, StringConstraints(max_length=200)]] | None = Field(
        default=None, max_length=500, description="Search these parameters alone."
    )
    generations: Whole | None = Field(default=None, ge=1, le=1_000_000)
    fitness: float | None = Field(default=None, allow_inf_nan=False)
    stop_early: bool | None = None
    cutoff: float | None = Field(
        default=None,
        ge=0,
        le=1e6,
        allow_inf_nan=False,
        description="Cut runs off at this many times the baseline's time; 4 by default, 0: never.",
    )
    detect: DetectText | Percent | None = Field(
        default=None,
        description="Plan the proof to show such a change, as 5% or rate=5%, by the noise; "
        "a number is in percent.",
    )
    start_from: list[StartName | StartFile] | None = Field(
        default=None,
        max_length=20,
        description="Measured first: names of starting points, or OPTIONS files as objects of "
        "name and options; ['none'] for none. By default the usual points with forest.",
    )
    warm_start: Literal["auto", "none"] | JobNumber | None = Field(
        default=None,
        description="Let forest learn from earlier jobs of the same service: auto for similar "
        "ones of the same hosts, or the number of one; none by default.",
    )
    db_bench: str | None = Field(
        default=None,
        max_length=64,
        description="The RocksDB build that measures, by the name that hosts know it by "
        "(`builds` under /v1/hosts); each host's default else. No path.",
    )
    host_kind: str | None = Field(
        default=None, max_length=64, description="The kind of hosts that it is for; else any."
    )
    priority: Whole = Field(
        default=0, ge=-1000, le=1000, description="Of queued jobs the highest goes first."
    )


class JobCreate(JobChange):
    """A job to be made."""

    model_config = ConfigDict(
        extra="forbid",
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
        },
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
            specification=without_secrets(job.specification),
            environment=dict(job.environment) if job.environment else None,
        )


class JobPage(BaseModel):
    """Jobs in the order asked for; ``next`` is the ``after`` of the next page, null at the end."""

    jobs: list[JobProgress]
    next: int | None


def without_secrets(specification: Mapping[str, Any]) -> dict[str, Any]:
    """A specification as it may be shown: the operator's command lines may hold secrets."""
    workload = dict(specification["workload"])
    if "command" in workload:
        workload["command"] = {**workload["command"], "argv": ["(the operator's own)"]}
    return {**specification, "workload": workload}


def _progress(job: JobRow | ListedJob) -> dict[str, Any]:
    standing = job.standing or {}
    return {
        "id": job.id,
        "state": job.state,
        "phase": job.phase.value if job.phase else None,
        "why": job.why or _WHY[job.state],
        "error": job.error,
        "priority": job.priority,
        "submitter": job.submitter,
        "created_at": job.created_at,
        "updated_at": job.updated_at,
        "done": standing.get("done", 0),
        "failed": standing.get("failed", 0),
        "cut_off": standing.get("counts", {}).get(TrialState.CENSORED.value, 0),
        "total": standing.get("total", _asked(job)),
        "best": standing.get("best"),
        "seconds_left": standing.get("seconds_left"),
        **_names(job),
    }


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
        return {
            "workload": job.workload,
            "space": job.space,
            "objective": job.objective,
            "strategy": job.strategy,
        }
    asked = job.specification
    named = {part: asked[part]["name"] for part in ("workload", "space", "objective")}
    return {**named, "strategy": asked["strategy"]}
