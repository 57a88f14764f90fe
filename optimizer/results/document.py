"""The result of a job as a typed document: what result.json holds, read and written here alone.

A result holds facts; titles, sentences and tables are made of it by ``jobs.report``. Fields with
a default are those that results of earlier versions lack; keys that are not known here are kept.
A ``scope`` is the column family that a figure or an option belongs to; None: the whole database.
"""

from collections.abc import Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field

from optimizer.confirmation.paired_tests import Change
from optimizer.objective.objective import OPEN, Objective, limit_words
from optimizer.objective.objective_file import objective_from_document

Metrics = dict[str, float | None]
Configuration = dict[str, Any]


def tested_fitness(verdict: Mapping[str, Any]) -> float | None:
    """The fitness that a proof tested: the centre of the interval that stands beside it.

    In results of earlier versions ``fitness`` is of the medians of both sides instead.
    """
    low, high = verdict.get("low"), verdict.get("high")
    return verdict.get("fitness") if low is None or high is None else (low + high) / 2


class Part(BaseModel):
    """A part of the document; a key that another version wrote is kept."""

    model_config = ConfigDict(frozen=True, extra="allow", populate_by_name=True)


class MetricChange(Part):
    """How a metric differs from the baseline's over the pairs of the proof, in percent."""

    percent: float
    low: float  # low, high: 95% interval
    high: float
    p: float | None = None
    p_adjusted: float | None = None
    detectable: float | None = None  # the smallest rise that would have been named
    scope: str | None = None

    @property
    def change(self) -> Change:
        """As the proof computes with it."""
        return Change.of(self.model_dump())


class Estimate(Part):
    """A prediction of the job's models, with its 95% interval."""

    expected: float
    low: float
    high: float


class Noise(Part):
    """How a metric of the baseline scatters and drifts over the job."""

    median: float | None = None
    spread: float | None = None  # standard deviation over the median
    drift_p: float | None = None
    drifting: bool = False
    range: tuple[float, float] | None = None  # of the drift, relative to the median


class Baseline(Part):
    """The baseline of the proof."""

    metrics: Metrics
    runs: int = 0
    configuration: Configuration = {}
    noise: dict[str, Noise] = {}


class OptionChange(Part):
    """An option that the best configuration changes: by its family and its name."""

    name: str
    value: Any
    baseline: Any = None
    reason: str = ""
    rule: bool = False  # whether it only follows another option
    gain: Estimate | None = None
    apply: dict[str, str | None] | None = None  # how RocksDB takes it
    scope: str | None = None


class Fullest(Part):
    """The best candidate with more changes than the winner, measured beside it, unproven."""

    trial: int
    configuration: Configuration
    changes: int
    fitness: float
    best_fitness: float  # the winner's in the same runs
    runs: int


class Best(Part):
    """The proven winner."""

    trial: int
    configuration: Configuration
    metrics: Metrics
    fitness: float
    runs: int
    change: dict[str, MetricChange]
    terms: dict[str, float] = {}
    confirmed: bool = True
    changes: list[OptionChange] = []
    fullest: Fullest | None = None


