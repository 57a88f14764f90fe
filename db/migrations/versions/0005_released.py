"""Jobs, trials, service, bench hosts, batches and dashboard, as the last release had them.

Databases of earlier revisions are refused (``db/connection/migrate.py``).

Revision ID: 0005
Revises:
"""

import sqlalchemy as sa
from alembic import op

revision: str = "0005"
down_revision: str | None = None
branch_labels: None = None
depends_on: None = None

# A step is written in plain types, so that it stays what it was when ``db.schema.types`` moves on.
big_key = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
moment = sa.DateTime(timezone=True)


def upgrade() -> None:
    """To this revision."""
    op.create_table(
        "job",
        sa.Column("id", big_key, nullable=False),
        sa.Column("created_at", moment, nullable=False),
        sa.Column("updated_at", moment, nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("phase", sa.Text()),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("error", sa.Text()),
        sa.Column("specification", sa.JSON(), nullable=False),
        sa.Column("specification_digest", sa.Text(), nullable=False),
        sa.Column("environment", sa.JSON()),
        sa.Column("result", sa.JSON()),
        sa.Column("lease_owner", sa.Text()),
        sa.Column("lease_epoch", sa.BigInteger(), nullable=False),
        sa.Column("lease_expires_at", moment),
        sa.Column("priority", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("run", sa.Integer(), nullable=False, server_default="1"),
        sa.Column("by_service", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("submitter", sa.Text()),
        sa.Column("idempotency_key", sa.Text()),
        sa.Column("request_digest", sa.Text()),
        sa.Column("standing", sa.JSON()),
        sa.Column("batch_id", sa.BigInteger()),
        sa.Column("batch_item", sa.Text()),
        sa.PrimaryKeyConstraint("id", name="pk_job"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_job_specification_digest", "job", ["specification_digest"])
    op.create_index("ix_job_state_id", "job", ["state", "id"])
    op.create_index("ix_job_idempotency_key", "job", ["idempotency_key"], unique=True)
    op.create_index("ix_job_batch_id", "job", ["batch_id"])

    op.create_table(
        "trial",
        sa.Column("id", big_key, nullable=False),
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("phase", sa.Text(), nullable=False),
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("subject", sa.Integer()),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("configuration", sa.JSON(), nullable=False),
        sa.Column("point", sa.JSON()),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("based_on", sa.Integer(), nullable=False),
        sa.Column("waf", sa.Float()),
        sa.Column("sa", sa.Float()),
        sa.Column("time", sa.Float()),
        sa.Column("rate", sa.Float()),
        sa.Column("memory", sa.Float()),
        sa.Column("other_metrics", sa.JSON(), nullable=False),
        sa.Column("counters", sa.JSON(), nullable=False),
        sa.Column("effective", sa.JSON()),
        sa.Column("failure", sa.Text()),
        sa.Column("warnings", sa.JSON(), nullable=False),
        sa.Column("bench_seconds", sa.Float(), nullable=False),
        sa.Column("host", sa.Text()),
        sa.Column("started_at", moment),
        sa.Column("finished_at", moment),
        sa.Column("lease_epoch", sa.BigInteger(), nullable=False),
        sa.Column("given", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("round", sa.Integer()),
        sa.PrimaryKeyConstraint("id", name="pk_trial"),
        sa.ForeignKeyConstraint(
            ["job_id"], ["job.id"], name="fk_trial_job_id_job", ondelete="CASCADE"
        ),
        sa.UniqueConstraint("job_id", "number", name="uq_trial_job_id_number"),
    )
    op.create_index("ix_trial_job_id_state", "trial", ["job_id", "state"])
    op.create_index("ix_trial_job_id_digest", "trial", ["job_id", "digest"])
    op.create_index("ix_trial_job_id_finished_at", "trial", ["job_id", "finished_at"])
    kinds, metrics = ["state", "phase", "purpose"], ["waf", "sa", "time", "rate", "memory"]
    columns = ["job_id", "number", *kinds, *metrics, "bench_seconds"]
    op.create_index("ix_trial_listed", "trial", columns)

    op.create_table(
        "document",
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.Column("updated_at", moment, nullable=False),
        sa.PrimaryKeyConstraint("job_id", "name", name="pk_document"),
        sa.ForeignKeyConstraint(
            ["job_id"], ["job.id"], name="fk_document_job_id_job", ondelete="CASCADE"
        ),
    )

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

    op.create_table(
        "browser_session",
        sa.Column("secret_hash", sa.Text(), nullable=False),
        sa.Column("token_id", sa.Text(), nullable=False),
        sa.Column("expires_at", moment, nullable=False),
        sa.PrimaryKeyConstraint("secret_hash", name="pk_browser_session"),
    )
