"""What models say as typed documents: why a winner is better, how metrics depend on parameters.

Fields with a default are those that results of earlier versions lack.
"""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class DocumentPart(BaseModel):
    """A part of a document; a key that another version wrote is kept."""

    model_config = ConfigDict(frozen=True, extra="allow", populate_by_name=True)

    def document(self) -> dict[str, Any]:
        """As it was read, or made: keys that its version lacks are not there."""
        return self.model_dump(by_alias=True, exclude_unset=True)


class Estimate(DocumentPart):
    """What is expected, or was measured, with its 95% interval."""

    expected: float
    low: float
    high: float


class SteppedOption(DocumentPart):
    """An option that a step of the path changes."""

    name: str
    before: Any = Field(validation_alias="from", serialization_alias="from")
    after: Any = Field(validation_alias="to", serialization_alias="to")
    scope: str | None = None


class PathStep(DocumentPart):
    """One step of the path from the baseline to the winner."""

    changes: list[SteppedOption]  # several where they depend on each other
    fixed: bool  # whether the space always sets them: of the first step alone
    gain: Estimate  # in fitness, on top of the steps before
    fitness: Estimate  # after the step
    metrics: dict[str, Estimate] = {}  # the change of each by this step, in percent

    @property
    def names(self) -> list[str]:
        """The options that change."""
        return [change.name for change in self.changes]


class FewestChanges(DocumentPart):
    """The fewest changes that are as good, by the models."""

    kept: list[str]  # kept, dropped: the changes, in the order of the path
    dropped: list[str]
    configuration: dict[str, Any] = {}
    fitness: Estimate | None = None  # of the configuration with those that are kept
    loss: Estimate  # in fitness, against the winner; below 0 where it is expected to be better
    noise: float  # the loss that was allowed
    refused: str | None = None  # RocksDB's words, where it does not take this file


class MeasuredGain(DocumentPart):
    """One configuration against another in interleaved runs, over the rounds that have both."""

    rounds: int = 0
    fitness: Estimate  # the difference; each fitness is against the baseline of its round
    changes: dict[str, Any] = {}  # by metric, the ratio of the two


class JudgedFewest(DocumentPart):
    """Whether runs show the fewest changes to be as good as all of them."""

    compared: MeasuredGain | None = None  # with the winner
    margin: float | None = None  # the loss of fitness that was declared to be small enough
    # Whether the 95% interval of the difference lies above that, every limit is shown to be kept,
    # and none of its runs failed alone.
    shown: bool
    why: str  # one line


class CountedRuns(DocumentPart):
    """How many runs succeeded, of all."""

    done: int
    total: int


class MeasuredPath(DocumentPart):
    """What interleaved runs say of an explanation."""

    host: str
    rocksdb: str | None = None
    ended_at: str | None = None
    rounds: int
    runs: CountedRuns | None = None
    margin: float | None = None
    steps: list[MeasuredGain | None] = []
    winner: MeasuredGain | None = None
    minimal: JudgedFewest | None = None


class Explanation(DocumentPart):
    """Why the winner is better. Figures are fitness with 95% intervals."""

    trials: int = Field(description="Number of trials that the models learned from.")
    predicted: Estimate = Field(description="Prediction for the winner.")
    steps: list[PathStep] = Field(
        description="Path from the baseline to the winner; each step adds to those before."
    )
    minimal: FewestChanges | None = Field(
        default=None,
        description="Fewest changes that are as good; null if the models see no gain.",
    )
    measured: MeasuredPath | None = Field(
        default=None,
        description="Measured runs (`rocktune explain ID --runs N`); null if there are none.",
    )

    @property
    def fewer(self) -> FewestChanges | None:
        """The fewest changes, where these are fewer than the winner's."""
        return self.minimal if self.minimal and self.minimal.dropped else None


class DependenceCurve(BaseModel):
    """Effect of a parameter on a metric, averaged over all other parameters."""

    parameter: str
    metric: str
    share: float = Field(description="Share of the variance over the whole space, without pairs.")
    effect: list[float] = Field(
        description="Effect of each setting, in percent against the mean of all settings."
    )
    low: list[float] = Field(description="Lower end of the 95% interval, if the models are right.")
    high: list[float]


class PairTogether(BaseModel):
    """Interaction of two parameters in a metric, beyond their single effects."""

    parameters: list[str]
    metric: str
    share: float = Field(description="Share of the variance over the whole space.")
    beyond: list[list[float]] = Field(
        description="Effect in percent: a row per setting of the first parameter, a column per "
        "setting of the second."
    )


class Dependence(BaseModel):
    """Dependence of metrics on parameters, predicted by models of all trials."""

    trials: int = Field(description="Number of trials that the models learned from.")
    unexplained: dict[str, float] = Field(
        description="By metric, the share of the variance that no setting explains."
    )
    settings: dict[str, list[Any]] = Field(
        description="By parameter, the settings that represent its range. If the range depends on "
        "other parameters, those are at the baseline."
    )
    curves: list[DependenceCurve] = Field(description="Largest share first.")
    pairs: list[PairTogether] = Field(description="Strongest first.")
