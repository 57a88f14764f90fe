"""The tables. ``db/migrations`` makes them; a test proves that the two agree."""

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    UniqueConstraint,
)

from db.types import Document, SafeText, UtcDateTime

# Named constraints can be dropped by a later migration, on SQLite too.
metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)

# SQLite numbers rows by itself only where the primary key is declared INTEGER.
BigKey = BigInteger().with_variant(Integer(), "sqlite")

job = Table(
    "job",
    metadata,
    Column("id", BigKey, primary_key=True),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    Column("state", SafeText, nullable=False),
    Column("phase", SafeText),
    Column("why", SafeText, nullable=False),
    Column("error", SafeText),
    Column("specification", Document, nullable=False),
    Column("specification_digest", SafeText, nullable=False, index=True),
    Column("environment", Document),
    Column("result", Document),
    Column("lease_owner", SafeText),
    Column("lease_epoch", BigInteger, nullable=False),
    Column("lease_expires_at", UtcDateTime),
    # A deleted job's number is never given again: links and logs name jobs by it.
    sqlite_autoincrement=True,
)

MAIN_METRICS = ("waf", "sa", "time", "rate", "memory")
"""The metrics with a column of their own; the others share ``other_metrics``."""

trial = Table(
    "trial",
    metadata,
    Column("id", BigKey, primary_key=True),
    Column("job_id", BigInteger, ForeignKey("job.id", ondelete="CASCADE"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("state", SafeText, nullable=False),
    Column("phase", SafeText, nullable=False),
    Column("purpose", SafeText, nullable=False),
    Column("subject", Integer),
    Column("seed", BigInteger, nullable=False),
    Column("digest", SafeText, nullable=False),
    Column("configuration", Document, nullable=False),
    Column("point", Document),
    Column("why", SafeText, nullable=False),
    Column("based_on", Integer, nullable=False),
    Column("waf", Float),
    Column("sa", Float),
    Column("time", Float),
    Column("rate", Float),
    Column("memory", Float),
    Column("other_metrics", Document, nullable=False),
    Column("counters", Document, nullable=False),
    Column("effective", Document),
    Column("failure", SafeText),
    Column("warnings", Document, nullable=False),
    Column("bench_seconds", Float, nullable=False),
    Column("host", SafeText),
    Column("started_at", UtcDateTime),
    Column("finished_at", UtcDateTime),
    Column("lease_epoch", BigInteger, nullable=False),  # which controller wrote it
    UniqueConstraint("job_id", "number"),
    Index(None, "job_id", "state"),
    Index(None, "job_id", "digest"),
)

document = Table(
    "document",
    metadata,
    Column("job_id", BigInteger, ForeignKey("job.id", ondelete="CASCADE"), primary_key=True),
    Column("name", SafeText, primary_key=True),
    Column("body", Document, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
)
