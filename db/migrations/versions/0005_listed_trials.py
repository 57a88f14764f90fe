"""Trials as a table: one index that holds all that they are sorted and filtered by.

Revision ID: 0005
Revises: 0004
"""

from alembic import op

revision: str = "0005"
down_revision: str | None = "0004"
branch_labels: None = None
depends_on: None = None


def upgrade() -> None:
    """To this revision."""
    kinds, metrics = ["state", "phase", "purpose"], ["waf", "sa", "time", "rate", "memory"]
    columns = ["job_id", "number", *kinds, *metrics, "bench_seconds"]
    op.create_index("ix_trial_listed", "trial", columns)


def downgrade() -> None:
    """Back to a table that is read as a whole."""
    op.drop_index("ix_trial_listed", table_name="trial")
