"""Figures for Prometheus: the queue and the trials from the database, latencies from here."""

import math
import time
from collections import Counter as Tally
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from sqlalchemy import Engine, event

from db.jobs.job_list import standings
from db.schema.job_row import JobState
from sampler.runner.outcome import TrialState

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)
_FRESH_SECONDS = 1.0  # however many ask
_ENDED = [state for state in TrialState if state is not TrialState.RUNNING]
REQUESTS = Counter(
    "rocktune_http_requests",
    "Requests answered.",
    ["method", "route", "status"],
    registry=None,
)
REQUEST_SECONDS = Histogram(
    "rocktune_http_request_seconds",
    "Time to the first byte of the answer.",
    ["route"],
    buckets=_SECONDS,
    registry=None,
)
DATABASE_SECONDS = Histogram(
    "rocktune_database_seconds", "Time of a statement.", buckets=_SECONDS, registry=None
)


@lru_cache(maxsize=8)
def registry_of(engine: Engine) -> CollectorRegistry:
    """The figures of this process and of a database's jobs."""
    registry = CollectorRegistry()
    for each in (_Jobs(engine), REQUESTS, REQUEST_SECONDS, DATABASE_SECONDS):
        registry.register(each)
    return registry


class _Jobs(Collector):
    """Sums over the jobs' standings: never over a million trials."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._read_at = -math.inf
        self._rows: list[tuple[JobState, Mapping[str, Any] | None]] = []

    def describe(self) -> list[Metric]:
        return []

    def collect(self) -> Iterator[Metric]:
        if time.monotonic() - self._read_at > _FRESH_SECONDS:
            self._rows, self._read_at = standings(self._engine), time.monotonic()
        rows = self._rows
        states = Tally(state for state, _ in rows)
        kept = [(state, standing) for state, standing in rows if standing]
        trials: Tally[str] = Tally()
        for _, standing in kept:
            trials.update(standing["counts"])
        jobs = GaugeMetricFamily("rocktune_jobs", "Jobs by state.", labels=["state"])
        for state in JobState:
            jobs.add_metric([state.value], states[state])
        yield jobs
        yield GaugeMetricFamily(
            "rocktune_queue_length", "Jobs that wait.", value=states[JobState.QUEUED]
        )
        ended = GaugeMetricFamily("rocktune_trials", "Ended trials by state.", labels=["state"])
        for each in _ENDED:
            ended.add_metric([each.value], trials[each.value])
        yield ended
        yield GaugeMetricFamily(
            "rocktune_bench_seconds",
            "What the benchmark has run for the jobs that are kept.",
            value=sum(standing["bench_seconds"] for _, standing in kept),
        )
        between = [
            standing["between_seconds"]
            for state, standing in kept
            if state is JobState.RUNNING and standing["between_seconds"] is not None
        ]
        if between:
            yield GaugeMetricFamily(
                "rocktune_tuner_overhead_seconds",
                "Mean time between two trials of the running job: what the tuner costs.",
                value=between[-1],
            )


def time_statements(engine: Engine) -> None:
    """Measures every statement of an engine."""

    def before(_c: Any, _cursor: Any, _s: Any, _p: Any, context: Any, _many: Any) -> None:
        context.rocktune_began = time.perf_counter()

    def after(_c: Any, _cursor: Any, _s: Any, _p: Any, context: Any, _many: Any) -> None:
        DATABASE_SECONDS.observe(time.perf_counter() - context.rocktune_began)

    event.listen(engine, "before_cursor_execute", before)
    event.listen(engine, "after_cursor_execute", after)
