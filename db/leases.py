"""Who runs what now: one controller of a job, one leader of a thing; and the bench hosts.

A lease is three columns of the job: who, which epoch, until when. The epoch grows with every
change of hands, and every write of a controller checks it in its own transaction. So a controller
that slept through its lease (a paused machine, a lost network) cannot write into a history that
is no longer its own.

The leader lease: of all processes that could do a thing, one does it and the others wait. One
worker of a database runs its jobs; one terminal runs the batch of a name. It is a row that names
its owner and runs out unless it is kept; by its epoch a leader that slept through it notices.

A process is named so that another can tell, later, whether it still lives. A number alone does not
do: numbers are used again. Together with the boot, the PID namespace and the time at which it
started, a process is named once and for all. Of a host it is told what it is, when it was last
seen, and how steady it was.
"""

import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import psutil
from sqlalchemy import ColumnElement, Connection, Engine, and_, select, update

from db.connection.engine import (
    change,
    insert_into,
    moment_of,
    now,
    read_all,
    read_first,
    reading,
    writing,
)
from db.schema.job_row import LIVE, JobState, NoSuchJob
from db.schema.tables import document, host, job, leader, trial
from db.schema.types import storable
from optimizer.run.ports import HOSTS_EXCLUDED, LeaseLost
from sampler.machine.machine import own_process, start_time

LEASE_SECONDS = 60.0
_ALIVE = timedelta(minutes=1)  # a host that was not seen for longer measures nothing


@dataclass(frozen=True)
class Lease:
    """The right to write a job's history."""

    job_id: int
    epoch: int
    owner: str


class LeaseHeld(RuntimeError):
    """Another controller holds the job.

    Attributes:
        owner: Who, as ``this_process_name`` writes it.
        until: When its lease ends unless it is renewed.
    """

    def __init__(self, job_id: int, owner: str, until: datetime) -> None:
        super().__init__(
            f"job {job_id} is being run by {spoken(owner)}; its lease expires at "
            f"{until:%Y-%m-%d %H:%M:%S} UTC unless renewed"
        )
        self.owner = owner
        self.until = until


_leases = select(job.c.lease_owner, job.c.lease_epoch, job.c.lease_expires_at)


def acquire(engine: Engine, job_id: int, owner: str, *, seconds: float = LEASE_SECONDS) -> Lease:
    """Takes a job over when nobody holds it, or who held it is late or provably dead.

    ``owner`` is who asks, ``this_process_name()``. The lease holds for so many
    seconds unless it is renewed.

    Raises:
        KeyError: There is no such job.
        LeaseHeld: Another controller holds it, or another thread of this process.
    """
    with writing(engine) as connection:
        which = _leases.where(job.c.id == job_id).with_for_update()
        found = connection.execute(which).one_or_none()
        if found is None:
            raise NoSuchJob(f"there is no job {job_id}")
        moment = now(connection)
        until = moment + timedelta(seconds=seconds)
        holder, held_until = found.lease_owner, found.lease_expires_at
        if holder is not None and held_until > moment and not is_dead(holder):
            raise LeaseHeld(job_id, holder, held_until)
        lease = Lease(job_id, found.lease_epoch + 1, owner)
        mine = {"lease_owner": owner, "lease_epoch": lease.epoch, "lease_expires_at": until}
        connection.execute(update(job).where(job.c.id == job_id).values(mine))
    return lease


def renew(engine: Engine, lease: Lease, *, seconds: float = LEASE_SECONDS) -> None:
    """Holds the job for longer. A lease that has run out is renewed if nobody took it.

    Raises:
        LeaseLost: Another controller has taken the job over.
    """
    with writing(engine) as connection:
        until = now(connection) + timedelta(seconds=seconds)
        change_held(connection, lease, lease_expires_at=until)


def release(engine: Engine, lease: Lease) -> None:
    """Gives the job back, so that the next controller need not wait. Not an error when lost."""
    change(engine, update(job).where(held(lease)).values(lease_owner=None, lease_expires_at=None))


def held(lease: Lease) -> ColumnElement[bool]:
    """That the lease holds, as a condition on the job's row."""
    same = (job.c.lease_epoch == lease.epoch, job.c.lease_owner == lease.owner)
    return and_(job.c.id == lease.job_id, *same)


def change_held(connection: Connection, lease: Lease, **values: Any) -> None:
    """Changes the job's row where the lease holds, which proves it as ``fence`` does.

    To prove the lease first and change the row then would let two threads of one controller wait
    for each other on PostgreSQL.

    Raises:
        LeaseLost: It does not hold; the transaction must be rolled back.
    """
    if not connection.execute(update(job).where(held(lease)).values(values)).rowcount:
        fence(connection, lease)


