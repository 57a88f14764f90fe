"""The machine and the RocksDB that a job is measured on, and that it goes on with the same."""

from collections.abc import Mapping
from typing import Any

from db.schema.job_row import JobRow
from jobs.execution.assembly import Assembly
from sampler.bench.builds import build_facts
from sampler.common.errors import InputError
from sampler.machine.machine import fingerprint
from sampler.runner.settings import Settings


def environment_of(assembly: Assembly, settings: Settings) -> dict[str, Any]:
    """The machine, the RocksDB, and what must be known of either."""
    installed = assembly.installed
    build = installed and build_facts(installed.program, version=installed.version)
    return fingerprint(settings.bench_dir) | {
        "rocksdb": installed.version if installed else None,
        "db_bench": str(installed.program) if installed else None,
        "build": build and build.document(),
        "warnings": [*(installed.warnings if installed else ()), *assembly.warnings],
    }


_TELLING = ("version", "digest", "source", "compiled")


def require_same_build(row: JobRow, environment: Mapping[str, Any]) -> None:
    """Refuses to measure a job on with another db_bench, or another library under it.

    Of a cluster nothing is asked: its hosts may have several builds, and which of them was asked
    first is chance.

    Raises:
        InputError: It has runs of another build, and not all of its runs.
    """
    before, standing = row.environment or {}, row.standing or {}
    first, now = before.get("build"), environment.get("build")
    ended = standing.get("done", 0) + standing.get("failed", 0)
    on_a_cluster = "hosts" in before or "hosts" in environment
    goes_on = 0 < ended < (standing.get("total") or ended + 1)
    if on_a_cluster or not first or not now or not goes_on:
        return
    if any(first.get(name) != now.get(name) for name in _TELLING):
        problem = (
            f"job {row.id} was measured with {_words(first)}, and this is {_words(now)}: runs of "
            "both cannot be compared. Go on with the program of the first (--db-bench, "
            "ROCKTUNE_DB_BENCH), or begin a new job, which may learn from this one "
            f"(--warm-start {row.id})"
        )
        raise InputError("db_bench", problem)


def _words(build: Mapping[str, Any]) -> str:
    return f"RocksDB {build.get('version', '?')} (SHA-256 {str(build.get('digest'))[:12]})"
