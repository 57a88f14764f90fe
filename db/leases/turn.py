"""Whose turn it is: of all workers of a database, one runs jobs and the others wait.

A turn is a row that names its owner and runs out unless it is kept. Its epoch grows with every
change of hands, so that a worker that slept through its turn notices.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import ColumnElement, Engine, and_, select, update

from db.connection.clock import now
from db.connection.inserts import insert_into
from db.connection.transactions import writing
from db.leases.process import is_dead
from db.schema.tables import turn

TURN_SECONDS = 15.0


@dataclass(frozen=True)
class Turn:
    """The right to run jobs."""

    name: str
    epoch: int
    owner: str


@dataclass(frozen=True)
class Taken:
    """It is another's turn."""

    owner: str


def take(engine: Engine, name: str, owner: str, *, seconds: float = TURN_SECONDS) -> Turn | Taken:
    """Takes the turn when nobody has it, or who had it is late or provably dead.

    Args:
        engine: The database.
        name: What is taken in turns: the hosts that benches run on.
        owner: Who asks: ``db.leases.process.this_process()``.
        seconds: How long it lasts unless it is kept.
    """
    with writing(engine) as connection:
        moment = now(connection)
        until = moment + timedelta(seconds=seconds)
        first = insert_into(engine, turn).values(name=name, owner=owner, epoch=1, expires_at=until)
        if connection.execute(first.on_conflict_do_nothing().returning(turn.c.name)).first():
            return Turn(name, 1, owner)
        found = connection.execute(select(turn).where(turn.c.name == name).with_for_update()).one()
        if found.owner and found.expires_at > moment and not is_dead(found.owner):
            return Taken(found.owner)
        taken = Turn(name, found.epoch + 1, owner)
        connection.execute(
            update(turn)
            .where(turn.c.name == name)
            .values(owner=owner, epoch=taken.epoch, expires_at=until)
        )
        return taken


def keep(engine: Engine, mine: Turn, *, seconds: float = TURN_SECONDS) -> bool:
    """Makes the turn last longer; False when another has taken it."""
    with writing(engine) as connection:
        until = now(connection) + timedelta(seconds=seconds)
        kept = update(turn).where(_held(mine)).values(expires_at=until)
        return bool(connection.execute(kept).rowcount)


def give_back(engine: Engine, mine: Turn) -> None:
    """Ends the turn, so that the next worker need not wait. Not an error when lost."""
    with writing(engine) as connection:
        connection.execute(update(turn).where(_held(mine)).values(owner=""))


def _held(mine: Turn) -> ColumnElement[bool]:
    return and_(turn.c.name == mine.name, turn.c.epoch == mine.epoch, turn.c.owner == mine.owner)
