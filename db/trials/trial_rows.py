"""Trials as rows, and rows as trials; for those who watch, little of each.

Configurations, coordinates and counters are most of a row, and no plot over time shows them.

A page of the table of trials is filtered and sorted by one index that holds all that is asked
about (``ix_trial_listed``), for a row of the table is a few kilobytes; then its rows are read.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum
from operator import attrgetter
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    Select,
    and_,
    bindparam,
    func,
    literal,
    literal_column,
    null,
    or_,
    select,
)

from db.connection.engine import read_all, reading
from db.schema.tables import MAIN_METRICS, trial
from db.schema.types import finite, storable
from optimizer.trials.trial import PackedPoint, Phase, Purpose, Trial
from sampler.bench.outcome import TrialState
from sampler.common.errors import InputError

_OUTCOME = ("state", "failure", "warnings", "bench_seconds", "host", "started_at", "finished_at")
_WHOLE = tuple(each.name for each in fields(Trial) if each.name != "metrics")
# What a page shows.
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
    return read_selected(connection, page, job_id=job_id, after=after)


def read_baseline_whole(connection: Connection, job_id: int) -> list[Trial]:
    """The baseline's runs that ended well, with counters, those of the proof left out."""
    mine = (trial.c.job_id == job_id, trial.c.purpose == Purpose.BASELINE)
    done = whole_trials.where(*mine, trial.c.state == TrialState.DONE)
    return read_selected(connection, done.order_by(trial.c.number))


def read_selected(connection: Connection, which: Select[Any], **values: Any) -> list[Trial]:
    """The trials of a statement that begins with one of the four; the rest of each is empty."""
    names = which.selected_columns.keys()[: -len(MAIN_METRICS) - 1]
    return [_trial(names, row) for row in connection.execute(which, values)]


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
        return read_selected(connection, which), count


_MOST_REASONS = 500
_WRONG = [state for state in TrialState if state not in (TrialState.DONE, TrialState.RUNNING)]


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
    return read_selected(connection, which)


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
    return read_selected(connection, latest.limit(limit))


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
    out = sorted(read_selected(connection, running), key=attrgetter("number"))
    return TrialFacts(counts.most_common(), last, out)


def _runs_of(connection: Connection, job_id: int, number: int, purpose: Purpose) -> list[Trial]:
    """Whole measurements of the configuration that a trial has, by number, with all metrics.

    They are found by its digest, which has an index. To put the few in order is left to us: asked
    for it, SQLite would rather go through all trials by number.
    """
    which = slim_trials.where(*_measuring(job_id, number, purpose))
    return sorted(read_selected(connection, which), key=attrgetter("number"))


def _measuring(job_id: int, number: int, purpose: Purpose) -> list[ColumnElement[bool]]:
    digest = select(trial.c.digest).where(trial.c.job_id == job_id, trial.c.number == number)
    return [
        trial.c.job_id == job_id,
        trial.c.digest == digest.scalar_subquery(),
        trial.c.purpose == purpose,
        trial.c.state == TrialState.DONE,
    ]


# As expressions: by the columns SQLite would rather take an index of few columns, and then look at
# every row.
_EMPTY: ColumnElement[Any] = literal_column("''")
_STATE: Any = trial.c.state + _EMPTY
_PHASE: Any = trial.c.phase + _EMPTY
_NONE = 1e300  # a trial without the figure stands last, whichever way is sorted


class TrialOrder(StrEnum):
    """By what trials are sorted; with a minus the largest first."""

    NUMBER = "number"
    NEWEST = "-number"
    WAF = "waf"
    WAF_FALLING = "-waf"
    SA = "sa"
    SA_FALLING = "-sa"
    TIME = "time"
    TIME_FALLING = "-time"
    RATE = "rate"
    RATE_FALLING = "-rate"
    MEMORY = "memory"
    MEMORY_FALLING = "-memory"
    BENCH = "bench_seconds"
    BENCH_FALLING = "-bench_seconds"


def read_listed(
    engine: Engine,
    job_id: int,
    *,
    limit: int,
    after: int | None = None,
    state: TrialState | None = None,
    phase: Phase | None = None,
    order: TrialOrder = TrialOrder.NUMBER,
) -> list[Trial]:
    """A page of a job's trials, without their points and counters, behind the trial ``after``.

    Of those that are equal in the order the lower number goes first; those without the metric are
    the last.

    Raises:
        InputError: ``after`` is none of the job's trials, and the order is not by number.
    """
    name, falling = order.removeprefix("-"), order.startswith("-")
    key: ColumnElement[Any] = trial.c.number
    if name != "number":
        key = func.coalesce(trial.c[name], -_NONE if falling else _NONE)
    mine = trial.c.job_id == job_id
    listed = select(trial.c.number).where(mine).limit(limit)
    for column, value in ((_STATE, state), (_PHASE, phase)):
        if value is not None:
            listed = listed.where(value == column)
    by_number = [] if name == "number" else [trial.c.number]
    listed = listed.order_by(key.desc() if falling else key, *by_number)
    with reading(engine) as connection:
        if after is not None:
            listed = listed.where(_behind(connection, job_id, key, falling, after))
        numbers = list(connection.execute(listed).scalars())
        rows = read_selected(connection, shown_trials.where(mine, trial.c.number.in_(numbers)))
    found = {each.number: each for each in rows}
    # A trial may have been taken back between the two questions.
    return [found[number] for number in numbers if number in found]


def count_listed(engine: Engine, job_id: int) -> tuple[Counter[TrialState], Counter[Phase]]:
    """How many trials a job has in each state and in each phase that occurs."""
    kinds = (_STATE, _PHASE)
    which = select(*kinds, func.count()).where(trial.c.job_id == job_id).group_by(*kinds)
    states: Counter[TrialState] = Counter()
    phases: Counter[Phase] = Counter()
    for state, phase, count in read_all(engine, which):
        states[state] += count
        phases[phase] += count
    return states, phases


def _behind(
    connection: Connection, job_id: int, key: ColumnElement[Any], falling: bool, after: int
) -> ColumnElement[bool]:
    if key is trial.c.number:
        return trial.c.number < after if falling else trial.c.number > after
    last = select(key).where(trial.c.job_id == job_id, trial.c.number == after)
    found = connection.execute(last).first()
    if found is None:
        raise InputError("after", f"the job has no trial {after}; start again from the first page")
    value = literal(found[0])
    further = key < value if falling else key > value
    return or_(further, and_(key == value, trial.c.number > after))
