"""What needs no job, over the wire: what one may name, the hosts, KIOXIA's guide."""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field

from api.schemas.job_schemas import body
from sampler.workload.workload import LoadClass


class CatalogueEntry(BaseModel):
    """A workload, space or objective, with the fields of its TOML file."""

    name: str
    help: str
    document: dict[str, Any]


class WorkloadCreate(BaseModel):
    """A workload to upload, and what is known of the database that it imitates."""

    model_config = body(
        {
            "workload": {"name": "my-db", "num": 100_000, "value_size": 400},
            "profile": {"families": [{"name": "default", "key_size": 16}]},
        }
    )

    workload: dict[str, Any] = Field(
        description="Workload with the fields of a TOML file, at most 64 KiB; without programs "
        "and files."
    )
    profile: dict[str, Any] | None = Field(
        default=None,
        description="Output of `rocktune profile --json`, at most 256 KiB; unknown parts are left "
        "out.",
    )
    baseline_options: str | None = Field(
        default=None,
        min_length=1,
        max_length=500_000,
        description="Text of the database's OPTIONS file: the default baseline of jobs with this "
        "workload.",
    )


class WorkloadEntry(CatalogueEntry):
    """A workload that a job may name."""

    origin: Literal["shipped", "operator", "uploaded"]
    load_class: LoadClass | None = Field(
        description="What the load does most; null for a benchmark of your own."
    )
    data_bytes: int | None = Field(
        description="Bytes of all possible keys with their values, uncompressed."
    )


class WorkloadPublic(WorkloadEntry):
    """A workload in detail; the last four fields are null unless it was uploaded."""

    submitter: str | None = Field(default=None, description="Name of the uploader's token.")
    uploaded_at: datetime | None = None
    profile: dict[str, Any] | None = None
    baseline_options: str | None = None


class StartEntry(BaseModel):
    """A starting point of a search."""

    name: str
    help: str
    source: str = Field(description="Reference for the settings.")
    usual: bool = Field(description="Whether jobs of some class measure it by default.")
    classes: list[str] = Field(
        default=[],
        description="Classes of jobs that measure it by default: writing, mixed, reading or scans "
        "by the load, space if the objective is mainly about space.",
    )
    values: dict[str, Any] | None = Field(
        description="Values by parameter, at full scale; others stay at the baseline. Formulas of "
        "cores or memory are computed for each job, from the CPU threads of its host and its "
        "memory for memtables. null: all values are computed, also from the workload."
    )
    sources: dict[str, str] = Field(
        default={}, description="References for single parameters, if any."
    )


class HostPublic(BaseModel):
    """A bench host."""

    name: str
    seen_at: datetime | None = Field(description="Last time seen, or the end of its last job.")
    alive: bool = Field(description="Whether it was seen in the last minute.")
    job_id: int | None = Field(description="Job that it measures for, if any.")
    environment: dict[str, Any]
    excluded: dict[str, Any] | None = Field(description="Its newest job, if that job excluded it.")
    worsened: bool = Field(description="Whether its newest job shows a change for the worse.")
    changes: list[dict[str, Any]] = Field(description="Changes of figures in its last 100 jobs.")


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
    """A setting that the guide itself warns about."""

    setting: str = Field(examples=["max_bytes_for_level_base"])
    text: str


class GuideAnswer(BaseModel):
    """Recommendations of the guide."""

    planned: dict[str, int] = Field(description="Database and machine that it was computed for.")
    settings: dict[str, int] = Field(description="Values by the guide's own names.")
    files: dict[str, int] = Field(description="Counts: key files, value files, keys per file.")
    memtables: int = Field(description="Size of all write buffers together, in bytes.")
    levels: list[GuidedLevel]
    total: GuidedTotal
    translated: dict[str, bool | int | float | str] = Field(
        description="The settings translated for RocksDB with integrated BlobDB, by parameter."
    )
    warnings: list[GuideWarning]
    options: dict[str, str] = Field(
        description="Texts of OPTIONS.trocksdb.ini and OPTIONS.rocksdb.ini."
    )
