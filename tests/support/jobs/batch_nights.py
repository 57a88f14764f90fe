"""Nights of a batch as the database would give them, with figures that the test chooses."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from db.nightly.nights import Night, NightItem
from jobs.specification.named_files import specify

FIRST = datetime(2026, 11, 1, 2, 30, tzinfo=UTC)
ASKED = specify(workload="load-quick", trials=90).document()
ENVIRONMENT = {"host": "bench", "kernel": "6.1.0", "rocksdb": "7.8.3", "warnings": []}


def result(
    default: Mapping[str, float],
    *,
    changes: Mapping[str, float] | None = None,
    fitness: float = 100.0,
    environment: Mapping[str, Any] = ENVIRONMENT,
    job: Mapping[str, Any] = ASKED,
) -> dict[str, Any]:
    verdict = None
    if changes is not None:
        told = {name: {"percent": value} for name, value in changes.items()}
        verdict = {"confirmed": False, "fitness": fitness, "change": told}
    return {
        "schema": 1,
        "job": dict(job),
        "environment": dict(environment),
        "baseline": {
            # The proof's medians differ from those of all runs, which the watch is to take.
            "metrics": {name: 2 * value for name, value in default.items()},
            "noise": {name: {"median": value, "spread": 0.1} for name, value in default.items()},
            "runs": 7,
        },
        "best": None,
        "verdict": verdict,
    }


def nights_of(
    results: Sequence[Mapping[str, Any] | None], item: str = "load/default"
) -> list[Night]:
    return [
        Night(number + 1, FIRST + timedelta(days=number), {item: NightItem(number + 1, each)})
        for number, each in enumerate(results)
    ]
