"""The bench hosts that have shown up, and what each of them is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Engine, select

from db.connection.clock import now
from db.connection.inserts import insert_into
from db.connection.transactions import reading, writing
from db.schema.tables import host
from db.schema.types import plain


@dataclass(frozen=True)
class HostRow:
    """A bench host.

    Attributes:
        seen_at: When it last said that it lives.
        job_id: The job that it then measured for.
        environment: Its fingerprint, and the RocksDB on it.
    """

    name: str
    seen_at: datetime
    job_id: int | None
    environment: Mapping[str, Any]


def see_host(
    engine: Engine, name: str, environment: Mapping[str, Any] | None, job_id: int | None
) -> None:
    """Notes that a host lives; ``environment`` None leaves what was noted of it."""
    with writing(engine) as connection:
        values = {
            "name": name,
            "seen_at": now(connection),
            "job_id": job_id,
            "environment": plain(environment or {}, "environment"),
        }
        kept = {"name"} if environment is not None else {"name", "environment"}
        change = {key: value for key, value in values.items() if key not in kept}
        new = insert_into(engine, host).values(values)
        connection.execute(new.on_conflict_do_update(index_elements=["name"], set_=change))


def list_hosts(engine: Engine) -> list[HostRow]:
    """All hosts by name."""
    with reading(engine) as connection:
        rows = connection.execute(select(host).order_by(host.c.name))
        return [HostRow(row.name, row.seen_at, row.job_id, row.environment) for row in rows]
