"""Nights made of real runs of a default, with what a test plants from one of them on."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from statistics import median
from typing import Any

import numpy as np

from jobs.archive import read_archive
from optimizer.trials.trial import Trial
from tests.support import ROOT
from tests.support.jobs.batch_nights import ENVIRONMENT, result

RECORDED = ROOT / "tests" / "data" / "reproduction_first_80.jsonl.gz"
METRICS = ("waf", "sa", "time", "rate")
OLD = {"version": "7.8.3", "digest": "ab" * 32, "source": None, "compiled": "2023-01-01"}
NEW = {**OLD, "digest": "cd" * 32, "compiled": "2026-11-16"}


@cache
def recorded_runs() -> tuple[Trial, ...]:
    """The runs of the default of a real job: ``tests/data/README.md``."""
    return tuple(t for t in read_archive(RECORDED).trials if t.is_baseline and t.done)


@dataclass(frozen=True)
class Planted:
    """What is different from one night on."""

    since: int = 16
    metrics: Mapping[str, float] = field(default_factory=dict)  # factors
    counters: Mapping[str, float] = field(default_factory=dict)  # factors
    options: Mapping[str, Any] = field(default_factory=dict)  # in effect, of the default
    environment: Mapping[str, Any] = field(default_factory=dict)

    def run(self, run: Trial) -> Trial:
        """A run with all of it."""
        return replace(
            run,
            metrics={n: v * self.metrics.get(n, 1.0) for n, v in run.metrics.items()},
            counters={n: v * self.counters.get(n, 1.0) for n, v in run.counters.items()},
            effective={**(run.effective or {}), **self.options},
        )


def recorded_nights(
    planted: Planted, *, nights: int = 24, seed: int = 1
) -> tuple[list[dict[str, Any]], list[list[Trial]]]:
    """The results of the nights and the runs of their default, seven a night, drawn anew."""
    rng, real = np.random.default_rng(seed), recorded_runs()
    results, runs = [], []
    for night in range(nights):
        late = night >= planted.since
        drawn = [
            replace(real[place], number=number, host="bench")
            for number, place in enumerate(rng.integers(len(real), size=7), 1)
        ]
        own = [planted.run(each) for each in drawn] if late else drawn
        told = {**ENVIRONMENT, "db_bench": "/opt/rocksdb/db_bench", "build": OLD}
        results.append(
            result(
                {name: median(each.metrics[name] for each in own) for name in METRICS},
                environment={**told, **planted.environment} if late else told,
            )
        )
        runs.append(own)
    return results, runs
