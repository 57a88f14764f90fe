"""What a job's search taught as typed documents: the ranking of parameters, what each gained.

A job that goes on has such a ranking, too. Those of earlier versions tell of forests of the random
configurations, or of Gaussian processes, alone.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from optimizer.explained import DocumentPart

Model = Literal["forest", "process"]
OTHER: Mapping[Model, Model] = {"forest": "process", "process": "forest"}
TOP = 5  # parameters
LEAST_R2 = 0.3  # below it an order is hardly more than chance
_LEAST_SHARE = 0.01  # of the variance, or of R2: less is in no top


class MetricImportance(DocumentPart):
    """What a model says of one parameter and one metric.

    A process tells its share of the variance, its rank and a test of the effect; a forest impurity
    and permutation, in results of earlier versions shares and ranks, too.
    """

    total: float | None = None  # with its pairs
    low: float | None = None  # low, high: 95% interval
    high: float | None = None
    alone: float | None = None
    p: float | None = None
    p_holm: float | None = None
    mdi: float | None = None  # mean decrease in impurity
    permutation: float | None = None
    permutation_std: float | None = None
    rank_low: float | None = None
    rank_high: float | None = None
    top_k_frequency: float | None = None


class EffectTest(DocumentPart):
    """The analysis of variance of one parameter and one metric, over the random configurations."""

    f: float | None = None
    p: float | None = None
    p_holm: float | None = Field(
        default=None, description="p corrected for all parameters and metrics of the job (Holm)."
    )
    eta_squared: float | None = Field(
        default=None, description="Share of the variance that it explains."
    )
    omega_squared: float | None = Field(
        default=None, description="eta_squared, less the share that random groups explain."
    )
    groups: list[dict[str, Any]] = []


class ParameterImportance(DocumentPart):
    """What is learned of one parameter, by metric."""

    name: str
    rank: int
    share: float = 0.0
    workload_factor: bool = False
    searched: bool = True
    importance: dict[str, MetricImportance] = {}  # by the forest
    model: dict[str, MetricImportance] = {}  # by the Gaussian process
    anova: dict[str, EffectTest] = {}
    matters: bool = False
    better: Any = None  # the setting with the best expected fitness
    gain: float | None = None
    scope: str | None = None

    def by(self, model: Model, metric: str) -> MetricImportance | None:
        """What a model says of a metric; None where it says nothing."""
        return (self.importance if model == "forest" else self.model).get(metric)

    def rank_interval(self, metric: str) -> tuple[float, float] | None:
        """Between which ranks it is with 95% probability; None where that is not known.

        By the process; in results of earlier versions by the forest.
        """
        for found in (self.model.get(metric), self.importance.get(metric)):
            if found and found.rank_low is not None and found.rank_high is not None:
                return found.rank_low, found.rank_high
        return None

    def is_reliable(self, metric: str) -> bool:
        """Whether it is among the five most important with 95% probability."""
        within = self.rank_interval(metric)
        return within is not None and within[1] <= TOP


class Quality(DocumentPart):
    """How well a model predicts unseen trials."""

    r2: float | None = None
    r2_cross_validated: float | None = None
    r2_cross_validated_std: float | None = None
    trials: int = 0
    kendall_tau: float | None = None
    noise: float | None = None
    pairs: list[dict[str, Any]] = []

    @property
    def held_out(self) -> float | None:
        """R2 on unseen trials: the mean of the folds, for one split may be lucky."""
        known = "r2_cross_validated" in self.model_fields_set
        return self.r2_cross_validated if known else self.r2


class AnovaPower(DocumentPart):
    """Effects that the analysis of variance of the random configurations can detect."""

    draws: int
    least: int  # with fewer draws it ranks nothing
    groups: int
    smallest_share: float | None = None


class Agreement(DocumentPart):
    """How far rankings of resampled configurations agree, at a number of them."""

    draws: int | None = None
    top_k_overlap: float | None = None
    kendall_tau: float | None = None
    # low, high: 95% interval of the overlap
    low: float | None = None
    high: float | None = None


class Sampling(DocumentPart):
    """The random configurations of a job: how many, and why they ended."""

    draws: int | None = None
    planned: int | None = None
    why: str = ""
    curve: list[Agreement] = []


class ParameterRanking(DocumentPart):
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
    shown_first: dict[str, Model] = Field(
        default={},
        description="By metric, the model that ranks and shares are by: process; in results of "
        "earlier versions forest where that predicts unseen trials better.",
    )
    anova_power: AnovaPower | None = Field(
        default=None,
        description="Effects that the analysis of variance of the draws can detect; with fewer "
        "than `least` draws it ranks nothing.",
    )
    ranked_by: str = Field(
        default="forests", description="models (of all trials) or forests (of the draws)."
    )
    sampling: Sampling | None = None

    @property
    def by_models(self) -> bool:
        """Whether models of all trials rank the parameters, and not forests of the draws."""
        return self.ranked_by == "models"

    @property
    def of_all(self) -> bool:
        """Whether the forests know all trials, and not the draws alone."""
        return bool(self.shown_first)

    @property
    def by_either_model(self) -> bool:
        """Whether forests had shares too: of earlier versions, which ranked by the better one."""
        return any(
            each.total is not None for row in self.parameters for each in row.importance.values()
        )

    @property
    def ranks_anova(self) -> bool:
        """Whether there are enough draws for p-values to be put in an order."""
        power = self.anova_power
        return power is None or power.draws >= power.least

    @property
    def forests_learned(self) -> bool:
        """Whether the forests are worth showing; beside models, those of a few draws may not."""
        least = LEAST_R2 if self.by_models and not self.of_all else -math.inf
        known = (each.held_out for each in self.forest.values())
        return any(r2 is not None and r2 >= least for r2 in known)

    def first(self, metric: str) -> Model:
        """The model whose shares of a metric are shown first."""
        return self.shown_first.get(metric, "process")

    def r2(self, model: Model, metric: str) -> float | None:
        """R2 on unseen trials of a model of all trials."""
        if model == "forest" and not self.of_all:
            return None  # it knows the draws alone
        return (self.forest if model == "forest" else self.models)[metric].held_out

    @property
    def ranked_r2(self) -> dict[str, float | None]:
        """R2 on unseen trials of what ranks the parameters, by metric."""
        if not self.by_models:
            return {metric: each.held_out for metric, each in self.forest.items()}
        return {metric: self.r2(self.first(metric), metric) for metric in self.models}

    @property
    def unsure(self) -> list[str]:
        """The metrics whose order of parameters is hardly more than chance."""
        return [m for m, r2 in self.ranked_r2.items() if r2 is not None and r2 < LEAST_R2]

    def sorted_by(self, metric: str | None) -> list[ParameterImportance]:
        """The parameters, the most important for a metric first; None: for all of them.

        By share of the variance, or by permutation importance where forests of the draws rank.
        What was not learned, or did not move the metric, comes last.
        """
        if metric is None:
            return sorted(self.parameters, key=lambda row: row.rank)

        def figure(row: ParameterImportance) -> float:
            found = row.by(self.first(metric) if self.models else "forest", metric)
            if found is None:
                return math.inf
            value = found.total if self.models else found.permutation
            return math.inf if value is None else -value

        return sorted(self.parameters, key=figure)

    def top(self, model: Model, metric: str) -> Sequence[str]:
        """The parameters that matter most for a metric to a model, five at most.

        By their shares of the variance; of a forest without them by what shuffling loses of its
        R2.
        """
        told = [
            (row.name, (found.permutation if found.total is None else found.total) or 0.0)
            for row in self.parameters
            if (found := row.by(model, metric))
        ]
        known = sorted((each for each in told if each[1] >= _LEAST_SHARE), key=lambda e: -e[1])
        return [name for name, _ in known[:TOP]]


class Gained(DocumentPart):
    """What one parameter gained in a search that varies one after the other."""

    name: str
    gain: float
    before: Any = Field(default=None, validation_alias="from", serialization_alias="from")
    after: Any = Field(default=None, validation_alias="to", serialization_alias="to")
    change: dict[str, float] = {}
    values: int = 0
    share: float | None = None
    scope: str | None = None


class KeptValue(DocumentPart):
    """A value that such a search kept, against the configuration before it."""

    parameter: str | None  # None: the starting point that the search began with
    start: str | None = None  # its name
    sweep: int = Field(default=0, validation_alias="pass", serialization_alias="pass")
    trial: int
    before: Any = Field(default=None, validation_alias="from", serialization_alias="from")
    after: Any = Field(default=None, validation_alias="to", serialization_alias="to")
    also: dict[str, Any] = {}  # what else had to change
    gain: float
    fitness: float
    change: dict[str, float] = {}


class Contributions(DocumentPart):
    """Gain of each parameter in a search that varied one after the other.

    Gains are from the runs that chose the values, mostly single runs: overestimated, not proven.
    """

    steps: list[KeptValue] = Field(
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


class SearchEnd(DocumentPart):
    """What the next run of the search would have promised when it ended, in units of fitness."""

    gain: float | None = None
    lately: float | None = None
    noise: float | None = None
    exhausted: bool = False
    since: int | None = None  # the first trial that was proposed although it was exhausted
    saved: int = 0  # runs of the benchmark
    again: int = 0  # runs that measured a configuration again
    why: str = ""
