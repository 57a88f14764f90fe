"""What needs no job, over the wire: what one may name, the hosts, KIOXIA's guide."""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field

from api.schemas.job_schemas import body
from sampler.workload.load_class import LoadClass


class CatalogueEntry(BaseModel):
    """A workload, space or objective: its document, as its TOML file would hold it."""

    name: str
    help: str
    document: dict[str, Any]


class WorkloadCreate(BaseModel):
    """A workload to be named by jobs, and what is known of the database that it stands for."""

    model_config = body(
        {
            "workload": {"name": "my-db", "num": 100_000, "value_size": 400},
            "profile": {"families": [{"name": "default", "key_size": 16}]},
        }
    )

    workload: dict[str, Any] = Field(
        description="As its TOML file would hold it, in at most 64 KiB; it names no program and "
        "no file."
    )
    profile: dict[str, Any] | None = Field(
        default=None,
        description="What `rocktune profile --json` prints, in at most 256 KiB; what is not known "
        "of it is left out.",
    )
    baseline_options: str | None = Field(
        default=None,
        min_length=1,
        max_length=500_000,
        description="The text of the database's OPTIONS file: the baseline of jobs of this "
        "workload that ask for none.",
    )


class WorkloadEntry(CatalogueEntry):
    """A workload that a job may name."""

    origin: Literal["shipped", "operator", "uploaded"]
    load_class: LoadClass | None = Field(
        description="What it does most; null of a benchmark of somebody's own."
    )
    data_bytes: int | None = Field(
        description="Of all keys that there may be with their values, before compression."
    )


class WorkloadPublic(WorkloadEntry):
    """A workload with all that is known of it; the last four are null unless it was uploaded."""

    submitter: str | None = Field(default=None, description="The name of the token that sent it.")
    uploaded_at: datetime | None = None
    profile: dict[str, Any] | None = None
    baseline_options: str | None = None


class StartEntry(BaseModel):
    """Settings that a search may begin at."""

    name: str
    help: str
    source: str = Field(description="Where they are said.")
    usual: bool = Field(
        description="Whether jobs of some class begin there unless told otherwise."
    )
    classes: list[str] = Field(
        default=[],
        description="The classes of those jobs: writing, mixed, "
        "reading or scans by their load, space where the objective is about space most of all.",
    )
    values: dict[str, Any] | None = Field(
        description="What it sets, full scale; what is not named stays at the baseline. A text of "
        "cores or memory is worked out for each job, from the CPU threads of its host and its "
        "memory for memtables; null: all is worked out, from its workload, too."
    )
    sources: dict[str, str] = Field(
        default={}, description="Of single options, where that is said."
    )


class HostPublic(BaseModel):
    """A bench host."""

    name: str
    seen_at: datetime | None = Field(description="Of one of terminals alone, its last job's end.")
    alive: bool = Field(description="It has shown up within the last minute.")
    job_id: int | None = Field(description="What it measures for, if anything.")
    environment: dict[str, Any]
    excluded: dict[str, Any] | None = Field(description="Its newest job, if that does without it.")
    worsened: bool = Field(description="Whether its newest job shows a change for the worse.")
    changes: list[dict[str, Any]] = Field(description="Of its figures over its last 100 jobs.")


class HostHistoryPublic(HostPublic):
    """A bench host with its figures in each job."""

    series: list[dict[str, Any]]


class GuidedLevel(BaseModel):
    """A full level of the tree."""

    level: int
    files: int
    bytes: int


class GuidedTotal(BaseModel):
    """All levels together."""

    files: int
    bytes: int


class GuideWarning(BaseModel):
    """Where the guide says that it should not be followed blindly."""

    setting: str = Field(examples=["max_bytes_for_level_base"])
    text: str


class GuideAnswer(BaseModel):
    """What the guide recommends."""

    planned: dict[str, int] = Field(description="What it was worked out for.")
    settings: dict[str, int] = Field(description="By the guide's own names.")
    files: dict[str, int] = Field(description="Of keys, of values, and the keys in each.")
    memtables: int = Field(description="All write buffers together.")
    levels: list[GuidedLevel]
    total: GuidedTotal
    translated: dict[str, bool | int | float | str] = Field(
        description="The same for RocksDB with integrated BlobDB, by parameter."
    )
    warnings: list[GuideWarning]
    options: dict[str, str] = Field(
        description="The text of OPTIONS.trocksdb.ini and of OPTIONS.rocksdb.ini."
    )
