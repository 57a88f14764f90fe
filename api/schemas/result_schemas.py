"""What a job has found, over the wire. Rows are those of result.json."""

from typing import Any

from pydantic import BaseModel, Field


class Ranking(BaseModel):
    """Parameters, the most important first."""

    final: bool = Field(
        description="False while the job runs: this is what it has learned so far."
    )
    parameters: list[dict[str, Any]]
    forest: dict[str, dict[str, Any]] = Field(
        description="How well random forests learned each metric from all trials, and their "
        "strongest pairs. Each parameter's shares by functional analysis of variance are in its "
        "`importance`, those by the Gaussian process are its `model`."
    )
    models: dict[str, dict[str, Any]] = Field(
        default={},
        description="How well Gaussian processes learned each metric from all trials; empty of "
        "too few.",
    )
    shown_first: dict[str, str] = Field(
        default={},
        description="By metric, forest or process: which predicts unseen trials better. Ranks "
        "and shares are by that.",
    )
    anova_power: dict[str, Any] | None = Field(
        default=None,
        description="What the analysis of variance of the draws alone could have seen; of fewer "
        "than `least` it ranks nothing.",
    )
    trust: list[str] = Field(default=[], description="How far to trust the ranking, in words.")
    disagreement: list[str] = Field(
        default=[], description="Where forest and process disagree on the top five, in words."
    )
    ranked_by: str = Field(
        default="forests", description="models of all trials, or forests of the draws alone."
    )


class AnovaRow(BaseModel):
    """One parameter's effect on one metric, tested for each parameter alone."""

    parameter: str
    metric: str
    f: float | None
    p: float | None
    p_holm: float | None = Field(
        description="Corrected for all parameters and metrics of the job (Holm)."
    )
    eta_squared: float | None = Field(description="The share of the variance that it explains.")
    omega_squared: float | None = Field(
        default=None, description="The same, corrected for what groups without meaning explain."
    )
    groups: list[dict[str, Any]]


class Anova(BaseModel):
    """The analysis of variance, the smallest p first where there are draws enough to rank."""

    final: bool
    rows: list[AnovaRow]
    words: str | None = Field(
        default=None, description="The smallest effect that so many draws could have shown."
    )


class ParetoPoint(BaseModel):
    """A trial that no other beats in every metric of the objective."""

    number: int
    metrics: dict[str, float]
    configuration: dict[str, Any]


class FrontGrowth(BaseModel):
    """A trial that enlarged the front."""

    trial: int
    value: float = Field(description="The hypervolume with it; the baseline alone has 1.")


class ParetoFront(BaseModel):
    """The trials between which only taste decides; those that break a limit do not count."""

    metrics: list[str]
    baseline: dict[str, float] = Field(
        default={}, description="What the baseline has, of a front of two metrics."
    )
    points: list[ParetoPoint]
    hypervolume: list[FrontGrowth] = Field(
        description="How the front grew: what it covers of all trades between the metrics, down "
        "to twice the baseline's figure where less is better and to 0 where more is. Empty for a "
        "job of an earlier version."
    )


class Contributions(BaseModel):
    """What each parameter gained in a search that varied one after the other.

    The gains are those of the runs that chose, mostly single ones: flattered, and not proven.
    """

    steps: list[dict[str, Any]] = Field(
        description="Every value that was kept, in order, against the configuration before it."
    )
    parameters: list[dict[str, Any]] = Field(
        description="The largest gain first: in fitness, in percent of the whole gain (share), "
        "and in percent of each metric (change)."
    )
    fitness: float = Field(description="Of the last configuration, by the runs that chose it.")
    swept: list[str]
    idle: list[str] = Field(description="Did nothing in the configuration of their turn.")
    left: list[str] = Field(description="What the budget did not reach.")
    passes: int
    why: str = Field(description="How far the search came.")


class Explained(BaseModel):
    """Why the winner is better. Figures are of fitness, each with its 95% interval."""

    trials: int = Field(description="How many trials the models have learned from.")
    predicted: dict[str, float] = Field(description="What they expect of the winner.")
    steps: list[dict[str, Any]] = Field(
        description="The path from the baseline to the winner, each step on top of those before."
    )
    minimal: dict[str, Any] | None = Field(
        description="The fewest changes that are as good; null: the models do not see the gain."
    )
    measured: dict[str, Any] | None = Field(
        description="What real runs say of it (`rocktune explain ID --runs N`); null: none did."
    )


class ChartPublic(BaseModel):
    """One plot."""

    name: str
    title: str = Field(description="What to read from it.")
    caption: str = Field(description="What is drawn.")
    figure: dict[str, Any] = Field(description="Plotly's data and layout.")


class JobCharts(BaseModel):
    """The plots of a job, of which points are thinned and the best never left out."""

    charts: list[ChartPublic]


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
    difference: str | None = Field(
        default=None,
        description="What it changes in the job's own OPTIONS file, as a unified diff; null "
        "without one.",
    )
