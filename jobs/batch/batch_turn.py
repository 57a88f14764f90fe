"""A batch that a terminal runs: one process at a time, told from others by its turn."""

from __future__ import annotations

import time

from sqlalchemy import Engine

from db.leases.leader import LeaderLease, LedBy, give_back_lead, keep_lead, take_lead
from db.leases.process import spoken, this_process_name
from jobs.execution.retry import is_away
from optimizer.run.ports import ControllerStops

_SECONDS = 60.0  # as long as a job's lease: a process that is dead on this machine is seen at once
_KEEP_SECONDS = 10.0


class BatchHeld(RuntimeError):
    """Another process runs the batch of this name."""


class TurnLost(ControllerStops):
    """Another process has taken the batch over; this one was paused for long.

    No ``Exception``: nobody may take it for the end of the job in flight.
    """


class BatchTurn:
    """The right to run the batch of a name, as long as it is kept."""

    def __init__(self, engine: Engine, name: str) -> None:
        """Takes it.

        Raises:
            BatchHeld: It is another's, who lives.
        """
        taken = take_lead(engine, f"batch {name}", this_process_name(), seconds=_SECONDS)
        if isinstance(taken, LedBy):
            raise BatchHeld(f"the batch {name} is being run by {spoken(taken.owner)}")
        self._engine, self._turn, self._name = engine, taken, name
        self._kept = time.monotonic()

    def check(self) -> None:
        """Makes it last; to be called often.

        Raises:
            TurnLost: Another process has taken it.
        """
        if time.monotonic() - self._kept < _KEEP_SECONDS:
            return
        self._kept = time.monotonic()
        try:
            held = keep_lead(self._engine, self._turn, seconds=_SECONDS)
        except Exception as error:
            if not is_away(error, self._engine):
                raise
            return  # nobody else can take it either
        if not held:
            raise TurnLost(f"the batch {self._name} was taken over by another process")

    def give_back(self) -> None:
        """Lets the next begin at once; without a database the turn runs out by itself."""
        turn: LeaderLease = self._turn
        try:
            give_back_lead(self._engine, turn)
        except Exception as error:
            if not is_away(error, self._engine):
                raise
