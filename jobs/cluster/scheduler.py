"""The scheduler of a cluster, and a controller's connection to it, made again when it breaks.

The scheduler is Dask's, in this process, with the settings that trials need.
"""

import asyncio
import errno
import logging
import re
import resource
import signal
import socket
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache, partial
from importlib.metadata import version
from typing import Any

import dask
import structlog
from distributed import Client, Scheduler, SchedulerPlugin, Security

from jobs.cluster.listening import HTTP_ADDRESS
from sampler.common.errors import InputError

TTL_SECONDS = 60.0
SETTINGS = {
    # Dask counts a death against every trial that was assigned to the host, even one that never
    # began, and fails it at the fourth. How often a trial is tried is the controller's to say.
    "distributed.scheduler.allowed-failures": 1_000_000,
    # A trial stays where it was put: its host's baseline is what it is compared with.
    "distributed.scheduler.work-stealing": False,
    # Results go to the controller at once; there is nothing to move between hosts.
    "distributed.scheduler.active-memory-manager.start": False,
    # The HTTP server cannot be left out. It answers nothing.
    "distributed.scheduler.http.routes": [],
}
_log = structlog.stdlib.get_logger("rocktune.scheduler")


class _Membership(SchedulerPlugin):
    name = "rocktune-membership"

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def add_worker(self, scheduler: Scheduler, worker: str) -> None:
        self._names[worker] = str(scheduler.workers[worker].name)
        _log.info("host joined", host=self._names[worker], address=worker)

    def remove_worker(
        self, scheduler: Scheduler, worker: str, *, stimulus_id: str, **more: Any
    ) -> None:
        del scheduler, stimulus_id, more
        _log.info("host left", host=self._names.pop(worker, worker), address=worker)


def serve_scheduler(
    *,
    host: str,
    port: int,
    security: Security | None,
    ttl_seconds: float = TTL_SECONDS,
    listening: Callable[[str], None],
) -> None:
    """Runs a scheduler until SIGTERM or SIGINT.

    Port 0 is any; ``security`` is None on loopback alone. A host that is silent for
    ``ttl_seconds`` is taken for dead. ``listening`` hears the address under which hosts reach it.

    Raises:
        InputError: The port is in use, or the host is not this machine's.
    """
    # Each host holds a few sockets; the usual soft limit ends at some hundreds of hosts.
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    logging.getLogger("distributed").setLevel(logging.WARNING)
    make = partial(
        Scheduler,
        host=host,
        port=port,
        protocol="tls" if security else "tcp",
        security=security or Security(require_encryption=False),
        worker_ttl=ttl_seconds,
        dashboard=False,
        dashboard_address=HTTP_ADDRESS,
        plugins=[_Membership()],
    )
    try:
        # Dask makes a folder, keeps it, and looks for modules in it: in a place of its own.
        with (
            tempfile.TemporaryDirectory(prefix="rocktune-scheduler-") as folder,
            dask.config.set({**SETTINGS, "temporary-directory": folder}),
        ):
            asyncio.run(_serve(make, listening))
    except RuntimeError as error:
        if isinstance(error.__cause__, OSError):
            raise _refusal(error.__cause__, host, port) from None
        raise


async def _serve(make: Callable[[], Scheduler], listening: Callable[[str], None]) -> None:
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    scheduler = make()
    try:
        await scheduler
    except RuntimeError:
        await scheduler.close()
        raise
    try:
        listening(scheduler.address)
        await stop.wait()
    finally:
        await scheduler.close(reason="it was asked to stop")


def _refusal(error: OSError, host: str, port: int) -> InputError:
    if error.errno == errno.EADDRINUSE:
        return InputError("port", f"{port} is in use on {host}; choose another port")
    if error.errno == errno.EACCES:
        return InputError("port", f"this user cannot use port {port}; choose one above 1023")
    if error.errno == errno.EADDRNOTAVAIL or isinstance(error, socket.gaierror):
        return InputError("host", f"{host!r} is not an address of this machine")
    return InputError("host", f"cannot listen on {host!r}: {error.strerror}")


_CONNECT_SECONDS = 5.0
_AGAIN_SECONDS = 1.0
_LOOK_SECONDS = 1.0
_CONNECTOR = re.compile(r"^in <[^>]*>: ")
_QUIET = ("distributed", "distributed.client")  # Dask gives the second a level of its own
CLIENT_SETTINGS = {
    "distributed.client.heartbeat": "5s",
    # A line that broke is made anew by us, which looks for trials that went on meanwhile.
    "distributed.comm.timeouts.connect": "5s",
    "distributed.comm.retry.count": 0,
}


