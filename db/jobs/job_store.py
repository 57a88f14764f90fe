"""The jobs: what was asked for, how each stands, what came of it.

A list of jobs has little of each, so that a page of many is quick.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    Select,
    and_,
    case,
    delete,
    func,
    insert,
    literal,
    or_,
    select,
    update,
)

from db.connection.engine import (
    Counted,
    moment_of,
    now,
    read_all,
    read_first,
    reading,
    take_turn,
    writing,
)
from db.leases import Lease, fence, held
from db.schema.job_row import (
    ENDED,
    PARTS,
    BriefJob,
    JobKind,
    JobRow,
    JobState,
    ListedJob,
    NoSuchJob,
    job_from_row,
    new_job,
)
from db.schema.tables import JOB_COLUMNS, MAIN_METRICS, document, job, trial
from db.schema.types import safe_text, storable
from db.trials.trial_log import recall_document
from db.trials.trial_rows import all_metrics, proposal, read_selected, read_trials, whole_trials
from db.webhooks import tell_job
from optimizer.trials.problem import FORMER_NAMES
from optimizer.trials.trial import Trial
from sampler.bench.outcome import TrialState
from sampler.common.errors import InputError

if TYPE_CHECKING:
    from optimizer.run.planning import RunProgress


class JobStore:
    """All jobs of a database. It may be used from several threads.

    What is about one job raises KeyError where there is none of its number. The writes that a
    running job makes take its ``lease``; with it they raise ``LeaseLost`` and change nothing once
    another controller has taken the job over.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def create_job(self, specification: Mapping[str, Any], digest: str) -> int:
        """Keeps a new job as ``queued`` and returns its number, which is never used again.

        Raises:
            ValueError: A number in the specification is not finite.
        """
        new = insert(job).values(new_job(specification, digest, moment_of(self.engine)))
        with writing(self.engine) as connection:
            return int(connection.execute(new.returning(job.c.id)).scalar_one())

    def job(self, job_id: int) -> JobRow:
        """One job."""
        found = self._first(select(*JOB_COLUMNS).where(job.c.id == job_id))
        return found or _missing(job_id)

    def newest_job_with(self, digest: str) -> JobRow | None:
        """The newest job of the same specification, in whatever state, or None."""
        same = select(*JOB_COLUMNS).where(job.c.specification_digest == digest)
        return self._first(same.order_by(job.c.id.desc()).limit(1))

    def jobs(self, *, limit: int = 100) -> list[JobRow]:
        """The newest jobs, the newest first."""
        page = select(*JOB_COLUMNS).order_by(job.c.id.desc()).limit(limit)
        return [job_from_row(row._mapping) for row in read_all(self.engine, page)]

    def set_state(
        self,
        job_id: int,
        state: JobState,
        *,
        why: str = "",
        error: str | None = None,
        expected: Collection[JobState] = tuple(JobState),
        lease: Lease | None = None,
    ) -> bool:
        """Moves a job to a state; True when it was in one of the ``expected`` before."""
        values = {"state": state, "why": why, "error": error}
        return self._change(job_id, values, lease, expected)

    def save_environment(
        self, job_id: int, environment: Mapping[str, Any], *, lease: Lease | None = None
    ) -> None:
        """Keeps what the job is measured on; a ValueError of a number that is not finite."""
        self._change(job_id, {"environment": storable(environment, "environment")}, lease)

    def save_result(
        self, job_id: int, result: Mapping[str, Any], *, lease: Lease | None = None
    ) -> None:
        """Keeps what came of the job; a ValueError of a number that is not finite."""
        self._change(job_id, {"result": storable(result, "result")}, lease)

    def result(self, job_id: int) -> Mapping[str, Any] | None:
        """What came of a job, or None as long as nothing has."""
        found: tuple[Mapping[str, Any] | None] | None
        found = read_first(self.engine, select(job.c.result).where(job.c.id == job_id))
        return (found or _missing(job_id))[0]

    def recall(self, job_id: int, name: str) -> Mapping[str, Any] | None:
        """A document that a job has remembered, or None."""
        with reading(self.engine) as connection:
            return recall_document(connection, job_id, name)

    def trials(self, job_id: int, *, after: int = 0, limit: int | None = None) -> list[Trial]:
        """A page of a job's trials by number, from the one after ``after``; all by default."""
        with reading(self.engine) as connection:
            return read_trials(connection, job_id, after=after, limit=limit)

    def points(
        self, job_id: int, numbers: Collection[int]
    ) -> list[tuple[int, Mapping[str, Any], Mapping[str, float]]]:
        """Number, configuration and metrics of some of a job's trials, by number."""
        main = [trial.c[name] for name in MAIN_METRICS]
        which = (
            select(trial.c.number, trial.c.configuration, trial.c.other_metrics, *main)
            .where(trial.c.job_id == job_id, trial.c.number.in_(numbers))
            .order_by(trial.c.number)
        )
        rows = read_all(self.engine, which)
        return [(number, asked, all_metrics(each, more)) for number, asked, more, *each in rows]

    def trials_ended(
        self, job_id: int, *, after: datetime | None, number: int, limit: int
    ) -> list[Trial]:
        """A job's ended trials in the order in which they ended, for those who watch.

        Behind the trial ``number``, which ended at ``after``; None from the beginning. Of several
        that ended at once the lower number goes first.
        """
        ended = trial.c.finished_at
        page = whole_trials.where(trial.c.job_id == job_id, ended.is_not(None))
        if after is not None:
            same = (ended == after) & (trial.c.number > number)
            page = page.where(ended >= after, (ended > after) | same)
        with reading(self.engine) as connection:
            return read_selected(connection, page.order_by(ended, trial.c.number).limit(limit))

    def count_trials(self, job_id: int) -> dict[TrialState, int]:
        """How many of a job's trials are in each state that occurs."""
        counts = select(trial.c.state, func.count()).where(trial.c.job_id == job_id)
        return dict(read_all(self.engine, counts.group_by(trial.c.state)))

    def delete_job(self, job_id: int) -> bool:
        """Deletes an ended job with all its trials and documents; False when it has not ended."""
        with writing(self.engine) as connection:
            ended = delete(job).where(job.c.id == job_id, job.c.state.in_(ENDED))
            if connection.execute(ended).rowcount:
                return True
            return _require_there(connection, job_id)

    def _first(self, rows: Select[Any]) -> JobRow | None:
        found = read_first(self.engine, rows)
        return None if found is None else job_from_row(found._mapping)

    def _change(
        self,
        job_id: int,
        values: Mapping[str, Any],
        lease: Lease | None,
        expected: Collection[JobState] = tuple(JobState),
    ) -> bool:
        if lease is not None and lease.job_id != job_id:
            raise ValueError(f"the lease of job {lease.job_id} does not cover job {job_id}")
        which = update(job).where(job.c.id == job_id, job.c.state.in_(expected))
        if lease is not None:
            which = which.where(held(lease))
        with writing(self.engine) as connection:
            values = {**values, "updated_at": moment_of(self.engine)}
            if connection.execute(which.values(values)).rowcount:
                if values.get("state") in ENDED:
                    tell_job(connection, job_id)
                return True
            if lease is not None:
                fence(connection, lease)
            return _require_there(connection, job_id)


