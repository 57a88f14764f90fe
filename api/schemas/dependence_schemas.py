"""Partial dependence over the wire."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field


class DependenceCurve(BaseModel):
    """What the settings of a parameter do to a metric, in the mean over all others."""

    parameter: str
    metric: str
    share: float = Field(description="Of the variance over the whole space, without its pairs.")
    effect: list[float] = Field(
        description="At each setting, in percent of the metric against the mean of all settings."
    )
    low: list[float] = Field(description="Of the 95% interval, if the models are right.")
    high: list[float]


class PairTogether(BaseModel):
    """What two parameters do to a metric beyond what each does alone."""

    parameters: list[str]
    metric: str
    share: float = Field(description="Of the variance over the whole space.")
    beyond: list[list[float]] = Field(
        description="In percent; a row for each setting of the first, a column for each of the "
        "second."
    )


class Dependence(BaseModel):
    """How metrics depend on parameters, as models of all trials expect it."""

    trials: int = Field(description="How many the models have learned from.")
    unexplained: dict[str, float] = Field(
        description="By metric, the share of the variance that no setting explains."
    )
    settings: dict[str, list[Any]] = Field(
        description="By parameter, the settings that stand for its range; where its range depends "
        "on others, they are at the baseline."
    )
    curves: list[DependenceCurve] = Field(description="The largest share first.")
    pairs: list[PairTogether] = Field(description="The strongest first.")
