"""Jobs for a worker, and a worker in a thread of the test."""

import signal
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from db.jobs.job_queue import enqueue_job
from db.jobs.job_store import JobStore
from db.schema.job_row import JobRow, JobState
from jobs import worker
from jobs.queue.lifecycle import WAITS
from jobs.worker import Worker
from sampler.bench.outcome import TrialState
from sampler.bench.settings import Settings
from tests.support.jobs.instant import codec_job
from tests.support.jobs.service_desk import wait_until
from tests.support.sampler.codec_space import write_command

# A run adds its number to `record`. While `hold` is there it waits, and ends when that is gone.
SCRIPT = """\
#!/bin/sh
read -r given < "$1"
echo "$given" >> {folder}/record
while test -e {folder}/hold; do echo $$ > {folder}/held; sleep 0.05; done
printf '{{"waf": 1.%d, "sa": 1.2, "time": 3.1, "rate": 10}}\\n' $(( $$ % 90 + 10 ))
"""


@dataclass
class Scene:
    """A database and a place for benchmarks."""

    engine: Engine
    url: str
    folder: Path
    settings: Settings

    @property
    def store(self) -> JobStore:
        return JobStore(self.engine)

    @property
    def hold(self) -> Path:
        """While this file is there a run goes on."""
        return self.folder / "hold"

    def submit(self, *, trials: int = 12, priority: int = 0, program: str = "bench.sh") -> int:
        script = SCRIPT.format(folder=self.folder)
        workload = write_command(self.folder, script, "held", program=program)
        specification = codec_job(self.folder, workload, trials=trials)
        job, new = enqueue_job(
            self.engine,
            specification.document(),
            specification.digest(),
            why=WAITS,
            priority=priority,
        )
        assert new
        return job

    def row(self, job: int) -> JobRow:
        return self.store.job(job)

    def await_state(self, job: int, state: JobState, *, seconds: float = 30) -> JobRow:
        def reached() -> JobRow | None:
            row = self.row(job)
            return row if row.state is state else None

        return wait_until(reached, seconds=seconds, what=f"job {job} is {state}")

    def await_trials(self, job: int, count: int) -> None:
        """Until so many have ended."""

        def ended() -> bool:
            states = self.store.count_trials(job)
            return sum(states.values()) - states.get(TrialState.RUNNING, 0) >= count

        wait_until(ended, seconds=30, what=f"{count} trials of job {job}")

    def await_held(self) -> int:
        """The process of a run that waits for ``hold`` to go; from now on, if it is a new one."""
        (self.folder / "held").unlink(missing_ok=True)

        def look() -> int | None:
            try:
                return int((self.folder / "held").read_text())
            except (OSError, ValueError):
                return None

        return wait_until(look, seconds=30, what="a run is held")

    def go_on(self) -> None:
        self.hold.unlink()

    def check_done(self, job: int, trials: int = 12) -> None:
        """It ended right, with each trial measured once but for what was in flight."""
        # Whoever ran it gives the lease back just after its end is written down.
        wait_until(lambda: self.row(job).lease_owner is None, seconds=20, what="it is let go")
        row = self.row(job)
        assert (row.state, row.error) == (JobState.DONE, None)
        found = self.store.trials(job)
        assert [trial.number for trial in found] == list(range(1, trials + 1))
        assert {trial.state.value for trial in found} == {"done"}
        result = self.store.result(job)
        assert result is not None
        assert result["trials"]["total"] == trials

    def freeze(self, send: Callable[[signal.Signals], None]) -> None:
        """Stops a process (SIGSTOP) at a moment at which it holds no lock of the database."""
        send(signal.SIGSTOP)
        while self._is_written_to():
            send(signal.SIGCONT)
            send(signal.SIGSTOP)

    def _is_written_to(self) -> bool:
        if self.engine.dialect.name == "postgresql":
            others = "datname = current_database() AND pid <> pg_backend_pid()"
            asked = f"SELECT count(*) FROM pg_stat_activity WHERE {others} AND state <> 'idle'"
            with self.engine.connect() as connection:
                return bool(connection.exec_driver_sql(asked).scalar_one())
        with closing(sqlite3.connect(str(self.engine.url.database), timeout=0)) as connection:
            try:
                connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                return True
        return False

    def execute(self, statement: str) -> int:
        with self.engine.begin() as connection:
            return connection.exec_driver_sql(statement).rowcount


@contextmanager
def at_work(scene: Scene, **settings: Any) -> Iterator[Worker]:
    """A worker in a thread; at the end it is stopped, and must have ended without a failure."""
    working = Worker(scene.engine, scene.settings, **settings)
    failures: list[BaseException] = []

    def run() -> None:
        try:
            working.run()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=run, name="worker under test")
    thread.start()
    try:
        yield working
    finally:
        working.stop()
        scene.hold.unlink(missing_ok=True)
        thread.join(30)
        assert not thread.is_alive(), "the worker does not end"
        assert failures == [], failures


@pytest.fixture
def scene(
    database: Engine,
    database_url: str,
    tmp_path: Path,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> Scene:
    # Seconds of waiting, many times over.
    monkeypatch.setattr(worker, "_ROUND_SECONDS", 0.1)
    return Scene(database, database_url, tmp_path, settings)
