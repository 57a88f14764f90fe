"""A job's trials as they are watched: little of each, for a hundred thousand are to be quick.

Configurations, coordinates and counters are most of a row, and no plot over time shows them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, func, null, select

from db.schema.tables import MAIN_METRICS, trial
from db.trials.trial_rows import all_metrics, read_rows
from optimizer.trials.trial import Phase, Purpose, Trial
from sampler.runner.outcome import TrialState

_MOST_REASONS = 500
_WRONG = [state for state in TrialState if state not in (TrialState.DONE, TrialState.RUNNING)]
# To look a word up here is many times faster than to call the enumeration.
_PHASES = {each.value: each for each in Phase}
_PURPOSES = {each.value: each for each in Purpose}
_STATES = {each.value: each for each in TrialState}
_NUMBER = attrgetter("number")
_SLIM = (
    trial.c.number, trial.c.phase, trial.c.purpose, trial.c.subject, trial.c.digest,
    trial.c.state, trial.c.host, trial.c.started_at, trial.c.given,
    *(trial.c[name] for name in MAIN_METRICS),
)  # fmt: skip


@dataclass(frozen=True)
class TrialFacts:
    """What a job's trials are in all.

    Attributes:
        failures: (state, first line of the reason) with the number of trials, most often first.
        ended_at: Of the last that ended.
        out: The trials that are being measured now.
    """

    failures: Sequence[tuple[tuple[str, str], int]]
    ended_at: datetime | None
    out: Sequence[Trial]


def read_course(connection: Connection, job_id: int, *, others: bool) -> list[Trial]:
    """Whole measurements by number: their metrics, where and when, and what they were for.

    Args:
        connection: The database.
        job_id: The job.
        others: Whether metrics beyond the main ones are wanted; to read them takes longer.
    """
    extra = trial.c.other_metrics if others else null().label("other_metrics")
    which = (
        select(*_SLIM, extra)
        .where(trial.c.job_id == job_id, trial.c.state == TrialState.DONE)
        .order_by(trial.c.number)
    )
    return [_slim(row) for row in connection.execute(which)]


def read_baseline_runs(connection: Connection, job_id: int) -> list[Trial]:
    """The baseline's runs that ended well, with all metrics, those of the proof left out."""
    return _runs_of(connection, job_id, 1, Purpose.BASELINE)


def count_baseline(connection: Connection, job_id: int) -> tuple[int, int]:
    """How many runs ``read_baseline`` would read, and the number of the last; (0, 0): none.

    A run that has ended well stays as it is: while these two are the same, so are the runs.
    """
    counts = select(func.count(), func.coalesce(func.max(trial.c.number), 0))
    count, last = connection.execute(counts.where(*_measuring(job_id, 1, Purpose.BASELINE))).one()
    return count, last


def read_latest(connection: Connection, job_id: int, *, limit: int) -> list[Trial]:
    """The trials that ended last, the newest first, without points and counters."""

    def latest(columns: Select[Any]) -> Select[Any]:
        return (
            columns.where(trial.c.job_id == job_id, trial.c.finished_at.is_not(None))
            .order_by(trial.c.finished_at.desc(), trial.c.number.desc())
            .limit(limit)
        )

    return read_rows(connection, latest)


def read_runs_of(connection: Connection, job_id: int, number: int) -> list[Trial]:
    """The whole measurements of a new configuration, by the number of one of them."""
    return _runs_of(connection, job_id, number, Purpose.CANDIDATE)


def read_trial_facts(connection: Connection, job_id: int) -> TrialFacts:
    """What a job's trials are in all."""
    mine = trial.c.job_id == job_id
    reasons = (
        select(trial.c.state, trial.c.failure, func.count())
        .where(mine, trial.c.state.in_(_WRONG), trial.c.failure.is_not(None))
        .group_by(trial.c.state, trial.c.failure)
        .order_by(func.count().desc())
        .limit(_MOST_REASONS)
    )
    counts: Counter[tuple[str, str]] = Counter()
    for state, failure, count in connection.execute(reasons):
        counts[state, (failure.splitlines() or [""])[0][:200]] += count
    last = connection.execute(select(func.max(trial.c.finished_at)).where(mine)).scalar()
    running = (mine, trial.c.state == TrialState.RUNNING)
    out = read_rows(connection, lambda columns: columns.where(*running))
    return TrialFacts(counts.most_common(), last, sorted(out, key=_NUMBER))


def _runs_of(connection: Connection, job_id: int, number: int, purpose: Purpose) -> list[Trial]:
    """Whole measurements of the configuration that a trial has, by number, with all metrics.

    They are found by its digest, which has an index. To put the few in order is left to us: asked
    for it, SQLite would rather go through all trials by number.
    """
    which = select(*_SLIM, trial.c.other_metrics).where(*_measuring(job_id, number, purpose))
    return sorted(map(_slim, connection.execute(which)), key=_NUMBER)


def _measuring(job_id: int, number: int, purpose: Purpose) -> list[ColumnElement[bool]]:
    digest = select(trial.c.digest).where(trial.c.job_id == job_id, trial.c.number == number)
    return [
        trial.c.job_id == job_id,
        trial.c.digest == digest.scalar_subquery(),
        trial.c.purpose == purpose,
        trial.c.state == TrialState.DONE,
    ]


def _slim(row: Sequence[Any]) -> Trial:
    (number, phase, purpose, subject, digest, state, host, started_at, given, *main, others) = row
    return Trial(
        number=number,
        phase=_PHASES[phase],
        purpose=_PURPOSES[purpose],
        seed=0,
        configuration={},
        digest=digest,
        subject=subject,
        state=_STATES[state],
        metrics=all_metrics(main, others or {}),
        host=host,
        started_at=started_at,
        given=given,
    )