class JudgedLimit(Part):
    """How the winner stands to one bound of a limit."""

    limit: str
    metric: str
    at_most: float | None = None
    at_least: float | None = None
    value: float | None = None  # the median of the winner's runs
    kept: bool | None = None  # None where there was no proof
    runs_kept: int | None = None
    runs: int | None = None
    standing: str | None = None  # None of earlier versions: the median alone decided
    margin: float | None = None  # percent of the bound
    p: float | None = None
    assured: str = ""
    scope: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether the median keeps it, and only the certainty is missing."""
        least, most = self.at_least, self.at_most
        within = self.value is not None and (least is None or self.value >= least)
        return self.standing == OPEN and within and (most is None or (self.value or 0) <= most)


class Loss(MetricChange):
    """A metric that is surely worse, and by more than a fifth."""

    metric: str
    name: str


class Price(Part):
    """What was measured beside the objective."""

    measured: list[str] = []
    not_measured: dict[str, str] = {}
    losses: list[Loss] = []


class Verdict(Part):
    """The deciding test, passed or not."""

    confirmed: bool = False
    fitness: float | None = None
    pairs: int
    why: str
    metrics: Metrics
    change: dict[str, MetricChange]
    trial: int | None = None
    trade: str | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    limits: list[JudgedLimit] = []
    price: Price = Price()

    @property
    def tested_fitness(self) -> float | None:
        """The fitness that the test decides by."""
        return tested_fitness(self.model_dump(include={"fitness", "low", "high"}))

    @property
    def changes(self) -> dict[str, Change]:
        """By metric, as the proof computes with them."""
        return {name: each.change for name, each in self.change.items()}


class Ahead(Part):
    """How much fitter the winner is than another configuration in the same blocks."""

    fitness: float
    low: float
    high: float
    p: float | None = None


class StartingPoint(Part):
    """The best starting point beside the winner, by the proof's own blocks."""

    trial: int
    name: str
    configuration: Configuration
    is_best: bool
    fitness: float | None = None
    low: float | None = None
    high: float | None = None
    pairs: int = 0
    ahead: Ahead | None = None
    change: dict[str, MetricChange] | None = None


class NoTrade(Part):
    """The best configuration that is worse than the baseline in no term of the objective."""

    trial: int
    configuration: Configuration
    is_best: bool
    fitness: float
    terms: dict[str, float]
    metrics: Metrics
    proven: bool = False
    runs: int | None = None
    limits: list[str] = []


class SteppedOption(Part):
    """An option that a step of the path changes."""

    name: str
    before: Any = Field(alias="from")
    after: Any = Field(alias="to")
    scope: str | None = None


class Step(Part):
    """One step of the path from the baseline to the winner."""

    changes: list[SteppedOption]
    fixed: bool
    gain: Estimate
    fitness: Estimate
    metrics: dict[str, Estimate] = {}


class Minimal(Part):
    """The fewest changes that are as good, by the models."""

    kept: list[str]
    dropped: list[str]
    configuration: Configuration = {}
    loss: Estimate
    noise: float
    fitness: Estimate | None = None
    refused: str | None = None


class Explanation(Part):
    """Why the winner is better. Figures are fitness with 95% intervals."""

    trials: int = Field(description="Number of trials that the models learned from.")
    predicted: Estimate = Field(description="Prediction for the winner.")
    steps: list[Step] = Field(
        description="Path from the baseline to the winner; each step adds to those before."
    )
    minimal: Minimal | None = Field(
        default=None,
        description="Fewest changes that are as good; null if the models see no gain.",
    )
    measured: dict[str, Any] | None = Field(
        default=None,
        description="Measured runs (`rocktune explain ID --runs N`); null if there are none.",
    )


class Power(Part):
    """What the fresh pairs could have shown."""

    level: float = 0.8
    pairs: int = 0
    smallest_change: dict[str, float | None] = {}
    fitness: float | None = None
    planned: dict[str, Any] | None = None


class ParameterImportance(Part):
    """What is learned of one parameter, by metric."""

    name: str
    rank: int
    share: float = 0.0
    workload_factor: bool = False
    searched: bool = True
    importance: dict[str, dict[str, float | None]] = {}  # by the forest
    model: dict[str, dict[str, float | None]] = {}  # by the Gaussian process
    anova: dict[str, dict[str, Any]] = {}
    matters: bool = False
    better: Any = None  # the setting with the best expected fitness
    gain: float | None = None
    scope: str | None = None


class Quality(Part):
    """How well a model predicts unseen trials."""

    r2: float | None = None
    r2_cross_validated: float | None = None
    r2_cross_validated_std: float | None = None
    trials: int = 0
    kendall_tau: float | None = None
    noise: float | None = None
    pairs: list[dict[str, Any]] = []


