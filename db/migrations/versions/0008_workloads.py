"""Workloads that were sent to the service, each with what is known of the database that it is of.

Jobs hold a copy of the workload that they name, so none of them needs this table.

Revision ID: 0008
Revises: 0007
"""

import sqlalchemy as sa
from alembic import op

revision: str = "0008"
down_revision: str | None = "0007"
branch_labels: None = None
depends_on: None = None


def upgrade() -> None:
    """To this revision."""
    op.create_table(
        "workload",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("document", sa.JSON(), nullable=False),
        sa.Column("profile", sa.JSON()),
        sa.Column("baseline_options", sa.Text()),
        sa.Column("submitter", sa.Text()),
        sa.Column("uploaded_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_workload"),
    )


def downgrade() -> None:
    """Back; what was sent is lost, and jobs of it stay."""
    op.drop_table("workload")
