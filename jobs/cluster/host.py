"""A bench host: a Dask worker that measures one trial at a time, and comes back by itself."""

from __future__ import annotations

import asyncio
import logging
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

import dask
import structlog
from distributed import Security, Worker

import jobs.cluster.measuring  # noqa: F401  # now, so that no trial waits for it
from jobs.cluster.host_descriptor import (
    DESCRIPTOR,
    FITNESS,
    RESOURCE,
    descriptor_of,
    folder_of,
    unfit,
)
from jobs.cluster.listening import HTTP_ADDRESS
from sampler.runner.settings import Settings

_AGAIN_SECONDS = 2.0
_CLOSE_SECONDS = 5.0
SETTINGS = {
    # Nothing may run beside a trial: no sampling profiler, no watch over our own memory.
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.worker.http.routes": [],
    "distributed.comm.timeouts.connect": "5s",
}
_log = structlog.stdlib.get_logger("rocktune.host")


def serve_host(
    settings: Settings,
    *,
    scheduler: str,
    host: str,
    name: str,
    kind: str,
    security: Security | None,
) -> None:
    """Measures what controllers send, until SIGTERM or SIGINT.

    A scheduler that is not there, or goes away, is waited for: hosts may be started first, and
    need not be started again.

    Args:
        settings: Where things are on this machine.
        scheduler: Its address, checked by ``scheduler_address``.
        host: Where to listen, checked by ``listening_host``.
        name: The host's name, unlike any other's.
        kind: What kind of host it is: jobs may ask for one.
        security: The certificates; None on loopback alone.
    """
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    descriptor = descriptor_of(settings, kind)
    folder = folder_of(settings)
    folder.mkdir(parents=True, exist_ok=True)
    with dask.config.set(SETTINGS):
        asyncio.run(_serve(settings, scheduler, host, name, security, descriptor, folder))


async def _serve(
    settings: Settings,
    scheduler: str,
    host: str,
    name: str,
    security: Security | None,
    descriptor: dict[str, Any],
    folder: Path,
) -> None:
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    plain = Security(require_encryption=False)
    told: str | None = None
    while not stop.is_set():
        worker = Worker(
            scheduler,
            nthreads=1,
            resources={RESOURCE: 1},
            name=name,
            host=host,
            security=security or plain,
            local_directory=str(folder),
            memory_limit=0,
            dashboard=False,
            dashboard_address=HTTP_ADDRESS,
            metrics={FITNESS: lambda _worker: unfit(settings) or ""},
            startup_information={DESCRIPTOR: lambda _worker: descriptor},
        )
        starting = asyncio.ensure_future(worker.start())
        await _first(starting, stop)
        if not starting.done():
            starting.cancel()
        elif (error := starting.exception()) is not None:
            told = _tell(_reason(error, name), told)
        else:
            told = None
            _log.info("ready", scheduler=scheduler, host=name, kind=descriptor["kind"])
            await _first(asyncio.ensure_future(worker.finished()), stop)
            if not stop.is_set():
                _log.warning("the scheduler has gone, or has given this host up; trying again")
        with suppress(Exception):
            await worker.close(timeout=_CLOSE_SECONDS, nanny=False)
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), _AGAIN_SECONDS)


async def _first(task: asyncio.Future[Any], stop: asyncio.Event) -> None:
    """Waits until a task is done or the host shall end."""
    stopping = asyncio.ensure_future(stop.wait())
    await asyncio.wait([task, stopping], return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()


def _reason(error: BaseException, name: str) -> str:
    cause = error.__cause__ or error
    text = str(cause) or type(cause).__name__
    if "name taken" in text:
        return f"another host is called {name!r}: give this one another --name, or end that one"
    return f"cannot join: {text.splitlines()[0]}"


def _tell(reason: str, told: str | None) -> str:
    """Says each reason once, not every two seconds."""
    if reason != told:
        _log.warning(reason, again="every 2 s")
    return reason
