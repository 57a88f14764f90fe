"""`rocktune db`: the database that trials are kept in."""

from __future__ import annotations

import typer

from cli.options.database_option import Db
from cli.options.exits import Exit


def upgrade(
    db: Db = None,
) -> int:
    """Makes or brings up to date the tables. Safe to run at any time, by several at once."""
    from db.connection.engine import make_engine
    from db.connection.migrate import current, upgrade_tables

    engine = make_engine(db)
    try:
        before = current(engine)
        upgrade_tables(engine)
        after = current(engine)
        typer.echo(f"at {after}" if before == after else f"from {before or 'nothing'} to {after}")
    finally:
        engine.dispose()
    return Exit.DONE
