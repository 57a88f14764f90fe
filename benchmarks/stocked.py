"""A database as it is after years: many finished jobs of a real shape, made by copying one."""

from __future__ import annotations

import tempfile
from pathlib import Path

from sqlalchemy import ColumnElement, Engine, Insert, Table, func, insert, select, true, update

from db.connection.engine import writing
from db.jobs.job_store import JobStore
from db.schema.tables import document, job, trial
from jobs.execution.assembly import assemble
from jobs.execution.run_job import run_job
from jobs.specification.named_files import specify
from optimizer.run.ports import Unwatched
from sampler.bench.settings import Settings

# As many metrics as db_bench's runs have, scattered by some percent.
_METRICS = ("write_p50", "write_p95", "write_p99", "write_p999", "read_p50", "read_p99",
            "stall_percent", "cpu_seconds", "peak_rss", "device_bytes", "wall_seconds",
            "waf_with_wal", "lsm_bytes", "load_time", "flush_bytes", "compact_bytes")  # fmt: skip
_SCRIPT = """\
n=$(( ($$ * 1103515245 + 12345) / 65536 % 90 + 10 ))
case "$(cat {configuration})" in *'"compression_type": "zstd"'*) waf=1 ;; *) waf=2 ;; esac
printf '{"waf": %d.%d, "sa": 1.2%d, "time": 3.1%d, "rate": 10%d' $waf $n $n $n $n
MORE
printf '}\\n'
"""
_COPIED = 50


def one_job(engine: Engine, trials: int) -> int:
    """Runs a job over the default space with a benchmark that ends at once; returns its number."""
    more = "\n".join(f"printf ', \"{name}\": 12%d.5' $n" for name in _METRICS)
    script = _SCRIPT.replace("MORE", more)
    with tempfile.TemporaryDirectory(prefix="rocktune-stocked-") as name:
        folder = Path(name)
        program = folder / "bench.sh"
        program.write_text(script.replace("{configuration}", '"$1"'))
        workload = folder / "workload.toml"
        workload.write_text(
            f'name = "instant"\n[command]\nargv = ["/bin/sh", "{program}", "{{configuration}}"]\n'
        )
        specification = specify(workload=str(workload), strategy="genetic", trials=trials)
        settings = Settings(bench_dir=folder / "bench", lock=folder / "lock", free_bytes=0)
        assembly = assemble(specification, settings)
        job_id = JobStore(engine).create_job(specification.document(), specification.digest())
        run_job(engine, job_id, specification, assembly, settings, progress=Unwatched())
    # As with db_bench: values in effect, and raw counters.
    effective = update(trial).where(trial.c.job_id == job_id)
    with writing(engine) as connection:
        connection.execute(
            effective.values(effective=trial.c.configuration, counters=trial.c.other_metrics)
        )
    return job_id


def copy_job(engine: Engine, job_id: int, copies: int) -> None:
    """Copies a job with its trials and documents, some at a time."""
    while copies > 0:
        made = min(copies, _COPIED)
        with writing(engine) as connection:
            first = 1 + (connection.execute(select(func.max(job.c.id))).scalar_one() or 0)
            for _ in range(made):
                connection.execute(_copy(job, job.c.id == job_id, without="id"))
            new = select(job.c.id).where(job.c.id >= first).subquery()
            for table in (trial, document):
                kept = [column for column in table.c if column.name not in ("id", "job_id")]
                rows = select(new.c.id, *kept).select_from(table.join(new, true()))
                rows = rows.where(table.c.job_id == job_id)
                names = ["job_id", *(column.name for column in kept)]
                connection.execute(insert(table).from_select(names, rows))
        copies -= made
    with engine.connect() as connection:
        connection.execution_options(isolation_level="AUTOCOMMIT").exec_driver_sql("ANALYZE")


def _copy(table: Table, which: ColumnElement[bool], *, without: str) -> Insert:
    kept = [column for column in table.c if column.name != without]
    rows = select(*kept).where(which)
    return insert(table).from_select([column.name for column in kept], rows)