def _missing(job_id: int) -> NoReturn:
    raise NoSuchJob(f"there is no job {job_id}")


def _require_there(connection: Connection, job_id: int) -> Literal[False]:
    there = connection.execute(select(job.c.id).where(job.c.id == job_id)).first()
    return False if there else _missing(job_id)


class JobThere(ValueError):
    """A job of the same specification is in the database: ``job_id``."""

    def __init__(self, job_id: int) -> None:
        super().__init__(f"job {job_id} in this database has the same specification")
        self.job_id = job_id


def restore_job(
    engine: Engine,
    specification: Mapping[str, Any],
    digest: str,
    environment: Mapping[str, Any] | None,
    trials: Sequence[Trial],
    standing: RunProgress | None = None,
    documents: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    once: bool = False,
) -> int:
    """Keeps a job with the trials that it has made so far, all or nothing; returns its number.

    It stands as one that was cancelled: nobody takes it up until it is resumed. ``standing`` is
    how it stands after the trials, ``documents`` what it has remembered, by name. ``once``:
    not where there is a job of the same specification.

    Raises:
        JobThere: There is one.
        ValueError: A number in it is not finite, or two trials share a number.
    """
    if len({each.number for each in trials}) < len(trials):
        raise ValueError("two trials share a number")
    new = new_job(
        specification,
        digest,
        moment_of(engine),
        state=JobState.CANCELLED,
        why=f"restored with {len(trials)} trials; resume it to continue",
        environment=None if environment is None else storable(environment, "environment"),
        standing=None if standing is None else storable(standing.document(), "standing"),
    )
    rows = [proposal(each) for each in trials]
    told = (documents or {}).items()
    kept = [{"name": name, "body": storable(body, name)} for name, body in told]
    same = select(job.c.id).where(job.c.specification_digest == digest).order_by(job.c.id.desc())
    with writing(engine) as connection:
        if once:
            take_turn(connection, Counted.RESTORED_JOBS)
            there = connection.execute(same.limit(1)).scalar_one_or_none()
            if there is not None:
                raise JobThere(there)
        job_id = int(connection.execute(insert(job).values(new).returning(job.c.id)).scalar_one())
        if rows:
            about = {"job_id": job_id, "lease_epoch": 0}
            connection.execute(insert(trial), [row | about for row in rows])
        if kept:
            mine: dict[str, Any] = {"job_id": job_id, "updated_at": now(connection)}
            connection.execute(insert(document), [row | mine for row in kept])
    return job_id


