"""The result of a job as a typed document: what result.json holds, read and written here alone.

A result holds facts; titles, sentences and tables are made of it by ``jobs.report``. Fields with
a default are those that results of earlier versions lack; keys that are not known here are kept.
A ``scope`` is the column family that a figure or an option belongs to; None: the whole database.
"""

from collections.abc import Mapping
from typing import Any, Self

from pydantic import Field

from optimizer.confirmation.paired_tests import Change, JudgedLimit, Power
from optimizer.explained import DocumentPart, Estimate, Explanation
from optimizer.objective.objective import Objective, limit_words
from optimizer.objective.objective_file import objective_from_document
from optimizer.results.ranking import Contributions, ParameterRanking, SearchEnd

Metrics = dict[str, float | None]
Configuration = dict[str, Any]


def tested_fitness(verdict: Mapping[str, Any]) -> float | None:
    """The fitness that a proof tested: the centre of the interval that stands beside it.

    In results of earlier versions ``fitness`` is of the medians of both sides instead.
    """
    low, high = verdict.get("low"), verdict.get("high")
    return verdict.get("fitness") if low is None or high is None else (low + high) / 2


class BaselineNoise(DocumentPart):
    """How a metric of the baseline scatters and drifts over the job."""

    median: float | None = None
    spread: float | None = None  # standard deviation over the median
    drift_p: float | None = None
    drifting: bool = False
    range: list[float] | None = None  # low and high of the drift, relative to the median


class ProofBaseline(DocumentPart):
    """The baseline of the proof."""

    metrics: Metrics
    runs: int = 0
    configuration: Configuration = {}
    noise: dict[str, BaselineNoise] = {}


class AppliedHow(DocumentPart):
    """How RocksDB takes a changed option; other facts are kept by their names."""

    call: str | None = None  # of a running database


class OptionChange(DocumentPart):
    """An option that the best configuration changes: by its family and its name."""

    name: str
    value: Any
    baseline: Any = None
    reason: str = ""
    rule: bool = False  # whether it only follows another option
    gain: Estimate | None = None
    apply: AppliedHow | None = None  # None: it is no option of RocksDB
    scope: str | None = None


class Fullest(DocumentPart):
    """The best candidate with more changes than the winner, measured beside it, unproven."""

    trial: int
    configuration: Configuration
    changes: int
    fitness: float
    best_fitness: float  # the winner's in the same runs
    runs: int


class Winner(DocumentPart):
    """The proven winner."""

    trial: int
    configuration: Configuration
    metrics: Metrics
    fitness: float
    runs: int
    change: dict[str, Change]
    terms: dict[str, float] = {}
    confirmed: bool = True
    changes: list[OptionChange] = []
    fullest: Fullest | None = None


class Loss(Change):
    """A metric that is surely worse, and by more than a fifth."""

    metric: str
    name: str


class Price(DocumentPart):
    """What was measured beside the objective."""

    measured: list[str] = []
    not_measured: dict[str, str] = {}
    losses: list[Loss] = []


class JudgedProof(DocumentPart):
    """The deciding test, passed or not."""

    confirmed: bool = False
    fitness: float | None = None
    pairs: int
    why: str
    metrics: Metrics
    change: dict[str, Change]
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


class Ahead(DocumentPart):
    """How much fitter the winner is than another configuration in the same blocks."""

    fitness: float
    low: float
    high: float
    p: float | None = None


class BestStart(DocumentPart):
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
    change: dict[str, Change] | None = None


class NoTrade(DocumentPart):
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


class FrontGrowth(DocumentPart):
    """A trial that enlarged the Pareto front."""

    trial: int
    value: float = Field(description="Hypervolume with this trial; 1 for the baseline alone.")


class OwnBaseline(DocumentPart):
    """The baseline runs of one host."""

    metrics: Metrics
    runs: int
    spread: dict[str, float | None] = {}


