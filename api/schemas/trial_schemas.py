"""Trials over the wire: measured ones, suggestions, and what a user's own runner tells."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, Field, JsonValue

from api.schemas.job_schemas import body
from jobs.external.reported_trials import ReportedTrial
from optimizer.trials.problem import Whole
from optimizer.trials.trial import Trial
from sampler.runner.outcome import TrialState

if TYPE_CHECKING:
    from optimizer.run.driver import AskedTrials

# Beyond it a change in percent could be more than a number can hold.
_MOST = 1e100
Measured = Annotated[float, Field(ge=-_MOST, le=_MOST)]


class TrialPublic(BaseModel):
    """A trial."""

    number: int
    phase: str
    purpose: str
    state: TrialState
    subject: int | None = Field(description="First trial with this configuration.")
    attempt: int
    given: bool = Field(description="Whether it was measured before the job and imported.")
    why: str
    configuration: dict[str, Any]
    effective: dict[str, Any] | None = Field(description="Values that RocksDB really used.")
    metrics: dict[str, float]
    failure: str | None
    warnings: list[str]
    host: str | None
    bench_seconds: float
    started_at: datetime | None
    finished_at: datetime | None

    @classmethod
    def of(cls, trial: Trial) -> TrialPublic:
        """From a stored trial; what is stored is sound, and a page has a thousand of them."""
        values = {name: getattr(trial, name) for name in cls.model_fields}
        return cls.model_construct(**values | {"warnings": list(trial.warnings)})


class TrialPage(BaseModel):
    """A page of trials; ``next`` is the ``after`` of the next page, null at the end."""

    trials: list[TrialPublic]
    next: int | None

    @classmethod
    def of(cls, rows: Sequence[Trial], limit: int) -> TrialPage:
        """A page of ``limit`` trials at most, and where the next one begins."""
        following = rows[-1].number if len(rows) == limit else None
        return cls.model_construct(trials=[TrialPublic.of(row) for row in rows], next=following)


class Suggestion(BaseModel):
    """A configuration to measure."""

    number: int = Field(description="Number to report the result under.")
    attempt: int
    phase: str
    purpose: str
    why: str
    configuration: dict[str, Any] = Field(description="Value of every active parameter.")

    @classmethod
    def of(cls, trial: Trial) -> Suggestion:
        """From a proposal."""
        return cls(**{name: getattr(trial, name) for name in cls.model_fields})


class SuggestionsCreate(BaseModel):
    """A request for configurations to measure."""

    model_config = body({"count": 4})

    count: Whole = Field(default=1, ge=1, le=1000)
    reclaim_seconds: float | None = Field(
        default=None, gt=0, le=1e9, description="Age at which open suggestions are given again."
    )


class Suggestions(BaseModel):
    """Configurations to measure now."""

    suggestions: list[Suggestion]
    why: str = Field(description="Reason if there are fewer than asked for.")
    complete: bool = Field(description="Whether the job is done and has a result.")

    @classmethod
    def of(cls, asked: AskedTrials) -> Suggestions:
        """From what the job proposes."""
        made = [Suggestion.of(trial) for trial in asked.trials]
        return cls(suggestions=made, why=asked.why, complete=asked.complete)


class TrialCreate(BaseModel):
    """The result of a suggestion (``number``), or a trial measured before the job."""

    model_config = body(
        {"number": 1, "metrics": {"rate": 101000.0}},
        {"number": 2, "state": "failed", "failure": "it ran out of memory"},
        {"configuration": {"batch": 16}, "metrics": {"rate": 99000.0}},
    )

    number: Whole | None = Field(default=None, ge=1, le=2**31 - 1)
    attempt: Whole | None = Field(default=None, ge=1, le=2**31 - 1)
    baseline: bool = Field(default=False, description="Run of the baseline, measured before.")
    configuration: dict[str, JsonValue] | None = Field(
        default=None, description="Measured configuration; the rest is the baseline's."
    )
    state: Literal["done", "failed", "timed_out", "lost"] = "done"
    metrics: dict[str, Measured] = Field(default={}, max_length=500)
    failure: str | None = Field(default=None, max_length=10_000)
    host: str | None = Field(default=None, max_length=200)
    bench_seconds: float = Field(default=0.0, ge=0, le=1e9)

    def told(self) -> ReportedTrial:
        """As the job takes it."""
        return ReportedTrial(**self.model_dump() | {"state": TrialState(self.state)})


class TrialsCreate(BaseModel):
    """Trials measured elsewhere."""

    model_config = body({"trials": [{"number": 1, "metrics": {"rate": 1e5}}]})

    trials: list[TrialCreate] = Field(min_length=1, max_length=5000)


class TrialsKept(BaseModel):
    """The trials as they are stored, in the order of the request."""

    trials: list[TrialPublic]
