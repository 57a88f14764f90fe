"""The worker: takes its turn, runs queued jobs one at a time, and leaves nothing running."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import structlog
from sqlalchemy import Engine

from db.hosts import see_host
from db.jobs.job_queue import ended_before, queue_again, state_of, waiting
from db.jobs.job_store import Store
from db.leases.process import spoken, this_process
from db.leases.turn import Taken, Turn, give_back, keep, take
from jobs.execution.patience import is_away
from jobs.queue.durable_queue import DurableQueue, workflow_id
from jobs.queue.lifecycle import WAITS
from jobs.queue.queue_connections import QueueGivenUp
from jobs.queue.queued_job import LIVE, is_to_run, run_queued
from jobs.schedule.schedules import keep_schedules
from optimizer.run.ports import ControllerStops
from sampler.bench.builds import advertised
from sampler.common.errors import InputError
from sampler.machine.machine import fingerprint, host_name
from sampler.runner.settings import Settings

if TYPE_CHECKING:
    from jobs.cluster.cluster import Cluster

BENCH = "bench"  # the hosts that are taken in turns; one set so far
_ROUND_SECONDS = 1.0
_KEEP_SECONDS = 5.0
_RETENTION_SECONDS = 3600.0
_log = structlog.get_logger("worker")


class Interrupted(ControllerStops):
    """The worker must stop; trials on other hosts go on."""


class Worker:
    """Runs the jobs of a database, while it is its turn."""

    def __init__(
        self,
        engine: Engine,
        settings: Settings,
        *,
        keep_days: float | None = None,
        cluster: Callable[[], Cluster] | None = None,
    ) -> None:
        """Binds a worker to a database, and to this machine or a cluster.

        Args:
            engine: The database, up to date.
            settings: Where things are on this machine.
            keep_days: Ended jobs are deleted after so many days; None: never.
            cluster: Makes a line to the hosts that measure; None: this machine does.
        """
        self._cluster = cluster
        self._engine, self._settings, self._keep_days = engine, settings, keep_days
        self._store = Store(engine)
        self._stopping = threading.Event()
        self._turn_over = threading.Event()
        self._idle = threading.Event()
        self._idle.set()
        self._job_id: int | None = None
        self._turn: Turn | None = None
        self._refused: InputError | None = None
        self._retained = -_RETENTION_SECONDS

    def stop(self) -> None:
        """Ends the trial in flight and the worker; may be called from anywhere, also twice."""
        self._stopping.set()

    def run(self) -> None:
        """Works until it is stopped.

        Raises:
            InputError: There can be no line to the cluster, as when its certificates have ended.
        """
        owner = this_process()
        while not self._stopping.is_set():
            turn = self._await_turn(owner)
            if turn is not None:
                self._work(turn)
        if self._refused is not None:
            raise self._refused

    def _await_turn(self, owner: str) -> Turn | None:
        told: str | None = None
        while not self._stopping.is_set():
            try:
                taken = take(self._engine, BENCH, owner)
            except Exception as error:
                self._require_away(error)
            else:
                if isinstance(taken, Turn):
                    return taken
                told = self._tell_waiting(taken, told)
            self._stopping.wait(_ROUND_SECONDS)
        return None

    def _tell_waiting(self, taken: Taken, told: str | None) -> str:
        if taken.owner != told:
            _log.info("another worker is at work; waiting", owner=spoken(taken.owner))
        return taken.owner

    def _work(self, turn: Turn) -> None:
        self._turn = turn
        self._turn_over.clear()
        watch = threading.Thread(target=self._keep_turn, args=(turn,), daemon=True, name="turn")
        watch.start()
        queue = DurableQueue(self._engine, self._run_one, given_up=self._must_end)
        try:
            queue.open()
            if self._cluster is None:
                shown = fingerprint(self._settings.bench_dir) | advertised(self._settings)
                see_host(self._engine, host_name(), shown, None)
            _log.info("worker is ready", host=host_name())
            while not self._must_end():
                try:
                    self._round(queue)
                except Exception as error:
                    self._require_away(error)
                self._stopping.wait(_ROUND_SECONDS)
        except Exception as error:
            self._require_away(error)  # it went away just when the queue was being opened
        finally:
            self._turn_over.set()
            self._idle.wait()
            queue.close()
            watch.join()
            self._give_back(turn)
            _log.info("worker has stopped")

    def _must_end(self) -> bool:
        return self._stopping.is_set() or self._turn_over.is_set()

    def _keep_turn(self, turn: Turn) -> None:
        """Keeps the turn, as long as nobody else has taken it, and shows who measures."""
        # A line to the cluster is of one thread: the job has its own.
        with suppress(Interrupted), self._line() as cluster:
            self._keep_turn_beside(turn, cluster)

    @contextmanager
    def _line(self) -> Iterator[Cluster | None]:
        """A line to the cluster, if there is one.

        Raises:
            Interrupted: It is refused, which no other try would mend: the worker ends.
        """
        try:
            line = self._cluster() if self._cluster else None
        except InputError as error:
            self._refused = error
            self.stop()
            self._turn_over.set()
            raise Interrupted from error
        with closing(line) if line else nullcontext():
            yield line

    def _keep_turn_beside(self, turn: Turn, cluster: Cluster | None) -> None:
        while not self._turn_over.wait(_KEEP_SECONDS):
            try:
                if not keep(self._engine, turn):
                    _log.warning("another worker has taken over; this one waits again")
                    self._turn_over.set()
                    return
                self._show_hosts(cluster)
            except Exception as error:
                if not is_away(error, self._engine):
                    _log.error("the turn cannot be kept; this worker waits again", exc_info=error)
                    self._turn_over.set()
                    return

    def _show_hosts(self, cluster: Cluster | None) -> None:
        if cluster is None:
            see_host(self._engine, host_name(), None, self._job_id)
            return
        for seen in cluster.seen():
            shown = {**seen.environment, "kind": seen.kind, "problem": seen.problem}
            see_host(self._engine, seen.name, shown, self._job_id if seen.busy else None)

    def _give_back(self, turn: Turn) -> None:
        try:
            give_back(self._engine, turn)
        except Exception as error:
            self._require_away(error)

    def _round(self, queue: DurableQueue) -> None:
        """Begins what is due, queues what is to be run and is not queued, deletes what is old."""
        # First, for it fails at once where the database is away, and the user is told.
        keep_schedules(self._engine)
        stranded = queue.stranded()
        if stranded and self._has_turn():
            _log.warning("nobody runs what was handed out; it is queued again", runs=stranded)
            queue.end(stranded)
        live = sorted(waiting(self._engine), key=lambda job: -job.priority)
        known = queue.known([workflow_id(job.job_id, job.run) for job in live])
        for job in live:
            name = workflow_id(job.job_id, job.run)
            if name not in known:
                queue.put(job.job_id, job.run, job.priority)
            elif not known[name] and job.job_id != self._job_id:
                # Its workflow has ended and the job has not: the worker lost its turn meanwhile.
                queue_again(self._engine, job.job_id, expected=LIVE, run=job.run, why=WAITS)
        self._retain(queue)

    def _retain(self, queue: DurableQueue) -> None:
        if self._keep_days is None or time.monotonic() - self._retained < _RETENTION_SECONDS:
            return
        self._retained = time.monotonic()
        before = datetime.now(UTC) - timedelta(days=self._keep_days)
        for job_id in ended_before(self._engine, before, limit=1000):
            found = state_of(self._engine, job_id)
            if found is None or not self._deleted(job_id):
                continue  # somebody else was faster, or lets it go on
            queue.forget_ended([workflow_id(job_id, each) for each in range(1, found[1] + 1)])
            _log.info("job deleted, as old as is kept", job=job_id)

    def _deleted(self, job_id: int) -> bool:
        try:
            return self._store.delete_job(job_id)
        except KeyError:
            return False

    def _run_one(self, job_id: int, run: int) -> None:
        """Runs a job, in the queue's thread; however it ends, it is the job's row that says so.

        Raises:
            Interrupted: The queue must not take this for the end of the run.
        """
        self._idle.clear()  # before it looks whether to begin: who waits for idle has said stop
        try:
            self._require_turn()
            if is_to_run(self._engine, job_id, run):
                self._job_id = job_id
                with structlog.contextvars.bound_contextvars(job=job_id):
                    self._measure(job_id, run)
            # Whoever has the turn now runs this again, and its end is the other's to write down.
            self._require_turn()
        except Exception as error:
            self._require_away(error)
            raise Interrupted from error
        finally:
            self._job_id = None
            self._idle.set()

    def _measure(self, job_id: int, run: int) -> None:
        with self._line() as place:
            run_queued(
                self._engine,
                self._settings,
                job_id,
                run,
                pause=self._pause,
                check=self._check,
                place=place,
            )

    def _pause(self, seconds: float) -> None:
        self._stopping.wait(seconds)

    def _check(self) -> None:
        if self._must_end():
            raise Interrupted

    def _require_turn(self) -> None:
        """Proves it: a worker that was paused does not know yet that it was replaced."""
        self._check()
        if not self._has_turn():
            raise Interrupted

    def _has_turn(self) -> bool:
        return self._turn is not None and keep(self._engine, self._turn)

    def _require_away(self, error: Exception) -> None:
        if not (isinstance(error, QueueGivenUp) or is_away(error, self._engine)):
            raise error
        _log.warning("the database does not answer")
