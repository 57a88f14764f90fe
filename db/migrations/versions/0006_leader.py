"""The queue is the rows of jobs: the lease of the worker moves from ``turn`` to ``leader``.

A worker of an earlier version asks for ``turn`` before it begins a job and every few seconds while
it runs one. It finds none and ends, so that it cannot work beside one that knows ``leader``. What
its queue library (DBOS) kept in tables of its own is left as it is.

Revision ID: 0006
Revises: 0005
"""

import sqlalchemy as sa
from alembic import op

revision: str = "0006"
down_revision: str | None = "0005"
branch_labels: None = None
depends_on: None = None


def upgrade() -> None:
    """To this revision."""
    _move("turn", "leader")


def downgrade() -> None:
    """Back to the name that the queue library's workers know."""
    _move("leader", "turn")


def _move(old: str, new: str) -> None:
    # Whoever holds the lease keeps it until it runs out: its job may end its trial meanwhile.
    op.create_table(
        new,
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name=f"pk_{new}"),
    )
    op.execute(f"INSERT INTO {new} SELECT name, owner, epoch, expires_at FROM {old}")  # nosec B608
    op.drop_table(old)
