"""The cluster's scheduler: Dask's, in this process, with the settings that trials need."""

import asyncio
import errno
import logging
import resource
import signal
import socket
import tempfile
from collections.abc import Callable
from functools import partial
from typing import Any

import dask
import structlog
from distributed import Scheduler, SchedulerPlugin, Security

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
