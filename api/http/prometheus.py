"""Figures for Prometheus: the queue and the trials from the database, latencies from here."""

import math
import time
from collections import Counter as Tally
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from sqlalchemy import Engine, event

from db.connection.transactions import present
from db.hosts import hosts_set_aside, read_hosts
from db.jobs.job_store import standings
from db.leases import BENCH, is_led
from db.nightly.batches import last_ended, next_times
from db.schema.job_row import JobState
from sampler.runner.outcome import TrialState

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)
_FRESH_SECONDS = 1.0  # however many ask
_ENDED = [state for state in TrialState if state is not TrialState.RUNNING]
REQUESTS = Counter(
    "rocktune_http_requests", "Requests answered.", ["method", "route", "status"], registry=None
)
REQUEST_SECONDS = Histogram(
    "rocktune_http_request_seconds",
    "Time to the first byte of the response, in seconds.",
    ["route"],
    buckets=_SECONDS,
    registry=None,
)
DATABASE_SECONDS = Histogram(
    "rocktune_database_seconds", "Seconds of a statement.", buckets=_SECONDS, registry=None
)


@lru_cache(maxsize=8)
def registry_of(engine: Engine) -> CollectorRegistry:
    """The figures of this process and of a database's jobs."""
    registry = CollectorRegistry()
    stored = (_Stored(engine, read) for read in (_jobs, _operation))
    for each in (*stored, REQUESTS, REQUEST_SECONDS, DATABASE_SECONDS):
        registry.register(each)
    return registry


class _Stored(Collector):
    """Figures out of the database, read once for all who ask at the same moment."""

    def __init__(self, engine: Engine, read: Callable[[Engine], Iterator[Metric]]) -> None:
        self._engine, self._read = engine, read
        self._read_at = -math.inf
        self._found: list[Metric] = []

    def describe(self) -> list[Metric]:
        return []

    def collect(self) -> Iterator[Metric]:
        if time.monotonic() - self._read_at > _FRESH_SECONDS:
            self._found, self._read_at = list(self._read(self._engine)), time.monotonic()
        yield from self._found


def _figure(name: str, help: str, labels: str, values: Iterable[tuple[Any, float]]) -> Metric:
    """A gauge with a value for each tuple of labels; of one label, the label itself will do."""
    found = GaugeMetricFamily(f"rocktune_{name}", help, labels=labels.split())
    for each, value in values:
        found.add_metric((each,) if isinstance(each, str) else each, value)
    return found


def _jobs(engine: Engine) -> Iterator[Metric]:
    """Sums over the jobs' standings: never over a million trials."""
    rows = standings(engine)
    states = Tally(state for state, _ in rows)
    kept = [(state, standing) for state, standing in rows if standing]
    trials: Tally[str] = Tally()
    for _, standing in kept:
        trials.update(standing["counts"])
    bench = sum(standing["bench_seconds"] for _, standing in kept)
    between = [
        ((), standing["between_seconds"])
        for state, standing in kept
        if state is JobState.RUNNING and standing["between_seconds"] is not None
    ]
    by_state = [(state.value, states[state]) for state in JobState]
    ended = [(state.value, trials[state.value]) for state in _ENDED]
    yield _figure("jobs", "Jobs by state.", "state", by_state)
    yield _figure("queue_length", "Queued jobs.", "", [((), states[JobState.QUEUED])])
    yield _figure("trials", "Ended trials by state.", "state", ended)
    told = "Benchmark time of all stored jobs, in seconds."
    yield _figure("bench_seconds", told, "", [((), bench)])
    if between:
        told = "Mean time between two trials of the running job, in seconds."
        yield _figure("tuner_overhead_seconds", told, "", between[-1:])


def _operation(engine: Engine) -> Iterator[Metric]:
    """What the alerts of ``deploy/prometheus`` are about."""
    moment, led = present(engine), is_led(engine, BENCH)
    hosts, nights = read_hosts(engine), last_ended(engine)
    excluded = {name for name, each in hosts_set_aside(engine).items() if each.live}
    seen = [(each.name, each.seen_at.timestamp()) for each in hosts]
    busy = [(each.name, each.job_id is not None and each.alive(moment)) for each in hosts]
    names = sorted(excluded.union(each.name for each in hosts))
    without = [(name, name in excluded) for name in names]
    due = [(name, at.timestamp()) for name, at in next_times(engine).items()]
    ended = [((each.name, each.state), each.ended_at.timestamp()) for each in nights]
    worse = [(each.name, each.worsened) for each in nights if each.worsened is not None]
    for figure in (
        ("leading_workers", "Workers that run jobs: 1, or 0 if none does.",
         "", [((), led)]),
        ("host_seen_timestamp_seconds", "Time when a bench host was last seen.", "host", seen),
        ("host_busy", "1 if a bench host is measuring for a job, else 0.", "host", busy),
        ("host_excluded", "1 if a running job has excluded the host, else 0.", "host", without),
        ("schedule_next_timestamp_seconds", "Time when a schedule is due next.", "schedule", due),
        ("batch_end_timestamp_seconds", "Time when a batch last ended in a state, or was skipped.",
         "batch state", ended),
        ("batch_regressed", "1 if a batch's newest night shows a worsening, else 0.",
         "batch", worse),
    ):  # fmt: skip
        yield _figure(*figure)


def time_statements(engine: Engine) -> None:
    """Measures every statement of an engine."""

    def before(_c: Any, _cursor: Any, _s: Any, _p: Any, context: Any, _many: Any) -> None:
        context.rocktune_began = time.perf_counter()

    def after(_c: Any, _cursor: Any, _s: Any, _p: Any, context: Any, _many: Any) -> None:
        DATABASE_SECONDS.observe(time.perf_counter() - context.rocktune_began)

    event.listen(engine, "before_cursor_execute", before)
    event.listen(engine, "after_cursor_execute", after)
