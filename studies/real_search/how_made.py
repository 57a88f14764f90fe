"""What a page begins with: the command, the days and the machine that made its figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from studies.arguments import days_words


def how_made(command: str, runs: Iterable[Mapping[str, Any]], machine: Mapping[str, Any]) -> str:
    """The first words of a page, without a full stop.

    Args:
        command: What repeats it.
        runs: Rows of raw results, with `started_at` as an ISO time.
        machine: With `cpu`, `cores`, `system` and `rocksdb`.
    """
    days = {str(row["started_at"])[:10] for row in runs}
    when = days_words(days) if days else "no day"
    return (
        f"`{command}`, {when}, {machine['cpu']}, {machine['cores']} cores, {machine['system']}, "
        f"RocksDB {machine['rocksdb']}"
    )
