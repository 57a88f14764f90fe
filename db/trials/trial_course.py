"""A job's trials as they are watched: little of each, for a hundred thousand are to be quick.

Configurations, coordinates and counters are most of a row, and no plot over time shows them.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter

from sqlalchemy import ColumnElement, Connection, func, select

from db.schema.tables import trial
from db.trials.trial_rows import bare_trials, read_shown, read_slim, shown_trials, slim_trials
from optimizer.trials.trial import Purpose, Trial
from sampler.runner.outcome import TrialState

_MOST_REASONS = 500
_WRONG = [state for state in TrialState if state not in (TrialState.DONE, TrialState.RUNNING)]
_NUMBER = attrgetter("number")


@dataclass(frozen=True)
class TrialFacts:
    """What a job's trials are in all."""

    # (state, first line of the reason) with the number of trials, most often first.
    failures: Sequence[tuple[tuple[str, str], int]]
    ended_at: datetime | None  # of the last that ended
    out: Sequence[Trial]  # the trials that are being measured now


def read_course(connection: Connection, job_id: int, *, others: bool) -> list[Trial]:
    """Whole measurements by number: their metrics, where and when, and what they were for.

    ``others``: whether metrics beyond the main ones are wanted; to read them takes longer.
    """
    done = (trial.c.job_id == job_id, trial.c.state == TrialState.DONE)
    which = (slim_trials if others else bare_trials).where(*done).order_by(trial.c.number)
    return read_slim(connection, which)


def read_baseline_runs(connection: Connection, job_id: int) -> list[Trial]:
    """The baseline's runs that ended well, with all metrics, those of the proof left out."""
    return _runs_of(connection, job_id, 1, Purpose.BASELINE)


def count_baseline(connection: Connection, job_id: int) -> tuple[int, int]:
    """How many runs ``read_baseline_runs`` would read, and the last one's number; (0, 0): none.

    A run that has ended well stays as it is: while these two are the same, so are the runs.
    """
    counts = select(func.count(), func.coalesce(func.max(trial.c.number), 0))
    count, last = connection.execute(counts.where(*_measuring(job_id, 1, Purpose.BASELINE))).one()
    return count, last


def read_latest(connection: Connection, job_id: int, *, limit: int) -> list[Trial]:
    """The trials that ended last, the newest first, without points and counters."""
    ended = shown_trials.where(trial.c.job_id == job_id, trial.c.finished_at.is_not(None))
    latest = ended.order_by(trial.c.finished_at.desc(), trial.c.number.desc())
    return read_shown(connection, latest.limit(limit))


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
    running = shown_trials.where(mine, trial.c.state == TrialState.RUNNING)
    out = sorted(read_shown(connection, running), key=_NUMBER)
    return TrialFacts(counts.most_common(), last, out)


def _runs_of(connection: Connection, job_id: int, number: int, purpose: Purpose) -> list[Trial]:
    """Whole measurements of the configuration that a trial has, by number, with all metrics.

    They are found by its digest, which has an index. To put the few in order is left to us: asked
    for it, SQLite would rather go through all trials by number.
    """
    which = slim_trials.where(*_measuring(job_id, number, purpose))
    return sorted(read_slim(connection, which), key=_NUMBER)


def _measuring(job_id: int, number: int, purpose: Purpose) -> list[ColumnElement[bool]]:
    digest = select(trial.c.digest).where(trial.c.job_id == job_id, trial.c.number == number)
    return [
        trial.c.job_id == job_id,
        trial.c.digest == digest.scalar_subquery(),
        trial.c.purpose == purpose,
        trial.c.state == TrialState.DONE,
    ]
