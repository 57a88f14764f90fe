"""Trials as rows, and rows as trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, func, select

from db.tables import MAIN_METRICS, trial
from db.types import finite, plain
from optimizer.trial import Phase, Purpose, Trial
from sampler.outcome import TrialState

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
)
_page = (
    select(*_columns)
    .where(trial.c.job_id == bindparam("job_id"), trial.c.number > bindparam("after"))
    .order_by(trial.c.number)
)
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
        "configuration": plain(proposed.configuration, "configuration"),
        "digest": proposed.digest,
        "point": None if proposed.point is None else plain(proposed.point, "point"),
        "subject": proposed.subject,
        "why": proposed.why,
        "based_on": proposed.based_on,
        "attempt": proposed.attempt,
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


def _trial(row: Sequence[Any]) -> Trial:
    # By position: looking ten thousand rows' columns up by name takes longer than reading them.
    (number, phase, purpose, seed, configuration, digest, point, subject, why, based_on) = row[:10]
    (attempt, state, waf, sa, time, rate, memory, other_metrics, counters, effective) = row[10:20]
    (failure, warnings, bench_seconds, host, started_at, finished_at) = row[20:]
    main = {"waf": waf, "sa": sa, "time": time, "rate": rate, "memory": memory}
    metrics: Mapping[str, float] = {
        **{name: value for name, value in main.items() if value is not None},
        **other_metrics,
    }
    return Trial(
        number=number,
        phase=Phase(phase),
        purpose=Purpose(purpose),
        seed=seed,
        configuration=configuration,
        digest=digest,
        point=point,
        subject=subject,
        why=why,
        based_on=based_on,
        attempt=attempt,
        state=TrialState(state),
        metrics=metrics,
        counters=counters,
        effective=effective,
        failure=failure,
        warnings=tuple(warnings),
        bench_seconds=bench_seconds,
        host=host,
        started_at=started_at,
        finished_at=finished_at,
    )
