"""The leader lease: of all processes that could do a thing, one does it and the others wait.

One worker of a database runs its jobs; one terminal runs the batch of a name. The lease is a row
that names its owner and runs out unless it is kept. Its epoch grows with every change of hands,
so that a leader that slept through its lease notices.
"""

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import ColumnElement, Engine, and_, select, update

from db.connection.transactions import insert_into, now, reading, writing
from db.leases.process import is_dead
from db.schema.tables import leader

LEADER_SECONDS = 15.0
BENCH = "bench"  # what one worker leads: the hosts that jobs are measured on; one set so far


@dataclass(frozen=True)
class LeaderLease:
    """The right to lead: ``name`` is what is led, the workers of a database or a batch."""

    name: str
    epoch: int
    owner: str


@dataclass(frozen=True)
class LedBy:
    """Another process leads."""

    owner: str


def take_lead(
    engine: Engine, name: str, owner: str, *, seconds: float = LEADER_SECONDS
) -> LeaderLease | LedBy:
    """Takes the lease when nobody has it, or who had it is late or provably dead.

    ``owner`` is who asks, ``db.leases.process.this_process_name()``. It lasts for so many seconds
    unless it is kept.
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
            return LedBy(found.owner)
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
    with reading(engine) as connection:
        held = (leader.c.name == name, leader.c.owner != "", leader.c.expires_at > now(connection))
        return connection.execute(select(leader.c.name).where(*held)).first() is not None


def give_back_lead(engine: Engine, mine: LeaderLease) -> None:
    """Ends the lease, so that the next one need not wait. Not an error when it is lost."""
    with writing(engine) as connection:
        connection.execute(update(leader).where(_is_mine(mine)).values(owner=""))


def _is_mine(mine: LeaderLease) -> ColumnElement[bool]:
    same = (leader.c.name == mine.name, leader.c.epoch == mine.epoch, leader.c.owner == mine.owner)
    return and_(*same)
