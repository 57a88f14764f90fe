"""A pick by preference, over the wire."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field


class ModelOpinion(BaseModel):
    """What models of the metrics, learned from all trials, expect of a configuration."""

    fitness: float
    low: float = Field(description="Of its 95% interval, if the models are right.")
    high: float
    keeps: float = Field(description="The probability that every limit is kept.")


class PickRow(BaseModel):
    """A configuration, judged by the means of its runs; clocks are corrected for drift."""

    trial: int
    runs: int
    fitness: float = Field(description="By the preference; 0 is the baseline.")
    terms: dict[str, float]
    metrics: dict[str, float]
    change: dict[str, float | None] = Field(description="Against the baseline, in percent.")
    configuration: dict[str, Any]
    model: ModelOpinion | None = Field(description="Null where it was not asked, or cannot tell.")
    proven_by_job: bool = Field(description="Whether the job proved it by its own objective.")


class PickBaseline(BaseModel):
    """What the picks are compared with."""

    metrics: dict[str, float]
    configuration: dict[str, Any]


class PickAnswer(BaseModel):
    """The best of what a job has measured, by a preference."""

    standing: str = Field(description="How sure it is.", examples=["explored, not proven"])
    objective: dict[str, Any] = Field(description="The preference, as its TOML file would be.")
    limits: list[str]
    judged: int = Field(description="How many configurations were measured.")
    keeping: int = Field(description="How many of them keep every limit.")
    baseline: PickBaseline
    picks: list[PickRow] = Field(description="The fittest first.")
    options: str | None = Field(
        description="The OPTIONS file of the first; null where it neither is better than the "
        "baseline nor keeps a limit that the baseline breaks."
    )
