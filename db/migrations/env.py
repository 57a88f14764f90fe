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
    # The queue's library keeps tables of its own in the same file.
    include_name=lambda name, kind, _parent: kind != "table" or name in metadata.tables,
    # SQLite cannot alter a column: a drafted step copies the table instead.
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
