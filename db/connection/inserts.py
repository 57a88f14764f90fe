"""Inserts that may meet a row that is there already, on either database."""

from __future__ import annotations

from sqlalchemy import Engine, Table
from sqlalchemy.dialects import postgresql, sqlite


def insert_into(engine: Engine, table: Table) -> sqlite.Insert | postgresql.Insert:
    """An insert that can say ``on_conflict_do_update`` or ``on_conflict_do_nothing``."""
    return sqlite.insert(table) if engine.dialect.name == "sqlite" else postgresql.insert(table)
