"""The regression watch of a stored batch, judged anew only when another night has ended."""

from __future__ import annotations

from sqlalchemy import Engine

from db.nightly.nights import nights_of_batch
from jobs.regression.watch import Watch, watch
from jobs.results.remembered import Remembered

_known = Remembered[Watch]()


def watched(engine: Engine, name: str) -> Watch | None:
    """The watch of all nights of a name that have ended; None where there is none.

    Args:
        engine: The database.
        name: Of the batch.
    """
    given = nights_of_batch(engine, name)
    if not given:
        return None
    return _known.of(engine, name, tuple(n.batch_id for n in given), lambda: watch(given))
