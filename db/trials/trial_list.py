"""A job's trials as a table: filtered, sorted and paged, whatever their number.

Which trials a page has is read from one index that holds all that is asked about
(``ix_trial_listed``), for a row of the table is a few kilobytes; then the page's rows are read.
"""

from collections import Counter
from enum import StrEnum
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    and_,
    func,
    literal,
    literal_column,
    or_,
    select,
)

from db.connection.transactions import read_all, reading
from db.schema.tables import trial
from db.trials.trial_rows import read_selected, shown_trials
from optimizer.trials.trial import Phase, Trial
from sampler.common.errors import InputError
from sampler.runner.outcome import TrialState

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
