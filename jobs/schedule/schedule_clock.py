"""The time by which schedules are due."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Engine

from db.connection.transactions import now, reading


def present(engine: Engine) -> datetime:
    """The time by the database, so that all workers have the same, in UTC."""
    with reading(engine) as connection:
        return now(connection)
