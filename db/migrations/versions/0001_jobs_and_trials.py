"""Jobs, their trials and their documents.

Revision ID: 0001
Revises:
"""

import sqlalchemy as sa
from alembic import op

revision: str = "0001"
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
        sa.PrimaryKeyConstraint("id", name="pk_job"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_job_specification_digest", "job", ["specification_digest"])

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
        sa.PrimaryKeyConstraint("id", name="pk_trial"),
        sa.ForeignKeyConstraint(
            ["job_id"], ["job.id"], name="fk_trial_job_id_job", ondelete="CASCADE"
        ),
        sa.UniqueConstraint("job_id", "number", name="uq_trial_job_id_number"),
    )
    op.create_index("ix_trial_job_id_state", "trial", ["job_id", "state"])
    op.create_index("ix_trial_job_id_digest", "trial", ["job_id", "digest"])

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


def downgrade() -> None:
    """Back to an empty database."""
    op.drop_table("document")
    op.drop_table("trial")
    op.drop_table("job")
