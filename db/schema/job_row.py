"""A job as its row tells it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, RowMapping

from db.schema.types import storable
from optimizer.trials.problem import FORMER_NAMES
from optimizer.trials.trial import Phase


class JobState(StrEnum):
    """How a job stands."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class JobKind(StrEnum):
    """What a job does; all but ``tune`` are experiments, see ``jobs.experiments.kinds``."""

    TUNE = "tune"
    COMPARE = "compare"
    UPGRADE_CHECK = "upgrade-check"
    EXPLAIN = "explain"
    PROFILE_CHECK = "profile-check"


class NoSuchJob(KeyError):
    """There is no job of this number."""


LIVE = (JobState.QUEUED, JobState.RUNNING)
ENDED = frozenset({JobState.DONE, JobState.FAILED, JobState.CANCELLED})


@dataclass(frozen=True, kw_only=True)
class BriefJob:
    """What a list of jobs tells of each."""

    id: int
    kind: JobKind
    created_at: datetime
    updated_at: datetime
    state: JobState
    # phase, why: what it is doing and for what reason.
    phase: Phase | None
    why: str
    error: str | None  # what ended it, when it failed
    priority: int  # of queued jobs the highest goes first
    submitter: str | None  # the name of the token that asked for it
    # ``optimizer.run.planning.RunProgress`` as of the last trial, as a document.
    standing: Mapping[str, Any] | None


@dataclass(frozen=True, kw_only=True)
class ListedJob(BriefJob):
    """A job as a list shows it."""

    asked: Mapping[str, Any]  # see ``asked_in``


@dataclass(frozen=True, kw_only=True)
class JobRow(BriefJob):
    """A job without its trials and its result."""

    specification: Mapping[str, Any]  # what was asked for
    specification_digest: str  # equal for equal specifications
    environment: Mapping[str, Any] | None  # what it was measured on, once known
    # lease_owner, lease_expires_at: which process runs it, and until when it has said so.
    lease_owner: str | None
    lease_expires_at: datetime | None
    run: int  # how often it was queued, 1 at first
    # Whether the service's worker runs it; else a terminal or the user's own runner.
    by_service: bool

    @property
    def asked(self) -> Mapping[str, Any]:
        """As a list shows it, see ``asked_in``."""
        return asked_in(self.specification)


PARTS = ("workload", "space", "objective")


def asked_in(specification: Mapping[str, Any]) -> dict[str, Any]:
    """The names of its workload, space and objective; strategy, title and trials.

    None for what it lacks: an experiment has a title, and names a workload alone.
    """
    names = {part: specification.get(part, {}).get("name") for part in PARTS}
    return names | {name: specification.get(name) for name in ("strategy", "title", "trials")}


def new_job(
    specification: Mapping[str, Any],
    digest: str,
    moment: datetime | ColumnElement[datetime],
    **more: Any,
) -> dict[str, Any]:
    """The columns of a new job, made at ``moment``; ``more`` comes beside or instead.

    Raises:
        ValueError: A number in the specification is not finite.
    """
    return {
        "created_at": moment,
        "updated_at": moment,
        "state": JobState.QUEUED,
        "why": "",
        "specification": storable(specification, "specification"),
        "specification_digest": digest,
        "lease_epoch": 0,
        **more,
    }


def job_from_row(row: RowMapping) -> JobRow:
    """From a row that has ``JOB_COLUMNS``."""
    values = {name: row[name] for name in JobRow.__dataclass_fields__}
    asked = row["specification"]
    if asked.get("strategy") in FORMER_NAMES:
        values["specification"] = {**asked, "strategy": FORMER_NAMES[asked["strategy"]]}
    return JobRow(**values)


def verdict_of(told: Any) -> Mapping[str, Any]:
    """A result's verdict as that of a tuning job; an experiment's is its sentences, or one."""
    if not told or isinstance(told, Mapping):
        return told or {}
    return {"why": told if isinstance(told, str) else " ".join(told)}
