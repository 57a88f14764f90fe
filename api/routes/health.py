"""Health and figures for Prometheus: jobs and trials from the database, latencies from here."""

import math
import time
from collections import Counter as Tally
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from pydantic import BaseModel
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from api.auth.security import READS
from api.http.middleware import DATABASE_SECONDS, REQUEST_SECONDS, REQUESTS
from api.http.problems import EVERYWHERE, ProblemError, described
from api.services.dependencies import ServiceDep
from db.connection.engine import present
from db.connection.migrate import is_current
from db.jobs.job_store import standings
from db.leases import BENCH, excluded_hosts, is_led, read_hosts
from db.nightly.batches import last_ended, next_times
from db.schema.job_row import JobState
from sampler.bench.outcome import TrialState

_FRESH_SECONDS = 1.0  # however many ask
_ENDED = [state for state in TrialState if state is not TrialState.RUNNING]


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
    excluded = {name for name, each in excluded_hosts(engine).items() if each.live}
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


router = APIRouter(tags=["operations"])


class Health(BaseModel):
    """State of the service."""

    status: str


@router.get("/healthz")
async def healthz() -> Health:
    """Returns 200 if the process answers."""
    return Health(status="ok")


@router.get("/readyz", responses=described(503))
def readyz(service: ServiceDep) -> Health:
    """Returns 200 if the database answers and has the tables of this version."""
    try:
        ready = is_current(service.engine)
    except SQLAlchemyError:
        raise ProblemError(503, "the database does not answer") from None
    if not ready:
        raise ProblemError(503, "the database's tables do not fit this version; upgrade them")
    return Health(status="ready")


@router.get(
    "/metrics", response_class=PlainTextResponse, dependencies=[READS], responses=EVERYWHERE
)
def metrics(service: ServiceDep) -> PlainTextResponse:
    """Returns the metrics of the service for Prometheus."""
    text = generate_latest(registry_of(service.engine))
    return PlainTextResponse(text, media_type=CONTENT_TYPE_LATEST)
