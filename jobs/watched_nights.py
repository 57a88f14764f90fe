"""The regression watch of a stored batch, judged anew only when another night has ended."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from sqlalchemy import Engine

from db.nights import nights
from jobs.watch import Watch, watch

_MOST_REMEMBERED = 16
_Known = dict[str, tuple[tuple[int, ...], Watch]]
_known: WeakKeyDictionary[Engine, _Known] = WeakKeyDictionary()


def watched(engine: Engine, name: str) -> Watch | None:
    """The watch of all nights of a name that have ended; None where there is none.

    Args:
        engine: The database.
        name: Of the batch.
    """
    given = nights(engine, name)
    if not given:
        return None
    stamp = tuple(night.batch_id for night in given)
    known = _known.setdefault(engine, {})
    if name in known and known[name][0] == stamp:
        return known[name][1]
    if len(known) >= _MOST_REMEMBERED:
        known.clear()
    found = watch(given)
    known[name] = (stamp, found)
    return found
