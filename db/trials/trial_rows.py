"""Trials as rows, and rows as trials."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Engine, Select, bindparam, func, null, or_, select

from db.connection.transactions import reading
from db.schema.tables import MAIN_METRICS, trial
from db.schema.types import finite, storable
from optimizer.trials.trial import PackedPoint, Phase, Purpose, Trial
from sampler.runner.outcome import TrialState

_columns = (
    trial.c.number,
    trial.c.phase,
    trial.c.purpose,
    trial.c.seed,
    trial.c.configuration,
    trial.c.digest,
    trial.c.point,
    trial.c.subject,
    trial.c.why,
    trial.c.based_on,
    trial.c.attempt,
    trial.c.state,
    *(trial.c[name] for name in MAIN_METRICS),
    trial.c.other_metrics,
    trial.c.counters,
    trial.c.effective,
    trial.c.failure,
    trial.c.warnings,
    trial.c.bench_seconds,
    trial.c.host,
    trial.c.started_at,
    trial.c.finished_at,
    trial.c.given,
    trial.c.round,
)
_page = (
    select(*_columns)
    .where(trial.c.job_id == bindparam("job_id"), trial.c.number > bindparam("after"))
    .order_by(trial.c.number)
)
# What a page shows: counters and coordinates are most of a row, and take most of the time.
_hidden = (trial.c.point, trial.c.counters)
_visible = select(*(null().label(c.name) if c in _hidden else c for c in _columns))
_counts = (
    select(trial.c.state, func.count())
    .where(trial.c.job_id == bindparam("job_id"))
    .group_by(trial.c.state)
)


def read_trials(
    connection: Connection, job_id: int, *, after: int = 0, limit: int | None = None
) -> list[Trial]:
    """A job's trials by number, from the one after ``after``."""
    page = _page if limit is None else _page.limit(limit)
    rows = connection.execute(page, {"job_id": job_id, "after": after})
    return [_trial(row) for row in rows]


def read_points(
    connection: Connection, job_id: int, numbers: Collection[int]
) -> list[tuple[int, Mapping[str, Any], Mapping[str, float]]]:
    """Number, configuration and metrics of some of a job's trials, by number."""
    main = [trial.c[name] for name in MAIN_METRICS]
    which = (
        select(trial.c.number, trial.c.configuration, trial.c.other_metrics, *main)
        .where(trial.c.job_id == job_id, trial.c.number.in_(numbers))
        .order_by(trial.c.number)
    )
    return [
        (number, configuration, all_metrics(values, others))
        for number, configuration, others, *values in connection.execute(which)
    ]


def all_metrics(main: Sequence[float | None], others: Mapping[str, float]) -> Mapping[str, float]:
    """All metrics of a trial: those with a column of their own, then the others."""
    known = zip(MAIN_METRICS, main, strict=True)
    return {**{name: value for name, value in known if value is not None}, **others}


def read_rows(connection: Connection, which: Callable[[Select[Any]], Select[Any]]) -> list[Trial]:
    """Trials without their points and counters: those that ``which`` leaves, in its order."""
    return [_trial(row) for row in connection.execute(which(_visible))]


def read_trials_ended(
    connection: Connection, job_id: int, *, after: datetime | None, number: int, limit: int
) -> list[Trial]:
    """A job's ended trials in the order in which they ended, for those who watch.

    Args:
        connection: The database.
        job_id: The job.
        after: When the last one seen ended; None from the beginning.
        number: Its number: of several that ended at once the lower goes first.
        limit: How many at most.
    """
    page = (
        select(*_columns)
        .where(trial.c.job_id == job_id, trial.c.finished_at.is_not(None))
        .order_by(trial.c.finished_at, trial.c.number)
        .limit(limit)
    )
    if after is not None:
        later = trial.c.finished_at > after
        same = (trial.c.finished_at == after) & (trial.c.number > number)
        page = page.where(trial.c.finished_at >= after, later | same)
    return [_trial(row) for row in connection.execute(page)]


