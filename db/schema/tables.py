"""The tables. ``db/migrations`` makes them of those of the last release; a test proves it."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    UniqueConstraint,
    false,
)

from db.schema.job_row import JobKind, JobRow, JobState
from db.schema.types import Document, EnumText, SafeText, UtcDateTime
from optimizer.trials.trial import Basis, Phase, Purpose
from sampler.bench.outcome import TrialState
from sampler.workload.metric_table import shown_in

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
    Column("kind", EnumText(JobKind), nullable=False, server_default="tune"),
    Column("state", EnumText(JobState), nullable=False),
    Column("phase", EnumText(Phase)),
    Column("why", SafeText, nullable=False),
    Column("error", SafeText),
    Column("specification", Document, nullable=False),
    Column("specification_digest", SafeText, nullable=False, index=True),
    Column("environment", Document),
    Column("result", Document),
    Column("lease_owner", SafeText),
    Column("lease_epoch", BigInteger, nullable=False),
    Column("lease_expires_at", UtcDateTime),
    Column("priority", Integer, nullable=False, server_default="0"),
    Column("run", Integer, nullable=False, server_default="1"),  # grows when it is queued again
    Column("by_service", Boolean, nullable=False, server_default=false()),
    Column("submitter", SafeText),  # the name of the token that asked for it
    Column("idempotency_key", SafeText),
    Column("request_digest", SafeText),
    Column("standing", Document),  # done, failed, total, best: as of the last trial
    Column("batch_id", BigInteger, index=True),
    Column("batch_item", SafeText),  # which of the batch's jobs it is, the same every night
    Index(None, "state", "id"),
    Index("ix_job_idempotency_key", "idempotency_key", unique=True),
    # A deleted job's number is never given again: links and logs name jobs by it.
    sqlite_autoincrement=True,
)

JOB_COLUMNS = [job.c[name] for name in JobRow.__dataclass_fields__]
"""What ``job_from_row`` takes."""

MAIN_METRICS = shown_in("column")
"""The metrics with a column of their own; the others share ``other_metrics``."""

trial = Table(
    "trial",
    metadata,
    Column("id", BigKey, primary_key=True),
    Column("job_id", BigInteger, ForeignKey("job.id", ondelete="CASCADE"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("state", EnumText(TrialState), nullable=False),
    Column("phase", EnumText(Phase), nullable=False),
    Column("purpose", EnumText(Purpose), nullable=False),
    Column("subject", Integer),
    Column("seed", BigInteger, nullable=False),
    Column("digest", SafeText, nullable=False),
    Column("configuration", Document, nullable=False),
    Column("point", Document),
    Column("why", SafeText, nullable=False),
    Column("based_on", Integer, nullable=False),
    *(Column(name, Float) for name in MAIN_METRICS),
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
    Column("given", Boolean, nullable=False, server_default=false()),
    Column("round", Integer),  # of choosing, or the pair of the proof
    Column("basis", EnumText(Basis)),  # of the proposal; before, its why told
    UniqueConstraint("job_id", "number"),
    Index(None, "job_id", "state"),
    Index(None, "job_id", "digest"),
    Index(None, "job_id", "finished_at"),
    # All that a table of trials is sorted and filtered by: no row need be looked at for it.
    Index(
        "ix_trial_listed",
        *("job_id", "number", "state", "phase", "purpose", *MAIN_METRICS, "bench_seconds"),
    ),
)

document = Table(
    "document",
    metadata,
    Column("job_id", BigInteger, ForeignKey("job.id", ondelete="CASCADE"), primary_key=True),
    Column("name", SafeText, primary_key=True),
    Column("body", Document, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
)

token = Table(
    "token",
    metadata,
    Column("id", SafeText, primary_key=True),  # the open part of the secret
    Column("name", SafeText, nullable=False),
    Column("role", SafeText, nullable=False),
    Column("secret_hash", SafeText, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("revoked_at", UtcDateTime),
)

browser_session = Table(
    "browser_session",
    metadata,
    Column("secret_hash", SafeText, primary_key=True),  # of what the cookie holds
    Column("token_id", SafeText, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False),
)

leader = Table(
    "leader",
    metadata,
    Column("name", SafeText, primary_key=True),
    Column("owner", SafeText, nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False),
)

host = Table(
    "host",
    metadata,
    Column("name", SafeText, primary_key=True),
    Column("seen_at", UtcDateTime, nullable=False),
    Column("job_id", BigInteger),  # what it measures for, if anything
    Column("environment", Document, nullable=False),
)

workload = Table(
    "workload",
    metadata,
    Column("name", SafeText, primary_key=True),
    Column("document", Document, nullable=False),
    Column("profile", Document),  # of the database that it stands for
    Column("baseline_options", SafeText),  # the text of that database's OPTIONS file
    Column("submitter", SafeText),  # the name of the token that sent it
    Column("uploaded_at", UtcDateTime, nullable=False),
)

schedule = Table(
    "schedule",
    metadata,
    Column("id", BigKey, primary_key=True),
    Column("name", SafeText, nullable=False, unique=True),
    Column("cron", SafeText, nullable=False),
    Column("time_zone", SafeText, nullable=False),
    Column("missed", SafeText, nullable=False),  # late: run once when it is noticed; skip
    Column("document", Document, nullable=False),  # the batch that it starts
    Column("submitter", SafeText),
    Column("created_at", UtcDateTime, nullable=False),
    Column("next_at", UtcDateTime, nullable=False),
    sqlite_autoincrement=True,
)

batch = Table(
    "batch",
    metadata,
    Column("id", BigKey, primary_key=True),
    Column("name", SafeText, nullable=False),
    Column("state", SafeText, nullable=False),
    Column("why", SafeText, nullable=False),
    Column("document", Document, nullable=False),
    Column("digest", SafeText, nullable=False),
    Column("schedule_id", BigInteger),
    Column("due_at", UtcDateTime),  # the time of the schedule that it was started for
    Column("created_at", UtcDateTime, nullable=False),
    Column("ended_at", UtcDateTime),
    Column("result", Document),
    UniqueConstraint("schedule_id", "due_at"),  # one time starts one batch, whoever fires it
    Index(None, "name", "id"),
    sqlite_autoincrement=True,
)

webhook = Table(
    "webhook",
    metadata,
    Column("id", BigKey, primary_key=True),
    Column("url", SafeText, nullable=False, unique=True),
    Column("events", Document, nullable=False),
    Column("secret", SafeText, nullable=False),  # as it is: messages are signed with it
    Column("submitter", SafeText),
    Column("created_at", UtcDateTime, nullable=False),
    sqlite_autoincrement=True,
)

delivery = Table(
    "delivery",
    metadata,
    Column("id", BigKey, primary_key=True),
    Column("webhook_id", BigInteger, ForeignKey("webhook.id", ondelete="CASCADE"), nullable=False),
    *(Column(name, SafeText, nullable=False) for name in ("event", "subject", "state")),
    Column("about", Document, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("status", Integer),
    Column("error", SafeText),
    Column("created_at", UtcDateTime, nullable=False),
    Column("tried_at", UtcDateTime),
    Column("next_at", UtcDateTime, nullable=False),
    UniqueConstraint("webhook_id", "event", "subject"),  # nothing is told twice
    Index(None, "state", "next_at"),
    sqlite_autoincrement=True,
)
