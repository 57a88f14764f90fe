"""Jobs are of a kind: what tunes, and what compares, checks or explains by real runs.

All that were stored before tune.

Revision ID: 0010
Revises: 0009
"""

import sqlalchemy as sa
from alembic import op

revision: str = "0010"
down_revision: str | None = "0009"
branch_labels: None = None
depends_on: None = None


def upgrade() -> None:
    """To this revision."""
    op.add_column("job", sa.Column("kind", sa.Text(), nullable=False, server_default="tune"))


def downgrade() -> None:
    """Back; earlier versions know tuning jobs alone, so the others go."""
    op.execute("DELETE FROM job WHERE kind <> 'tune'")
    op.drop_column("job", "kind")
