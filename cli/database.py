"""`rocktune db`: the database that trials are kept in."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.exits import Exit


def upgrade(
    db: Annotated[
        str | None, typer.Option(help="A file or postgresql:// URL; else in your data folder.")
    ] = None,
) -> int:
    """Makes or brings up to date the tables. Safe to run at any time, by several at once."""
    from db.engine import make_engine
    from db.migrate import current
    from db.migrate import upgrade as upgrade_tables

    engine = make_engine(db)
    try:
        before = current(engine)
        upgrade_tables(engine)
        after = current(engine)
        typer.echo(f"at {after}" if before == after else f"from {before or 'nothing'} to {after}")
    finally:
        engine.dispose()
    return Exit.DONE
