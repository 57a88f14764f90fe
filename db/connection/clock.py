"""The database's clock: processes on several machines need not agree on the time."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import Connection, func, select


def now(connection: Connection) -> datetime:
    """The present in UTC; for SQLite, which is used on one machine alone, this machine's."""
    if connection.dialect.name == "postgresql":
        moment: datetime = connection.execute(select(func.clock_timestamp())).scalar_one()
        return moment.astimezone(UTC)
    return datetime.now(UTC)
