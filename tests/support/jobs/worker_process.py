"""A worker in a process of its own, forked from one that has imported everything."""

import multiprocessing
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from optimizer.strategies.registry import MODULES
from sampler.bench.settings import Settings
from tests.support.jobs.service_desk import wait_until
from tests.support.jobs.worker_scene import Scene

_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(
    ["jobs.worker", "jobs.queue.service_settings", "db.connection.engine", *MODULES]
)


def work(url: str, settings: Settings, log: str) -> None:
    """What `rocktune worker` does."""
    from cli.options.exits import stop_on_signals
    from db.connection.engine import make_engine
    from jobs import worker
    from jobs.queue.service_settings import configure_logs

    # Seconds of waiting, many times over.
    worker._ROUND_SECONDS = 0.1
    worker._KEEP_SECONDS = 1.0
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    os.dup2(descriptor, 2)
    configure_logs("info")
    engine = make_engine(url)
    working = worker.Worker(engine, settings)
    stop_on_signals(working.stop)
    working.run()
    engine.dispose()


@dataclass
class WorkerProcess:
    process: "multiprocessing.process.BaseProcess"
    log: Path

    @property
    def pid(self) -> int:
        assert self.process.pid is not None
        return self.process.pid

    def kill(self) -> None:
        self.process.kill()
        self.process.join(30)

    def stop(self) -> int | None:
        """Asks it to end; its exit status, None if it does not end."""
        os.kill(self.pid, signal.SIGTERM)
        self.process.join(20)
        return self.process.exitcode

    def send(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def said(self, text: str, times: int = 1) -> bool:
        return self.log.exists() and self.log.read_text().count(text) >= times

    def await_said(self, text: str, times: int = 1) -> None:
        wait_until(lambda: self.said(text, times), seconds=30, what=text)


@contextmanager
def worker_process(
    scene: Scene, name: str = "worker", *, other_host: bool = False
) -> Iterator[WorkerProcess]:
    log = scene.folder / f"{name}.log"
    settings = scene.settings
    if other_host:
        settings = settings.model_copy(update={"lock": scene.folder / "lock of another host"})
    process = _processes.Process(target=work, args=(scene.url, settings, str(log)))
    process.start()
    started = WorkerProcess(process, log)
    try:
        yield started
    finally:
        started.kill()
        process.close()
