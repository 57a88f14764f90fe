"""The bench hosts that have shown up: what each of them is, and how steady it was."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Engine, select

from db.connection.engine import insert_into, now, read_all, reading, writing
from db.schema.job_row import LIVE, JobState
from db.schema.tables import document, host, job, trial
from db.schema.types import storable
from optimizer.run.ports import HOSTS_EXCLUDED

_ALIVE = timedelta(minutes=1)  # a host that was not seen for longer measures nothing


@dataclass(frozen=True)
class HostRow:
    """A bench host."""

    name: str
    seen_at: datetime  # when it last said that it lives
    job_id: int | None  # the job that it then measured for
    environment: Mapping[str, Any]  # its fingerprint, and the RocksDB on it

    def alive(self, moment: datetime) -> bool:
        """Whether it has shown up within the minute before a moment."""
        return moment - self.seen_at < _ALIVE


def see_host(
    engine: Engine, name: str, environment: Mapping[str, Any] | None, job_id: int | None
) -> None:
    """Notes that a host lives; ``environment`` None leaves what was noted of it."""
    with writing(engine) as connection:
        change = {"seen_at": now(connection), "job_id": job_id}
        shown = {"environment": storable(environment or {}, "environment")}
        new = insert_into(engine, host).values(name=name, **change, **shown)
        change |= {} if environment is None else shown
        connection.execute(new.on_conflict_do_update(index_elements=["name"], set_=change))


def read_hosts(engine: Engine) -> list[HostRow]:
    """All hosts by name."""
    rows = read_all(engine, select(host).order_by(host.c.name))
    return [HostRow(**row._mapping) for row in rows]


_JOBS = 100  # looked at, the newest first


@dataclass(frozen=True)
class HostRuns:
    """A host's runs of the baseline in one finished job."""

    job_id: int
    ended_at: datetime
    asked: Mapping[str, Any]  # the job's specification
    environment: Mapping[str, Any]  # the job's, of this host where it tells them apart
    baseline: Mapping[str, Any]  # ``metrics`` and ``spread`` by metric, and ``runs``


@dataclass(frozen=True)
class HostExclusion:
    """That a job does without a host."""

    job_id: int
    since: datetime  # its last run of the baseline that counts; without one the job's beginning
    why: str
    live: bool  # whether the job still runs


def host_jobs(engine: Engine) -> tuple[tuple[int, datetime], ...]:
    """The newest finished jobs, and when each last changed."""
    which = select(job.c.id, job.c.updated_at).where(job.c.state == JobState.DONE)
    rows = read_all(engine, which.order_by(job.c.id.desc()).limit(_JOBS))
    return tuple((row.id, row.updated_at) for row in rows)


def host_runs(engine: Engine, jobs: Iterable[int]) -> dict[str, list[HostRuns]]:
    """By host its runs in these finished jobs, the oldest first."""
    hosts = job.c.result["hosts"]
    columns = (job.c.id, job.c.updated_at, job.c.specification, hosts, job.c.environment)
    which = select(*columns).where(job.c.id.in_(jobs)).order_by(job.c.id)
    found: dict[str, list[HostRuns]] = {}
    for number, at, asked, measured, environment in read_all(engine, which):
        known = dict(environment or {})
        others = known.pop("hosts", {})
        for each in measured or ():
            if each["baseline"] and (name := each["name"]) is not None:
                own = known | others.get(name, {})
                runs = HostRuns(number, at, asked, own, each["baseline"])
                found.setdefault(name, []).append(runs)
    return found


def excluded_hosts(engine: Engine) -> dict[str, HostExclusion]:
    """By host the newest live job that does without it, else the newest that did to its end."""
    live = job.c.state.in_(LIVE)
    ended = select(job.c.id).where(~live).order_by(job.c.id.desc()).limit(_JOBS)
    which = (
        select(job.c.id, job.c.created_at, job.c.state, document.c.body)
        .join(document, document.c.job_id == job.c.id)
        .where(live | job.c.id.in_(ended), document.c.name == HOSTS_EXCLUDED)
        .order_by(live, job.c.id)
    )
    runs, found = {}, {}
    with reading(engine) as connection:
        for number, began, state, body in connection.execute(which):
            for name, why in body["hosts"].items():
                runs[name] = (body.get("since") or {}).get(name)
                found[name] = HostExclusion(number, began, why, state in LIVE)
        for name, each in found.items():
            last = (trial.c.job_id == each.job_id, trial.c.number == runs[name])
            since = connection.execute(select(trial.c.finished_at).where(*last)).scalar()
            found[name] = replace(each, since=since or each.since)
    return found