_strategy = job.c.specification["strategy"].as_string()
_NAMES: dict[str, ColumnElement[Any]] = {
    **{part: job.c.specification[(part, "name")].as_string() for part in PARTS},
    "strategy": case(FORMER_NAMES, value=_strategy, else_=_strategy),
    "title": job.c.specification["title"].as_string(),
}
_ASKED = {**_NAMES, "trials": job.c.specification["trials"].as_integer()}
_OWN = [job.c[name] for name in BriefJob.__dataclass_fields__]
_SEARCHED = (*_NAMES.values(), job.c.submitter, job.c.why)
_NO_BEST = -1e300  # a job that has found nothing yet stands below all others
_KEYS: dict[str, ColumnElement[Any]] = {
    "id": job.c.id,
    "state": job.c.state,
    "workload": _ASKED["workload"],
    "updated_at": job.c.updated_at,
    "best": func.coalesce(job.c.standing[("best", "fitness")].as_float(), _NO_BEST),
}


class JobOrder(StrEnum):
    """By what a list of jobs is sorted; with a minus the largest first."""

    NEWEST = "-id"
    OLDEST = "id"
    CHANGED = "-updated_at"
    UNCHANGED = "updated_at"
    BEST = "-best"
    WORST = "best"
    WORKLOAD = "workload"
    WORKLOAD_BACKWARDS = "-workload"
    STATE = "state"
    STATE_BACKWARDS = "-state"


Version = tuple[JobState, int, datetime]
"""State, run and last change of a job: equal as long as nothing of it has changed."""


def job_versions(engine: Engine, job_ids: Collection[int]) -> dict[int, Version]:
    """The versions of some jobs by number, in one statement; deleted ones are not there."""
    which = select(job.c.id, job.c.state, job.c.run, job.c.updated_at).where(job.c.id.in_(job_ids))
    return {row.id: (row.state, row.run, row.updated_at) for row in read_all(engine, which)}


def read_jobs(
    engine: Engine,
    *,
    limit: int,
    after: int | None = None,
    state: JobState | None = None,
    kind: JobKind | None = None,
    search: str = "",
    order: JobOrder = JobOrder.NEWEST,
) -> list[ListedJob]:
    """A page of jobs, behind the job ``after``; those equal in the order by number likewise.

    ``search`` leaves those of this number, and those with this text, in capital or small letters,
    in the name of the workload, space, objective, strategy or submitter or in the reason for the
    phase.

    Raises:
        InputError: ``after`` is no job (any more) and the order is not by number, or the text to
            search is none.
    """
    if safe_text(search) != search:
        raise InputError("search", "has characters that cannot be stored as text; remove them")
    page = select(*_OWN, *_ASKED.values()).limit(limit)
    for column, value in ((job.c.state, state), (job.c.kind, kind)):
        if value is not None:
            page = page.where(column == value)
    if search:
        page = page.where(or_(*_matches(search)))
    key, falling = _KEYS[order.removeprefix("-")], order.startswith("-")
    page = page.order_by(*((c.desc() if falling else c) for c in (key, job.c.id)))
    with reading(engine) as connection:
        if after is not None:
            page = page.where(_behind(connection, key, falling, after))
        rows = connection.execute(page).all()
    return [
        ListedJob(
            **dict(zip(BriefJob.__dataclass_fields__, row, strict=False)),
            asked=dict(zip(_ASKED, row[len(_OWN) :], strict=True)),
        )
        for row in rows
    ]


def _matches(search: str) -> Iterator[ColumnElement[bool]]:
    number = search.removeprefix("#")
    if number.isascii() and number.isdecimal() and len(number) < 19:
        yield job.c.id == int(number)
    yield from (column.icontains(search, autoescape=True) for column in _SEARCHED)


def _behind(
    connection: Connection, key: ColumnElement[Any], falling: bool, after: int
) -> ColumnElement[bool]:
    further = job.c.id < after if falling else job.c.id > after
    if key is job.c.id:
        return further
    found = connection.execute(select(key).where(job.c.id == after)).first()
    if found is None:
        raise InputError("after", f"job {after} no longer exists; start again from the first page")
    value = literal(found[0], key.type)
    return or_(key < value if falling else key > value, and_(key == value, further))


def standings(engine: Engine) -> list[tuple[JobState, Mapping[str, Any] | None]]:
    """State and standing of every job: what the metrics are summed from."""
    rows = read_all(engine, select(job.c.state, job.c.standing))
    return [(row.state, row.standing) for row in rows]


def count_by_state(engine: Engine) -> dict[JobState, int]:
    """How many jobs are in each state that occurs."""
    return dict(read_all(engine, select(job.c.state, func.count()).group_by(job.c.state)))
