"""The service as real processes, `rocktune serve` and `rocktune worker`, and what is theirs."""

import json
import signal
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from tests.support import inherited
from tests.support.cli.launched import ROCKTUNE, Launch, Process, executed

T = TypeVar("T")
STARTS_WITHIN = 90.0
_BUSY_SECONDS = 90.0  # that a machine which has other work to do may need


def wait_until(found: Callable[[], T | None], *, seconds: float, what: str) -> T:
    """What a condition comes to once it is true; looked at often, but not for ever.

    Args:
        found: The condition.
        seconds: What it takes at most on a machine that is free.
        what: Is waited for.
    """
    deadline = time.monotonic() + seconds + _BUSY_SECONDS
    while True:
        if value := found():
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"after {seconds:g} s still not: {what}")
        time.sleep(0.02)


@dataclass
class ServiceDesk:
    """A folder with a bench, a lock and workloads of its own, and a database.

    Attributes:
        url: The database.
        workloads: Receives workload files that jobs may name.
        launch: Starts a command.
    """

    folder: Path
    url: str
    environment: Mapping[str, str] = field(default_factory=dict)
    logs: int = 0
    launch: Launch = executed

    @property
    def bench(self) -> Path:
        return self.folder / "bench"

    @property
    def workloads(self) -> Path:
        return self.folder / "workloads"

    @property
    def token_file(self) -> Path:
        return self.folder / "token"

    @property
    def mark(self) -> str:
        """In the environment of every process that was started from here."""
        return f"ROCKTUNE_BENCH_DIR={self.bench}"

    def variables(self) -> dict[str, str]:
        self.workloads.mkdir(exist_ok=True)
        kept = inherited()
        # As a user starts it: with compiled modules, seconds sooner.
        kept.pop("PYTHONDONTWRITEBYTECODE", None)
        return kept | {
            "ROCKTUNE_BENCH_DIR": str(self.bench),
            "ROCKTUNE_LOCK": str(self.folder / "lock"),
            "ROCKTUNE_FREE_BYTES": str(2**20),
            "ROCKTUNE_WORKLOADS_DIR": str(self.workloads),
            "ROCKTUNE_TOKEN_FILE": str(self.token_file),
            **self.environment,
        }

    def start(self, *arguments: str) -> "ServiceProcess":
        """The real command; what it logs goes to a file of its own."""
        self.logs += 1
        log = self.folder / f"log-{self.logs:03}-{arguments[0]}"
        given = [str(ROCKTUNE), *arguments, "--db", self.url]
        return ServiceProcess(self.launch(given, self.variables(), self.folder, log), log)

    def call(self, method: str, url: str, body: object = None) -> Any:
        """An answer of the service to whoever started it, read as JSON."""
        data = None if body is None else json.dumps(body).encode()
        token = self.token_file.read_text().strip()
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
        request = urllib.request.Request(url, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read())

    @contextmanager
    def running(self, *arguments: str) -> Iterator["ServiceProcess"]:
        """The real command, killed at the end if it still runs."""
        started = self.start(*arguments)
        try:
            yield started
        finally:
            started.kill()


@dataclass
class ServiceProcess:
    """One process of the service."""

    process: Process
    log: Path

    def kill(self) -> None:
        """Ends it as the machine does when memory runs out."""
        self.process.kill()
        self.process.wait()

    def stop(self, *, seconds: float = 30) -> int:
        """Asks it to end; its exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(seconds)

    def events(self) -> list[dict[str, Any]]:
        """What it has logged."""
        found = []
        for line in self.log.read_text().splitlines():
            try:
                found.append(json.loads(line))
            except ValueError:
                continue  # half a line as yet
        return [event for event in found if isinstance(event, dict)]

    def said(self, event: str) -> dict[str, Any] | None:
        return next((each for each in self.events() if each.get("event") == event), None)

    def await_said(self, event: str, *, seconds: float = STARTS_WITHIN) -> dict[str, Any]:
        def look() -> dict[str, Any] | None:
            if self.process.poll() is not None and not self.said(event):
                raise AssertionError(f"it ended: {self.log.read_text()[-3000:]}")
            return self.said(event)

        return wait_until(look, seconds=seconds, what=event)

    def address(self) -> str:
        """Where it listens, as soon as it does."""
        return str(self.await_said("listening")["url"])


def status_of(url: str) -> int:
    """The status of a GET; 0 when nobody answers."""
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0
