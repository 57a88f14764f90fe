"""The queue that survives: one durable workflow per job, by DBOS. Nothing else here knows DBOS.

The workflow holds one re-entrant step, and the job's trials are the truth: a workflow that is run
again goes on from them. The workflow itself records nothing but that it has ended.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection

from dbos import DBOS, DBOSConfig, SetEnqueueOptions, SetWorkflowID, error
from sqlalchemy import Engine

from db.connection.address import FIELD, place
from jobs.queue.queue_connections import QueueConnections, QueueGivenUp
from sampler.common.errors import InputError

_QUEUE = "bench"
_POLL_SECONDS = 1.0
# Its own version would change with every edit and strand what is pending; ours changes only when
# the arguments of the workflow do.
_VERSION = "rocktune-1"
_LIVE = ["PENDING", "ENQUEUED", "DELAYED"]
_HIGHEST = 1_000_000
_OUTCOME_SECONDS = 2.0  # to write down that a run has ended takes some milliseconds
_STRANDED_SECONDS = 5.0  # from handed out to begun, and from ended to written down, it takes less


def workflow_id(job_id: int, run: int) -> str:
    """The workflow of one run of a job; the same for the same run, so that it is queued once."""
    return f"job-{job_id}-{run}"


def migrate_queue(engine: Engine) -> None:
    """Brings the queue's own tables on a server up to date (its schema ``dbos``)."""
    if engine.dialect.name != "sqlite":
        _quiet()
        DBOS.migrate(engine.url.render_as_string(hide_password=False))


def _quiet() -> None:
    logging.getLogger("dbos").setLevel(logging.WARNING)


class DurableQueue:
    """Runs queued jobs one at a time, the highest priority first.

    One process of a database may have it open at a time: see ``db.leases.turn``.
    """

    def __init__(
        self,
        engine: Engine,
        run: Callable[[int, int], None],
        *,
        given_up: Callable[[], bool] = lambda: False,
    ) -> None:
        """Binds the queue to a database.

        Args:
            engine: The database; the queue opens connections of its own.
            run: Runs a job, given its number and its run, in a thread. When it raises something
                that is no ``Exception`` the workflow stays as it is, and is run again when the
                queue is opened the next time.
            given_up: Whether nobody waits any more for a server that is away: from then on
                whatever asks it raises ``QueueGivenUp``. What a server answers is not touched.
        """
        self._engine, self._run, self._given_up = engine, run, given_up
        self._closing = False
        self._own: QueueConnections | None = None
        self._at_work: set[str] = set()
        self._last_ended: str | None = None
        self._library: DBOS | None = None  # once it is opened
        self._idle_since: dict[str, float] = {}

    def open(self) -> None:
        """Begins to run jobs; those that a killed process left are run again.

        Raises:
            InputError: A server has no tables of the queue, or older ones.
            QueueGivenUp: The server is away, and nobody waits for it.
        """
        try:
            self._launch()
        except error.DBOSInitializationError:
            if self._given_up():
                raise QueueGivenUp from None
            problem = f"{place(self._engine.url)} has no tables of the queue, or older ones"
            raise InputError(FIELD, f"{problem}; start with --migrate") from None

    def _launch(self) -> None:
        _quiet()

        @DBOS.workflow(name="tune")
        def tune(job_id: int, run: int) -> None:
            measure(job_id, run)

        @DBOS.step(name="measure")
        def measure(job_id: int, run: int) -> None:
            name = workflow_id(job_id, run)
            self._at_work.add(name)
            try:
                self._run(job_id, run)
                self._last_ended = name
            finally:
                self._at_work.discard(name)

        self._workflow = tune
        url = self._engine.url.render_as_string(hide_password=False)
        config: DBOSConfig = {
            "name": "rocktune",
            "system_database_url": url,
            "application_version": _VERSION,
            "executor_id": "rocktune",
            # Only `migrate` changes a server's tables; a file is brought up to date by itself.
            "run_migrations": self._engine.dialect.name == "sqlite",
            "scheduler_polling_interval_sec": 3600.0,
            "system_database_engine": self._open_engine(),
            "log_level": "WARNING",
        }
        self._library = DBOS(config=config)
        DBOS.launch()
        self._register()

    def _register(self) -> None:
        DBOS.register_queue(
            _QUEUE,
            worker_concurrency=1,
            global_concurrency=1,
            polling_interval_sec=_POLL_SECONDS,
            on_conflict="always_update",
        )

    def close(self) -> None:
        """Stops running jobs. What runs must have been told to end before."""
        self._await_outcome()
        self._closing = True
        DBOS.destroy(destroy_registry=True)
        if self._own is not None:
            self._own.shut()
            self._own = None

    def _await_outcome(self) -> None:
        """Lets the library write down that the last run has ended, which it does just after.

        Its own way of waiting takes a second at least, and waits for what never ends too.
        """
        deadline = time.monotonic() + _OUTCOME_SECONDS
        while self._writing_down() and time.monotonic() < deadline:
            time.sleep(0.005)

    def _writing_down(self) -> bool:
        library = self._library
        return (
            library is not None and self._last_ended in library._active_workflows_set.activeList()
        )

    def _open_engine(self) -> Engine:
        self._own = QueueConnections(self._engine, lambda: self._closing or self._given_up())
        return self._own.engine

    def put(self, job_id: int, run: int, priority: int) -> None:
        """Queues one run of a job; to queue it twice changes nothing."""
        self._register()  # its row may be gone: nothing that is only in the queue is needed
        rank = max(1, min(_HIGHEST - priority, 2 * _HIGHEST))  # theirs: the lowest goes first
        with SetWorkflowID(workflow_id(job_id, run)), SetEnqueueOptions(priority=rank):
            DBOS.enqueue_workflow(_QUEUE, self._workflow, job_id, run)

    def known(self, names: Collection[str]) -> dict[str, bool]:
        """The workflows among ``names`` that the queue knows, and whether each is still live."""
        if not names:
            return {}
        found = DBOS.list_workflows(workflow_ids=list(names), load_input=False, load_output=False)
        return {each.workflow_id: each.status in _LIVE for each in found}

    def stranded(self) -> list[str]:
        """Workflows that were handed out and that nobody runs; they keep the others waiting.

        A worker that is stopped when its turn is over leaves such, and so does a server that goes
        away just when it hands one out.
        """
        found = DBOS.list_workflows(
            status="PENDING", queue_name=_QUEUE, load_input=False, load_output=False
        )
        now = time.monotonic()
        idle = {each.workflow_id for each in found} - self._at_work
        self._idle_since = {name: self._idle_since.get(name, now) for name in idle}
        late = now - _STRANDED_SECONDS
        return sorted(name for name, since in self._idle_since.items() if since <= late)

    def end(self, names: Collection[str]) -> None:
        """Ends workflows; their jobs are not touched."""
        DBOS.cancel_workflows(list(names))

    def forget_ended(self, names: Collection[str]) -> None:
        """Deletes what the queue has kept of jobs that are gone."""
        known = [name for name, live in self.known(names).items() if not live]
        if known:
            DBOS.delete_workflows(known)
