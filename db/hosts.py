"""The bench hosts that have shown up: what each of them is, and how steady it was."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Engine, select

from db.connection.transactions import insert_into, now, reading, writing
from db.schema.job_row import JobState
from db.schema.tables import document, host, job
from db.schema.types import storable
from optimizer.run.ports import HOSTS_SET_ASIDE

ALIVE = timedelta(minutes=1)
"""A host that was not seen for longer measures nothing."""


@dataclass(frozen=True)
class HostRow:
    """A bench host."""

    name: str
    seen_at: datetime  # when it last said that it lives
    job_id: int | None  # the job that it then measured for
    environment: Mapping[str, Any]  # its fingerprint, and the RocksDB on it


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
    with reading(engine) as connection:
        rows = connection.execute(select(host).order_by(host.c.name))
        return [HostRow(**row._mapping) for row in rows]


def excluded_hosts(engine: Engine) -> set[str]:
    """The hosts that running jobs do without."""
    which = (
        select(document.c.body)
        .join(job, job.c.id == document.c.job_id)
        .where(job.c.state == JobState.RUNNING, document.c.name == HOSTS_SET_ASIDE)
    )
    with reading(engine) as connection:
        return {host for body in connection.execute(which).scalars() for host in body["hosts"]}


_JOBS = 50  # looked at, the newest first


@dataclass(frozen=True)
class HostNoise:
    """The scatter of a host's runs of the baseline in one job."""

    job_id: int  # the newest job with it
    workload: str  # its workload
    # By metric, the standard deviation over the median; None: too few runs.
    spread: Mapping[str, float | None]
    set_aside: str | None  # why the job did without the host; None: it did not


def host_noise(engine: Engine) -> dict[str, HostNoise]:
    """By host, from the newest finished job that it had a baseline in."""
    hosts, workload = job.c.result["hosts"], job.c.specification[("workload", "name")]
    which = (
        select(job.c.id, hosts, workload.as_string())
        .where(job.c.state == JobState.DONE.value)
        .order_by(job.c.id.desc())
        .limit(_JOBS)
    )
    found: dict[str, HostNoise] = {}
    with reading(engine) as connection:
        for job_id, measured, name in connection.execute(which):
            for each in measured or ():
                if each["baseline"] and each["name"] is not None:
                    spread = each["baseline"]["spread"]
                    aside = each.get("set_aside")
                    found.setdefault(each["name"], HostNoise(job_id, name, spread, aside))
    return found