DESCRIPTOR, FITNESS = "rocktune", "rocktune_fit"
"""The names under which Dask carries them: with the registration, and with each heartbeat."""

RESOURCE = "bench"
"""Of which every host has one and every trial takes one."""


@cache  # it is compared with every host's, again and again
def own_version() -> str:
    """Of this Rocktune."""
    return version("rocktune")


@dataclass(frozen=True)
class HostSeen:
    """A host as the scheduler knows it."""

    name: str
    address: str  # where its Dask worker listens; another one after each start
    kind: str  # what kind of host it is
    version: str  # of Rocktune
    problem: str | None  # why it cannot measure just now; None when it can
    busy: bool  # whether it measures
    environment: Mapping[str, Any]  # fingerprint and builds

    @property
    def place(self) -> tuple[str, str]:
        """Name and address: the host as long as it has not begun anew."""
        return self.name, self.address

    @property
    def build_names(self) -> list[str]:
        """Its RocksDB builds with their versions, as ``default 7.8.3``."""
        builds = self.environment.get("builds", [])
        return [f"{each['name']} {each.get('version') or 'broken'}" for each in builds]

    def document(self) -> dict[str, Any]:
        """As JSON holds it."""
        return asdict(self)


def hosts_seen(workers: Mapping[str, Mapping[str, Any]]) -> list[HostSeen]:
    """The hosts among a scheduler's workers; others than ours are left out."""
    found: list[HostSeen] = []
    for address, worker in workers.items():
        descriptor, metrics = worker.get(DESCRIPTOR), worker.get("metrics", {})
        if isinstance(descriptor, Mapping):
            host = HostSeen(
                name=str(worker.get("name", address)),
                address=address,
                problem=metrics.get(FITNESS) or None,
                busy=bool(metrics.get("task_counts", {}).get("executing")),
                kind=descriptor["kind"],
                version=descriptor["version"],
                environment=descriptor["environment"],
            )
            found.append(host)
    return sorted(found, key=lambda host: host.name)


class SchedulerConnection:
    """A client of the scheduler, made again when it breaks. Of one thread."""

    def __init__(self, scheduler: str, security: Security | None) -> None:
        self._scheduler = scheduler
        self._security = security or Security(require_encryption=False)
        self._client: Client | None = None
        self._tried = -_AGAIN_SECONDS
        self._looked = -_LOOK_SECONDS
        self._seen: Sequence[HostSeen] = ()
        # why the scheduler cannot be reached; None when it can, or nobody has tried
        self.problem: str | None = None

    def client(self) -> Client | None:
        """The client, connected now; None while the scheduler cannot be reached."""
        if self._client is not None and self._client.status == "running":
            return self._client
        if self._client is not None:
            self.close()
        if time.monotonic() - self._tried < _AGAIN_SECONDS:
            return None
        self._tried = time.monotonic()
        for name in _QUIET:
            logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            with dask.config.set(CLIENT_SETTINGS):
                self._client = Client(
                    self._scheduler,
                    security=self._security,
                    timeout=_CONNECT_SECONDS,
                    set_as_default=False,
                    direct_to_workers=False,
                )
        except (OSError, TimeoutError, ValueError) as error:
            self.problem = _in_words(error.__cause__ or error)
            return None
        self.problem = None
        self._looked = -_LOOK_SECONDS
        return self._client

    def seen(self) -> Sequence[HostSeen]:
        """The hosts that are connected, at most a second old; none without a scheduler."""
        client = self.client()
        if client is None:
            self._seen = ()
        elif time.monotonic() - self._looked >= _LOOK_SECONDS:
            try:
                self._seen = hosts_seen(client.scheduler_info()["workers"])
            except (OSError, TimeoutError, ValueError):
                self._seen = ()
            self._looked = time.monotonic()
        return self._seen

    def close(self) -> None:
        """Ends the line; what is published stays with the scheduler."""
        client, self._client = self._client, None
        if client is not None:
            with suppress(Exception):
                client.close(timeout=2)


def submitted(
    client: Client, hosts: Sequence[HostSeen], run: Callable[..., Any], *given: Any, **more: Any
) -> Any:
    """The future of a call on one of these hosts, which measures nothing else meanwhile."""
    where = [each.address for each in hosts]
    return client.submit(
        run, *given, workers=where, resources={RESOURCE: 1}, pure=False, retries=0, **more
    )


def _in_words(cause: BaseException) -> str:
    """What went wrong, without the name of the object that it went wrong in."""
    said = _CONNECTOR.sub("", str(cause)).splitlines()
    return said[0] if said else type(cause).__name__
