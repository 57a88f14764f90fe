"""The worker: while it leads it runs queued jobs one at a time, and leaves nothing running.

The rows of the jobs are the queue: the highest priority goes first, of equal ones the oldest. A
job that a killed worker has left is still ``running`` there, and goes on from its trials.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

import structlog
from sqlalchemy import Engine

from db.jobs.job_queue import ended_for, next_job
from db.jobs.job_store import JobStore
from db.leases import (
    BENCH,
    LeaderLease,
    give_back_lead,
    keep_lead,
    see_host,
    spoken,
    take_lead,
    this_process_name,
)
from db.webhooks import forget_deliveries
from jobs.execution.held_job import is_away, unless_away
from jobs.queue.service_settings import ServiceSettings
from jobs.schedule import keep_schedules
from jobs.webhooks import deliver_due
from optimizer.run.ports import ControllerStops
from sampler.bench.builds import advertised
from sampler.bench.settings import Settings
from sampler.common.errors import InputError
from sampler.machine.machine import fingerprint, host_name

if TYPE_CHECKING:
    from jobs.cluster.cluster import Cluster

_ROUND_SECONDS = 1.0
_KEEP_SECONDS = 5.0
_RETENTION_SECONDS = 3600.0
_log = structlog.get_logger("worker")


def _tell_away(why: str) -> None:
    _log.warning(why)


class Interrupted(ControllerStops):
    """The worker must stop; trials on other hosts go on."""


class Worker:
    """Runs the jobs of a database, while it leads."""

    def __init__(
        self,
        engine: Engine,
        settings: Settings,
        service: ServiceSettings | None = None,
        *,
        cluster: Callable[[], Cluster] | None = None,
    ) -> None:
        """Binds a worker to a database, which is up to date, and to this machine or a cluster.

        ``service``: by default as the environment says. ``cluster`` makes a line to the hosts that
        measure; None: this machine does.
        """
        self._cluster = cluster
        self._engine, self._settings = engine, settings
        self._service = service or ServiceSettings()
        self._store = JobStore(engine)
        self._stopping = threading.Event()
        self._lead_over = threading.Event()
        self._job_id: int | None = None
        self._refused: InputError | None = None
        self._failures: list[Exception] = []
        self._retained = -_RETENTION_SECONDS

    def stop(self) -> None:
        """Ends the trial in flight and the worker; may be called from anywhere, also twice."""
        self._stopping.set()

    def run(self) -> None:
        """Works until it is stopped; an InputError if there can be no line to the cluster."""
        owner = this_process_name()
        while not self._stopping.is_set():
            lease = self._await_lead(owner)
            if lease is not None:
                self._lead(lease)
        if self._refused is not None:
            raise self._refused

    def _await_lead(self, owner: str) -> LeaderLease | None:
        told: str | None = None
        while not self._stopping.is_set():
            with unless_away(self._engine, _tell_away):
                taken = take_lead(self._engine, BENCH, owner)
                if isinstance(taken, LeaderLease):
                    return taken
                if taken != told:
                    _log.info("another worker is running; waiting", owner=spoken(taken))
                told = taken
            self._stopping.wait(_ROUND_SECONDS)
        return None

    def _lead(self, lease: LeaderLease) -> None:
        self._lead_over.clear()
        keep = partial(self._keep_lead, lease)
        beside = (("leader lease", keep), ("upkeep", self._upkeep), ("webhooks", self._deliver))
        threads = [threading.Thread(target=each, daemon=True, name=name) for name, each in beside]
        for thread in threads:
            thread.start()
        try:
            with unless_away(self._engine, _tell_away):
                if self._cluster is None:
                    shown = fingerprint(self._settings.bench_dir) | advertised(self._settings)
                    see_host(self._engine, host_name(), shown, None)
                _log.info("worker is ready", host=host_name())
                with suppress(Interrupted):
                    self._run_jobs(lease)
        finally:
            self._lead_over.set()
            for thread in threads:
                thread.join()
            with unless_away(self._engine, _tell_away):
                give_back_lead(self._engine, lease)
            _log.info("worker has stopped")
        if self._failures:
            raise self._failures[0]

    def _must_end(self) -> bool:
        return self._stopping.is_set() or self._lead_over.is_set()

    def _run_jobs(self, lease: LeaderLease) -> None:
        """Runs what is queued; Interrupted when the worker must end and a job goes on later."""
        while not self._must_end():
            with unless_away(self._engine, _tell_away):
                found = next_job(self._engine)
                # A worker that was paused does not know yet that it was replaced.
                if found is not None:
                    if self._must_end() or not keep_lead(self._engine, lease):
                        raise Interrupted
                    self._run_one(*found)
            self._stopping.wait(_ROUND_SECONDS)

    def _run_one(self, job_id: int, run: int) -> None:
        from jobs.execution.run_job import Queued, run_queued
        from jobs.experiments.kinds import made_ready

        self._job_id = job_id
        try:
            with structlog.contextvars.bound_contextvars(job=job_id), self._line() as backend:
                told = Queued(self._engine, self._settings, self._pause, self._check, backend)
                run_queued(told, job_id, run, made_ready)
        except Exception as error:
            # However a job ends, its row says so. Where even that failed it is taken up again.
            if is_away(error, self._engine):
                raise
            _log.error("cannot store the end of the job", job=job_id, exc_info=error)
        finally:
            self._job_id = None

    def _pause(self, seconds: float) -> None:
        self._stopping.wait(seconds)

    def _check(self) -> None:
        if self._must_end():
            raise Interrupted

    def _keep_lead(self, lease: LeaderLease) -> None:
        """Keeps the lease, as long as nobody else has taken it, and shows who measures."""
        # A line to the cluster is of one thread: the job has its own.
        with suppress(Interrupted), self._line() as cluster:
            while not self._lead_over.wait(_KEEP_SECONDS):
                try:
                    if not keep_lead(self._engine, lease):
                        _log.warning("another worker has taken over; waiting again")
                        self._lead_over.set()
                        return
                    self._show_hosts(cluster)
                except Exception as error:
                    if not is_away(error, self._engine):
                        _log.error("cannot renew the lease; waiting", exc_info=error)
                        self._lead_over.set()
                        return

    @contextmanager
    def _line(self) -> Iterator[Cluster | None]:
        """A line to the cluster, if any; Interrupted, so that the worker ends, if refused."""
        try:
            line = self._cluster() if self._cluster else None
        except InputError as error:
            self._refused = error
            self.stop()
            self._lead_over.set()
            raise Interrupted from error
        with closing(line) if line else nullcontext():
            yield line

    def _show_hosts(self, cluster: Cluster | None) -> None:
        if cluster is None:
            see_host(self._engine, host_name(), None, self._job_id)
            return
        for seen in cluster.connection.seen():
            shown = {**seen.environment, "kind": seen.kind, "problem": seen.problem}
            see_host(self._engine, seen.name, shown, self._job_id if seen.busy else None)

    def _upkeep(self) -> None:
        """Beside the jobs: begins what is due, ends batches, deletes what is old."""
        while not self._must_end():
            try:
                keep_schedules(self._engine, most_queued=self._service.most_queued)
                self._retain()
            except Exception as error:
                if not is_away(error, self._engine):
                    self._failures.append(error)
                    self._lead_over.set()
                    return
            self._lead_over.wait(_ROUND_SECONDS)

    def _deliver(self) -> None:
        """Beside the jobs, which no webhook holds up or ends."""
        while not self._must_end():
            try:
                deliver_due(self._engine, self._service, ends=self._must_end)
            except Exception as error:
                if not is_away(error, self._engine):
                    _log.error("cannot deliver webhooks; trying again", exc_info=error)
            self._lead_over.wait(_ROUND_SECONDS)

    def _retain(self) -> None:
        days = self._service.keep_days
        if days is None or time.monotonic() - self._retained < _RETENTION_SECONDS:
            return
        self._retained = time.monotonic()
        kept = timedelta(days=days)
        forget_deliveries(self._engine, kept)
        for job_id in ended_for(self._engine, kept, limit=1000):
            with suppress(KeyError):  # somebody else was faster
                if self._store.delete_job(job_id):
                    _log.info("job deleted after the retention time", job=job_id)
