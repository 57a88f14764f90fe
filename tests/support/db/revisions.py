"""A database with the tables of the last release."""

from sqlalchemy import Engine

from db.connection.engine import writing
from db.connection.migrate import REVISION_TABLE, upgrade_tables

RELEASED = "0005"
_UNDONE = (
    "CREATE TABLE turn AS SELECT * FROM leader",
    *(f"DROP TABLE {name}" for name in ("leader", "delivery", "webhook", "workload")),
    "ALTER TABLE trial DROP COLUMN basis",
    "ALTER TABLE job DROP COLUMN kind",
    f"UPDATE {REVISION_TABLE} SET version_num = '{RELEASED}'",
)


def as_released(engine: Engine) -> None:
    """Takes back what came since; the rows of the tables that it had stay."""
    upgrade_tables(engine)
    with writing(engine) as connection:
        for statement in _UNDONE:
            connection.exec_driver_sql(statement)