def fence(connection: Connection, lease: Lease) -> None:
    """Proves, for the rest of the transaction, that the lease still holds.

    Raises:
        LeaseLost: It does not; the transaction must be rolled back.
    """
    # Until the transaction ends nobody else can take the lease. SQLite needs no such lock: its
    # writers are alone anyway.
    if connection.execute(select(job.c.id).where(held(lease)).with_for_update(read=True)).first():
        return
    found = connection.execute(_leases.where(job.c.id == lease.job_id)).one_or_none()
    if found is None:
        raise LeaseLost(f"job {lease.job_id} has been deleted")
    if found.lease_owner is None:
        raise LeaseLost(f"job {lease.job_id} was released; no more can be written for it")
    raise LeaseLost(f"job {lease.job_id} was taken over by {spoken(found.lease_owner)}")


LEADER_SECONDS = 15.0
BENCH = "bench"  # what one worker leads: the hosts that jobs are measured on; one set so far


@dataclass(frozen=True)
class LeaderLease:
    """The right to lead: ``name`` is what is led, the workers of a database or a batch."""

    name: str
    epoch: int
    owner: str


def take_lead(
    engine: Engine, name: str, owner: str, *, seconds: float = LEADER_SECONDS
) -> LeaderLease | str:
    """Takes the lease when nobody has it, or who had it is late or provably dead.

    ``owner`` is who asks, ``this_process_name()``. It lasts for so many seconds unless it is kept.
    Where another process leads, its name is returned.
    """
    with writing(engine) as connection:
        moment = now(connection)
        until = moment + timedelta(seconds=seconds)
        mine = {"owner": owner, "expires_at": until}
        first = insert_into(engine, leader).values(name=name, epoch=1, **mine)
        if connection.execute(first.on_conflict_do_nothing().returning(leader.c.name)).first():
            return LeaderLease(name, 1, owner)
        this = leader.c.name == name
        found = connection.execute(select(leader).where(this).with_for_update()).one()
        if found.owner and found.expires_at > moment and not is_dead(found.owner):
            return str(found.owner)
        taken = LeaderLease(name, found.epoch + 1, owner)
        connection.execute(update(leader).where(this).values(epoch=taken.epoch, **mine))
        return taken


def keep_lead(engine: Engine, mine: LeaderLease, *, seconds: float = LEADER_SECONDS) -> bool:
    """Makes the lease last longer; False when another has taken it."""
    with writing(engine) as connection:
        until = now(connection) + timedelta(seconds=seconds)
        kept = update(leader).where(_is_mine(mine)).values(expires_at=until)
        return bool(connection.execute(kept).rowcount)


def is_led(engine: Engine, name: str) -> bool:
    """Whether somebody has the lease now."""
    led = (leader.c.name == name, leader.c.owner != "", leader.c.expires_at > moment_of(engine))
    return read_first(engine, select(leader.c.name).where(*led)) is not None


def give_back_lead(engine: Engine, mine: LeaderLease) -> None:
    """Ends the lease, so that the next one need not wait. Not an error when it is lost."""
    change(engine, update(leader).where(_is_mine(mine)).values(owner=""))


def _is_mine(mine: LeaderLease) -> ColumnElement[bool]:
    same = (leader.c.name == mine.name, leader.c.epoch == mine.epoch, leader.c.owner == mine.owner)
    return and_(*same)


_UNKNOWN = "-"


def this_process_name() -> str:
    """This process's name: ``host:boot:namespace:pid:start``."""
    pid, started = own_process()
    return ":".join((_host(), _boot(), _namespace(), str(pid), str(started)))


def is_dead(name: str) -> bool:
    """Whether the named process certainly runs no more.

    False where that cannot be known from here: on another machine, in another container, after a
    reboot (then the lease soon runs out by itself).
    """
    try:
        host, boot, namespace, number, started = name.split(":")
        pid = int(number)
    except ValueError:
        return False
    if (boot, namespace) != (_boot(), _namespace()):
        return False
    if boot == _UNKNOWN:
        return host == _host() and not psutil.pid_exists(pid)
    return str(start_time(pid)) != started


def spoken(name: str) -> str:
    """The name as a message says it."""
    parts = name.split(":")
    return f"process {parts[3]} on {parts[0]}" if len(parts) == 5 else name


def _host() -> str:
    return socket.gethostname().replace(":", "_") or _UNKNOWN


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return _UNKNOWN


def _namespace() -> str:
    try:
        return str(Path("/proc/self/ns/pid").stat().st_ino)
    except OSError:
        return _UNKNOWN


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
