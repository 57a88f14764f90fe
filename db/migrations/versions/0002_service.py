"""The service: queue, tokens, whose turn it is, bench hosts.

Revision ID: 0002
Revises: 0001
"""

import sqlalchemy as sa
from alembic import op

revision: str = "0002"
down_revision: str | None = "0001"
branch_labels: None = None
depends_on: None = None

big_key = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
moment = sa.DateTime(timezone=True)


def upgrade() -> None:
    """To this revision."""
    op.add_column("job", sa.Column("priority", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("job", sa.Column("run", sa.Integer(), nullable=False, server_default="1"))
    op.add_column(
        "job", sa.Column("by_service", sa.Boolean(), nullable=False, server_default=sa.false())
    )
    op.add_column("job", sa.Column("submitter", sa.Text()))
    op.add_column("job", sa.Column("idempotency_key", sa.Text()))
    op.add_column("job", sa.Column("request_digest", sa.Text()))
    op.add_column("job", sa.Column("standing", sa.JSON()))
    op.create_index("ix_job_state_id", "job", ["state", "id"])
    op.create_index("ix_job_idempotency_key", "job", ["idempotency_key"], unique=True)
    op.add_column(
        "trial", sa.Column("given", sa.Boolean(), nullable=False, server_default=sa.false())
    )
    op.create_index("ix_trial_job_id_finished_at", "trial", ["job_id", "finished_at"])

    op.create_table(
        "token",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("secret_hash", sa.Text(), nullable=False),
        sa.Column("created_at", moment, nullable=False),
        sa.Column("revoked_at", moment),
        sa.PrimaryKeyConstraint("id", name="pk_token"),
    )
    op.create_table(
        "turn",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", moment, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_turn"),
    )
    op.create_table(
        "host",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("seen_at", moment, nullable=False),
        sa.Column("job_id", sa.BigInteger()),
        sa.Column("environment", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_host"),
    )


def downgrade() -> None:
    """Back to the tables of the terminal alone."""
    for table in ("host", "turn", "token"):
        op.drop_table(table)
    op.drop_index("ix_trial_job_id_finished_at", "trial")
    op.drop_column("trial", "given")
    op.drop_index("ix_job_idempotency_key", "job")
    op.drop_index("ix_job_state_id", "job")
    for column in (
        "standing", "request_digest", "idempotency_key", "submitter", "by_service", "run", "priority",
    ):  # fmt: skip
        op.drop_column("job", column)
