"""Trials as rows, and rows as trials."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from sqlalchemy import Connection, Engine, Select, bindparam, func, null, or_, select

from db.connection.transactions import reading
from db.schema.tables import MAIN_METRICS, trial
from db.schema.types import finite, storable
from optimizer.trials.trial import PackedPoint, Purpose, Trial
from sampler.runner.outcome import TrialState

_OUTCOME = ("state", "failure", "warnings", "bench_seconds", "host", "started_at", "finished_at")
_WHOLE = tuple(each.name for each in fields(Trial) if each.name != "metrics")
# What a page shows: counters and coordinates are most of a row, and take most of the time.
_SHOWN = tuple(name for name in _WHOLE if name not in ("point", "counters"))
# What a plot over time shows.
_SLIM = ("number", "phase", "purpose", "subject", "digest", "state", "host", "started_at", "given")
_MAIN = [trial.c[name] for name in MAIN_METRICS]


def _columns(names: Iterable[str]) -> list[Any]:
    return [*(trial.c[name] for name in names), *_MAIN]


whole_trials = select(*_columns(_WHOLE), trial.c.other_metrics)
shown_trials = select(*_columns(_SHOWN), trial.c.other_metrics)
slim_trials = select(*_columns(_SLIM), trial.c.other_metrics)
bare_trials = select(*_columns(_SLIM), null().label("other_metrics"))
_page = (
    whole_trials.where(trial.c.job_id == bindparam("job_id"), trial.c.number > bindparam("after"))
    .order_by(trial.c.number)
)  # fmt: skip


def read_trials(
    connection: Connection, job_id: int, *, after: int = 0, limit: int | None = None
) -> list[Trial]:
    """A job's trials by number, from the one after ``after``."""
    page = _page if limit is None else _page.limit(limit)
    return read_whole(connection, page, job_id=job_id, after=after)


def read_baseline_whole(connection: Connection, job_id: int) -> list[Trial]:
    """The baseline's runs that ended well, with counters, those of the proof left out."""
    mine = (trial.c.job_id == job_id, trial.c.purpose == Purpose.BASELINE)
    done = whole_trials.where(*mine, trial.c.state == TrialState.DONE)
    return read_whole(connection, done.order_by(trial.c.number))


def read_whole(connection: Connection, which: Select[Any], **values: Any) -> list[Trial]:
    """The trials of a statement that begins with ``whole_trials``."""
    return [_trial(_WHOLE, row) for row in connection.execute(which, values)]


def read_shown(connection: Connection, which: Select[Any]) -> list[Trial]:
    """Trials without points and counters, of a statement that begins with ``shown_trials``."""
    return [_trial(_SHOWN, row) for row in connection.execute(which)]


def read_slim(connection: Connection, which: Select[Any]) -> list[Trial]:
    """Trials with metrics, host and purpose, of ``slim_trials``; or ``bare_trials``: main ones."""
    return [_trial(_SLIM, row) for row in connection.execute(which)]


def all_metrics(main: Sequence[float | None], others: Mapping[str, float]) -> Mapping[str, float]:
    """All metrics of a trial: those with a column of their own, then the others."""
    known = zip(MAIN_METRICS, main, strict=True)
    return {**{name: value for name, value in known if value is not None}, **others}


def proposal(proposed: Trial) -> dict[str, Any]:
    """The columns that a proposal sets; all that came of an earlier attempt is cleared.

    Raises:
        ValueError: A value of the configuration or the point is not finite.
    """
    return {
        **{name: getattr(proposed, name) for name in _WHOLE},
        "configuration": storable(proposed.configuration, "configuration"),
        "point": None if proposed.point is None else storable(proposed.point, "point"),
        **outcome(proposed),
    }


def outcome(ended: Trial) -> dict[str, Any]:
    """The columns that the end of a trial sets."""
    metrics = finite(ended.metrics)
    return {
        **{name: metrics.pop(name, None) for name in MAIN_METRICS},
        **{name: getattr(ended, name) for name in _OUTCOME},
        "other_metrics": metrics,
        "counters": finite(ended.counters),
        "effective": None if ended.effective is None else finite(ended.effective),
    }


def withdrawn(measured: Trial, why: str) -> dict[str, Any]:
    """What a trial had measured before it was taken back, as a document keeps it."""
    kept = ("number", "attempt", "state", "host", "failure", "bench_seconds")
    moments = {name: getattr(measured, name) for name in ("started_at", "finished_at")}
    return {
        **{name: getattr(measured, name) for name in kept},
        "metrics": finite(measured.metrics),
        "counters": finite(measured.counters),
        **{name: moment and moment.isoformat() for name, moment in moments.items()},
        "why": why,
    }


def _trial(names: Sequence[str], row: Sequence[Any]) -> Trial:
    # By position: looking ten thousand rows' columns up by name takes longer than reading them.
    values = {"seed": 0, "configuration": {}, **dict(zip(names, row, strict=False))}
    return Trial(
        **values
        | {
            "point": PackedPoint.of(values.get("point")),
            "warnings": tuple(values.get("warnings", ())),
            "metrics": all_metrics(row[len(names) : -1], row[-1] or {}),
        }
    )


def sampled_trials(engine: Engine, job_id: int, *, most: int) -> tuple[list[Trial], int]:
    """About ``most`` trials by number, without points and counters, and how many there are in all.

    Runs of the baseline come beside them and are never left out.
    """
    mine = trial.c.job_id == job_id
    with reading(engine) as connection:
        count = connection.execute(select(func.count()).where(mine)).scalar_one()
        step = max(1, -(-count // most))
        kept = or_(trial.c.number % step == 0, trial.c.purpose == Purpose.BASELINE)
        which = shown_trials.where(mine, kept).order_by(trial.c.number)
        return read_shown(connection, which), count
