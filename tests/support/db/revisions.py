"""A database with the tables of an earlier version."""

from alembic import command
from alembic.config import Config
from sqlalchemy import Engine

from db.connection.engine import writing
from db.connection.migrate import current


def move(engine: Engine, revision: str) -> None:
    """Makes the tables of a revision, or takes back the steps after it."""
    config = Config()
    config.set_main_option("script_location", "db:migrations")
    config.set_main_option("path_separator", "newline")
    with writing(engine) as connection:
        config.attributes["connection"] = connection
        (command.upgrade if current(engine) is None else command.downgrade)(config, revision)