class HostShare(DocumentPart):
    """What one host measured."""

    name: str
    trials: int
    baseline: OwnBaseline | None = None
    set_aside: str | None = None  # why the host was excluded


class WarmStart(DocumentPart):
    """What an earlier job told this one."""

    job: int | str
    workload: str
    trials: int
    of: int
    agreement: dict[str, float]


class Export(DocumentPart):
    """How the OPTIONS file came out."""

    refused: str | None = None
    options: str | None = None
    application: list[str] | None = None  # what the program sets itself


class MeasuredLoad(DocumentPart):
    """The workload of a job, as it was asked for."""

    name: str = ""
    help: str = ""
    settle: str | None = None  # how runs end; None: a benchmark of the user's own
    command: dict[str, Any] | None = None  # of the user's own, which Rocktune runs
    scale: int | None = None


class TunedJob(DocumentPart):
    """The specification of a job, as far as its result is told with it."""

    workload: MeasuredLoad = MeasuredLoad()
    space: dict[str, Any] = {}
    objective: dict[str, Any] = {}
    strategy: str = ""
    seed: int | None = None
    scale: int | None = None
    memory: float | None = None  # the budget, bytes
    minutes: float | None = None
    baseline: str | None = None
    baseline_options: str | None = None
    column_family: str | None = None
    search: dict[str, Any] | None = None

    @property
    def ran_scale(self) -> int | None:
        """The scale that it was measured at: its own, or else its workload's."""
        return self.scale or self.workload.scale


class Environment(DocumentPart):
    """The machine and the RocksDB that measured; other facts are kept by their names."""

    rocksdb: str | None = None
    warnings: list[str] = []
    hosts: dict[str, Any] = {}  # the fingerprint of each


class PlannedRuns(DocumentPart):
    """How many runs were planned: new configurations, pairs of the proof, simplified versions."""

    explore: int | None = None
    pairs: int | None = None
    simplified: int | None = None


class TrialCounts(DocumentPart):
    """How many trials ended in which state, and how many there are."""

    done: int = 0
    total: int = 0


class TimeTaken(DocumentPart):
    """Seconds from the first start to the last end, and of these in the benchmark."""

    wall_seconds: float = 0.0
    bench_seconds: float = 0.0


class Result(ParameterRanking):
    """The whole result of a job: result.json, schema 1."""

    version: int = Field(default=1, validation_alias="schema", serialization_alias="schema")
    job: TunedJob
    environment: Environment = Environment()
    baseline: ProofBaseline
    best: Winner | None
    verdict: JudgedProof | None
    starting_point: BestStart | None = None
    no_trade: NoTrade | None = None
    explanation: Explanation | None = None
    explanation_withheld: dict[str, Any] | None = None
    plan: PlannedRuns = PlannedRuns()
    confirmation: dict[str, Any] | None = None
    power: Power | None = None
    search: SearchEnd | None = None
    pareto: list[int] = []
    hypervolume: list[FrontGrowth] = []
    trials: TrialCounts = TrialCounts()
    hosts: list[HostShare] = []
    time: TimeTaken = TimeTaken()
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

    def refusing_minimal(self, why: str) -> Self:
        """The same where RocksDB does not take the file with the fewest changes: its words.

        Raises:
            ValueError: The result has no such file.
        """
        explanation = self.explanation
        if explanation is None or explanation.minimal is None:
            raise ValueError("the result has no file with fewer changes")
        minimal = explanation.minimal.model_copy(update={"refused": why})
        told = explanation.model_copy(update={"minimal": minimal})
        return self.model_copy(update={"explanation": told})

    @property
    def objective(self) -> Objective:
        """What the job was tuned for."""
        return objective_from_document(self.job.objective)

    @property
    def confirmed_scale(self) -> int | None:
        """The scale of the confirmation, where that is not the search's."""
        return self.confirmation["scale"] if self.confirmation else None

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
