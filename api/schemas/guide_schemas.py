"""The answer of the tuning guide over the wire. Sizes are bytes."""

from __future__ import annotations

from pydantic import BaseModel, Field


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
