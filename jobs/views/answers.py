"""What a job answers beside its result, as typed documents: rankings, fronts, picks, plots."""

from typing import Any

from pydantic import BaseModel, Field

from optimizer.results.document import FrontGrowth
from optimizer.results.ranking import EffectTest, ParameterRanking


class Ranking(ParameterRanking):
    """Parameters, the most important first."""

    final: bool = Field(description="False while the job runs: the ranking so far.")
    trust: list[str] = Field(default=[], description="How far to trust the ranking, in words.")
    disagreement: list[str] = Field(
        default=[], description="Differences of forest and process in the top five, in words."
    )


class AnovaRow(EffectTest):
    """One parameter's effect on one metric, tested for each parameter alone."""

    parameter: str
    metric: str


class Anova(BaseModel):
    """The analysis of variance, smallest p first if there are enough draws to rank."""

    final: bool
    rows: list[AnovaRow]
    words: str | None = Field(
        default=None, description="Smallest detectable effect with these draws."
    )


class ParetoPoint(BaseModel):
    """A trial of the front: no other beats it in every metric."""

    number: int
    metrics: dict[str, float]
    configuration: dict[str, Any]


class ParetoFront(BaseModel):
    """The Pareto front, without trials that break a limit."""

    metrics: list[str]
    baseline: dict[str, float] = Field(
        default={}, description="Metrics of the baseline, for a front of two metrics."
    )
    points: list[ParetoPoint]
    hypervolume: list[FrontGrowth] = Field(
        description="Growth of the front. The reference point is twice the baseline's value for "
        "metrics to minimise and 0 for metrics to maximise. Empty for a job of an earlier version."
    )


class ChartPublic(BaseModel):
    """One plot."""

    name: str
    title: str = Field(description="Conclusion to read from the plot.")
    caption: str = Field(description="Explanation of what is drawn.")
    figure: dict[str, Any] = Field(description="Data and layout for Plotly.")


class JobCharts(BaseModel):
    """The plots of a job. Points are thinned; the best point is always kept."""

    charts: list[ChartPublic]


class ModelOpinion(BaseModel):
    """Prediction for a configuration, by models of all trials."""

    fitness: float
    low: float = Field(description="Lower end of the 95% interval, if the models are right.")
    high: float
    keeps: float = Field(description="Probability that every limit is kept.")


class PickRow(BaseModel):
    """A configuration, judged by the means of its runs; clocks are corrected for drift."""

    trial: int
    runs: int
    fitness: float = Field(description="Fitness by the preference; 0 is the baseline.")
    terms: dict[str, float]
    metrics: dict[str, float]
    change: dict[str, float | None] = Field(description="Change against the baseline, in percent.")
    configuration: dict[str, Any]
    model: ModelOpinion | None = Field(description="Null if not asked for, or unknown.")
    proven_by_job: bool = Field(description="Whether the job proved it by its own objective.")


class PickBaseline(BaseModel):
    """The baseline that the picks are compared with."""

    metrics: dict[str, float]
    configuration: dict[str, Any]


class PickAnswer(BaseModel):
    """The best measured configurations of a job by a preference."""

    standing: str = Field(description="Certainty of the picks.", examples=["explored, not proven"])
    objective: dict[str, Any] = Field(description="Preference, with the fields of a TOML file.")
    limits: list[str]
    judged: int = Field(description="Number of measured configurations.")
    keeping: int = Field(description="Number of these that keep every limit.")
    baseline: PickBaseline
    picks: list[PickRow] = Field(description="Fittest first.")
    options: str | None = Field(
        description="OPTIONS file of the first pick; null if it is not better than the baseline "
        "and keeps no limit that the baseline breaks."
    )
    difference: str | None = Field(
        default=None,
        description="Changes to the job's own OPTIONS file, as a unified diff; null without such "
        "a file.",
    )