class Ranking(Part):
    """Parameters by importance, and what the order rests on: of a job that goes on, too."""

    parameters: list[ParameterImportance]
    forest: dict[str, Quality] = Field(
        description="Quality of the random forests of all trials, by metric. The impurity and "
        "the permutation importance of a parameter are in its `importance`; its shares of the "
        "variance are in its `model` (Gaussian process)."
    )
    models: dict[str, Quality] = Field(
        default={},
        description="Quality of the Gaussian processes, by metric; empty with too few trials.",
    )
    shown_first: dict[str, str] = Field(
        default={},
        description="By metric, the model that ranks and shares are by: process; in results of "
        "earlier versions forest where that predicts unseen trials better.",
    )
    anova_power: dict[str, Any] | None = Field(
        default=None,
        description="Effects that the analysis of variance of the draws can detect; with fewer "
        "than `least` draws it ranks nothing.",
    )
    ranked_by: str = Field(
        default="forests", description="models (of all trials) or forests (of the draws)."
    )
    sampling: dict[str, Any] | None = None


class Gained(Part):
    """What one parameter gained in a search that varies one after the other."""

    name: str
    gain: float
    before: Any = Field(default=None, alias="from")
    after: Any = Field(default=None, alias="to")
    change: dict[str, float] = {}
    values: int = 0
    share: float | None = None
    scope: str | None = None


class Contributions(Part):
    """Gain of each parameter in a search that varied one after the other.

    Gains are from the runs that chose the values, mostly single runs: overestimated, not proven.
    """

    steps: list[dict[str, Any]] = Field(
        description="Kept values in order, each against the configuration before it."
    )
    parameters: list[Gained] = Field(
        description="Largest gain first: in fitness, in percent of the whole gain (share), and in "
        "percent of each metric (change)."
    )
    fitness: float = Field(description="Fitness of the last configuration, when it was chosen.")
    swept: list[str]
    idle: list[str] = Field(description="Parameters without effect in their configuration.")
    left: list[str] = Field(description="Parameters that the budget did not reach.")
    passes: int
    why: str = Field(description="Progress of the search, in words.")


class WarmStart(Part):
    """What an earlier job told this one."""

    job: int | str
    workload: str
    trials: int
    of: int
    agreement: dict[str, float]


class Export(Part):
    """How the OPTIONS file came out."""

    refused: str | None = None
    options: str | None = None
    application: list[str] | None = None  # what the program sets itself


class Result(Ranking):
    """The whole result of a job: result.json, schema 1."""

    version: int = Field(default=1, alias="schema")
    job: dict[str, Any]  # the specification
    environment: dict[str, Any] = {}
    baseline: Baseline
    best: Best | None
    verdict: Verdict | None
    starting_point: StartingPoint | None = None
    no_trade: NoTrade | None = None
    explanation: Explanation | None = None
    explanation_withheld: dict[str, Any] | None = None
    plan: dict[str, int | None] = {}
    confirmation: dict[str, Any] | None = None
    power: Power | None = None
    search: dict[str, Any] | None = None
    pareto: list[int] = []
    hypervolume: list[dict[str, Any]] = []
    trials: dict[str, int] = {}
    hosts: list[dict[str, Any]] = []
    time: dict[str, float] = {}
    machine: dict[str, Any] | None = None
    warm_start: list[WarmStart] = []
    contributions: Contributions | None = None
    export: Export = Export()

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Self:
        """The result that a document holds, of this or an earlier version.

        Raises:
            ValueError: It is no result.json.
        """
        return cls.model_validate(document)

    def document(self) -> dict[str, Any]:
        """As it was read: keys that its version lacks are not there."""
        return self.model_dump(by_alias=True, exclude_unset=True)

    @property
    def objective(self) -> Objective:
        """What the job was tuned for."""
        return objective_from_document(self.job["objective"])

    @property
    def terms(self) -> list[str]:
        """The metrics of the objective."""
        return [term.metric for term in self.objective.terms]

    @property
    def limits(self) -> list[JudgedLimit]:
        """Each limit as it was judged; as it was asked for where there was no proof."""
        if self.verdict and self.verdict.limits:
            return self.verdict.limits
        asked = self.objective.limits
        return [JudgedLimit(limit=limit_words(each), metric=each.metric) for each in asked]
