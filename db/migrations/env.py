"""Runs the steps on the connection that ``migrate`` hands over, in its transaction."""

from alembic import context

from db.connection.migrate import REVISION_TABLE
from db.schema.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=REVISION_TABLE,
    # SQLite too can undo DDL, once the driver does not begin transactions by itself.
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
