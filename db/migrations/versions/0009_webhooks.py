"""Webhooks, and the outbox of what they are told.

Revision ID: 0009
Revises: 0008
"""

import sqlalchemy as sa
from alembic import op

revision: str = "0009"
down_revision: str | None = "0008"
branch_labels: None = None
depends_on: None = None

# SQLite numbers rows by itself only where the primary key is declared INTEGER.
_BIG_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """To this revision."""
    op.create_table(
        "webhook",
        sa.Column("id", _BIG_KEY, nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("events", sa.JSON(), nullable=False),
        sa.Column("secret", sa.Text(), nullable=False),
        sa.Column("submitter", sa.Text()),
        sa.Column("created_at", _TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_webhook"),
        sa.UniqueConstraint("url", name="uq_webhook_url"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "delivery",
        sa.Column("id", _BIG_KEY, nullable=False),
        sa.Column("webhook_id", sa.BigInteger(), nullable=False),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("event", "subject", "state")),
        sa.Column("about", sa.JSON(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("status", sa.Integer()),
        sa.Column("error", sa.Text()),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("tried_at", _TIME),
        sa.Column("next_at", _TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_delivery"),
        sa.ForeignKeyConstraint(
            ["webhook_id"], ["webhook.id"], name="fk_delivery_webhook_id_webhook",
            ondelete="CASCADE",
        ),
        sa.UniqueConstraint(
            "webhook_id", "event", "subject", name="uq_delivery_webhook_id_event_subject"
        ),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_delivery_state_next_at", "delivery", ["state", "next_at"])


def downgrade() -> None:
    """Back; webhooks, and what they were to be told, are lost."""
    op.drop_table("delivery")
    op.drop_table("webhook")
