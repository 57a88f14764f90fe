"""What a proposal rests on is a value, no longer told by its reason.

Trials of earlier versions have none; what they rest on is still read of their reason.

Revision ID: 0007
Revises: 0006
"""

import sqlalchemy as sa
from alembic import op

revision: str = "0007"
down_revision: str | None = "0006"
branch_labels: None = None
depends_on: None = None


def upgrade() -> None:
    """To this revision."""
    op.add_column("trial", sa.Column("basis", sa.Text()))


def downgrade() -> None:
    """Back; trials keep their reasons, which earlier versions read."""
    op.drop_column("trial", "basis")
