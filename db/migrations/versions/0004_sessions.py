"""The dashboard: who is logged in.

Revision ID: 0004
Revises: 0003
"""

import sqlalchemy as sa
from alembic import op

revision: str = "0004"
down_revision: str | None = "0003"
branch_labels: None = None
depends_on: None = None


def upgrade() -> None:
    """To this revision."""
    op.create_table(
        "browser_session",
        sa.Column("secret_hash", sa.Text(), nullable=False),
        sa.Column("token_id", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("secret_hash", name="pk_browser_session"),
    )


def downgrade() -> None:
    """Back to tokens alone."""
    op.drop_table("browser_session")
