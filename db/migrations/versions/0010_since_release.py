"""What came after the last release: the leader's lease, workloads, webhooks, kinds of jobs.

A worker of the last release asks for ``turn`` before it begins a job and every few seconds while
it runs one. It finds none and ends, so that it cannot work beside one that knows ``leader``. What
its queue library (DBOS) kept in tables of its own is left as it is.

Trials of before have no basis: what a proposal rested on is read of its reason. All jobs of before
tune.

Revision ID: 0010
Revises: 0005
"""

import sqlalchemy as sa
from alembic import op

revision: str = "0010"
down_revision: str | None = "0005"
branch_labels: None = None
depends_on: None = None

# SQLite numbers rows by itself only where the primary key is declared INTEGER.
big_key = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
moment = sa.DateTime(timezone=True)


def upgrade() -> None:
    """To this revision."""
    # Whoever holds the lease keeps it until it runs out: its job may end its trial meanwhile.
    op.create_table(
        "leader",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", moment, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_leader"),
    )
    op.execute("INSERT INTO leader SELECT name, owner, epoch, expires_at FROM turn")
    op.drop_table("turn")
    op.add_column("trial", sa.Column("basis", sa.Text()))
    op.add_column("job", sa.Column("kind", sa.Text(), nullable=False, server_default="tune"))
    op.create_table(
        "workload",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("document", sa.JSON(), nullable=False),
        sa.Column("profile", sa.JSON()),
        sa.Column("baseline_options", sa.Text()),
        sa.Column("submitter", sa.Text()),
        sa.Column("uploaded_at", moment, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_workload"),
    )
    op.create_table(
        "webhook",
        sa.Column("id", big_key, nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("events", sa.JSON(), nullable=False),
        sa.Column("secret", sa.Text(), nullable=False),
        sa.Column("submitter", sa.Text()),
        sa.Column("created_at", moment, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_webhook"),
        sa.UniqueConstraint("url", name="uq_webhook_url"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "delivery",
        sa.Column("id", big_key, nullable=False),
        sa.Column("webhook_id", sa.BigInteger(), nullable=False),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("event", "subject", "state")),
        sa.Column("about", sa.JSON(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("status", sa.Integer()),
        sa.Column("error", sa.Text()),
        sa.Column("created_at", moment, nullable=False),
        sa.Column("tried_at", moment),
        sa.Column("next_at", moment, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_delivery"),
        sa.ForeignKeyConstraint(
            ["webhook_id"], ["webhook.id"], name="fk_delivery_webhook_id_webhook",
            ondelete="CASCADE",
        ),
        sa.UniqueConstraint(
            "webhook_id", "event", "subject", name="uq_delivery_webhook_id_event_subject"
        ),
        sqlite_autoincrement=True,
    )  # fmt: skip
    op.create_index("ix_delivery_state_next_at", "delivery", ["state", "next_at"])