def count_trials(connection: Connection, job_id: int) -> dict[TrialState, int]:
    """How many of a job's trials are in each state that occurs."""
    rows = connection.execute(_counts, {"job_id": job_id})
    return {TrialState(state): count for state, count in rows}


def proposal(proposed: Trial) -> dict[str, Any]:
    """The columns that a proposal sets; all that came of an earlier attempt is cleared.

    Raises:
        ValueError: A value of the configuration or the point is not finite.
    """
    return {
        "number": proposed.number,
        "phase": proposed.phase,
        "purpose": proposed.purpose,
        "seed": proposed.seed,
        "configuration": storable(proposed.configuration, "configuration"),
        "digest": proposed.digest,
        "point": None if proposed.point is None else storable(proposed.point, "point"),
        "subject": proposed.subject,
        "why": proposed.why,
        "based_on": proposed.based_on,
        "attempt": proposed.attempt,
        "given": proposed.given,
        "round": proposed.round,
        **outcome(proposed),
    }


def outcome(ended: Trial) -> dict[str, Any]:
    """The columns that the end of a trial sets."""
    metrics = finite(ended.metrics)
    return {
        **{name: metrics.pop(name, None) for name in MAIN_METRICS},
        "state": ended.state,
        "other_metrics": metrics,
        "counters": finite(ended.counters),
        "effective": None if ended.effective is None else finite(ended.effective),
        "failure": ended.failure,
        "warnings": ended.warnings,
        "bench_seconds": ended.bench_seconds,
        "host": ended.host,
        "started_at": ended.started_at,
        "finished_at": ended.finished_at,
    }


def withdrawn(measured: Trial, why: str) -> dict[str, Any]:
    """What a trial had measured before it was taken back, as a document keeps it."""
    return {
        "number": measured.number,
        "attempt": measured.attempt,
        "state": measured.state,
        "host": measured.host,
        "metrics": finite(measured.metrics),
        "counters": finite(measured.counters),
        "failure": measured.failure,
        "bench_seconds": measured.bench_seconds,
        "started_at": measured.started_at.isoformat() if measured.started_at else None,
        "finished_at": measured.finished_at.isoformat() if measured.finished_at else None,
        "why": why,
    }


def _trial(row: Sequence[Any]) -> Trial:
    # By position: looking ten thousand rows' columns up by name takes longer than reading them.
    (number, phase, purpose, seed, configuration, digest, point, subject, why, based_on) = row[:10]
    (attempt, state, waf, sa, time, rate, memory, other_metrics, counters, effective) = row[10:20]
    (failure, warnings, bench_seconds, host, started_at, finished_at, given, in_round) = row[20:]
    metrics = all_metrics((waf, sa, time, rate, memory), other_metrics)
    return Trial(
        number=number,
        phase=Phase(phase),
        purpose=Purpose(purpose),
        seed=seed,
        configuration=configuration,
        digest=digest,
        point=PackedPoint.of(point),
        subject=subject,
        why=why,
        based_on=based_on,
        attempt=attempt,
        state=TrialState(state),
        metrics=metrics,
        counters=counters or {},
        effective=effective,
        failure=failure,
        warnings=tuple(warnings),
        bench_seconds=bench_seconds,
        host=host,
        started_at=started_at,
        finished_at=finished_at,
        given=given,
        round=in_round,
    )


def sampled_trials(engine: Engine, job_id: int, *, most: int) -> tuple[list[Trial], int]:
    """About so many trials by number, without points and counters, and how many there are in all.

    Runs of the baseline are never left out.

    Args:
        engine: The database.
        job_id: The job.
        most: Of trials that are no runs of the baseline.
    """
    mine = trial.c.job_id == job_id
    with reading(engine) as connection:
        count = connection.execute(select(func.count()).where(mine)).scalar_one()
        step = max(1, -(-count // most))

        def some(columns: Select[Any]) -> Select[Any]:
            kept = or_(trial.c.number % step == 0, trial.c.purpose == Purpose.BASELINE.value)
            return columns.where(mine, kept).order_by(trial.c.number)

        return read_rows(connection, some), count
