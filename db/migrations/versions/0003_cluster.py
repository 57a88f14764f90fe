"""Many hosts and every night: rounds of trials, batches, schedules.

Revision ID: 0003
Revises: 0002
"""

import sqlalchemy as sa
from alembic import op

revision: str = "0003"
down_revision: str | None = "0002"
branch_labels: None = None
depends_on: None = None

big_key = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
moment = sa.DateTime(timezone=True)


def upgrade() -> None:
    """To this revision."""
    op.add_column("trial", sa.Column("round", sa.Integer()))
    op.create_table(
        "schedule",
        sa.Column("id", big_key, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("cron", sa.Text(), nullable=False),
        sa.Column("time_zone", sa.Text(), nullable=False),
        sa.Column("missed", sa.Text(), nullable=False),
        sa.Column("document", sa.JSON(), nullable=False),
        sa.Column("submitter", sa.Text()),
        sa.Column("created_at", moment, nullable=False),
        sa.Column("next_at", moment, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_schedule"),
        sa.UniqueConstraint("name", name="uq_schedule_name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "batch",
        sa.Column("id", big_key, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("document", sa.JSON(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("schedule_id", sa.BigInteger()),
        sa.Column("due_at", moment),
        sa.Column("created_at", moment, nullable=False),
        sa.Column("ended_at", moment),
        sa.Column("result", sa.JSON()),
        sa.PrimaryKeyConstraint("id", name="pk_batch"),
        sa.UniqueConstraint("schedule_id", "due_at", name="uq_batch_schedule_id_due_at"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_batch_name_id", "batch", ["name", "id"])
    op.add_column("job", sa.Column("batch_id", sa.BigInteger()))
    op.add_column("job", sa.Column("batch_item", sa.Text()))
    op.create_index("ix_job_batch_id", "job", ["batch_id"])


def downgrade() -> None:
    """Back to one host and single jobs."""
    op.drop_index("ix_job_batch_id", "job")
    op.drop_column("job", "batch_item")
    op.drop_column("job", "batch_id")
    op.drop_index("ix_batch_name_id", "batch")
    op.drop_table("batch")
    op.drop_table("schedule")
    op.drop_column("trial", "round")
