"""A job goes on with the RocksDB that it began with: runs of two cannot be compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from db.job_row import JobRow
from sampler.errors import InputError

_TELLING = ("digest", "source", "compiled")


def require_same_build(row: JobRow, environment: Mapping[str, Any]) -> None:
    """Refuses to go on with another db_bench, or another library under it.

    Args:
        row: The job as it was left.
        environment: What it would be measured on now.

    Raises:
        InputError: It has runs of another build.
    """
    first, now = _build(row.environment), _build(environment)
    if not (row.standing or {}).get("done") or not first or not now:
        return
    if any(first.get(name) != now.get(name) for name in _TELLING):
        problem = (
            f"job {row.id} was measured with {_words(first)}, and this is {_words(now)}: runs of "
            "both cannot be compared. Go on with the first (ROCKTUNE_DB_BENCH), or begin a new "
            f"job, which may learn from it (--warm-start {row.id})"
        )
        raise InputError("db_bench", problem)


def _build(environment: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    return (environment or {}).get("build")


def _words(build: Mapping[str, Any]) -> str:
    return f"RocksDB {build.get('version', '?')} (SHA-256 {str(build.get('digest'))[:12]})"
