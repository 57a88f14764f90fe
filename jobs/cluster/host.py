"""A bench host: a Dask worker that measures one trial at a time, and comes back by itself."""

import asyncio
import logging
import signal
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import dask
import structlog
from distributed import Security, Worker

from jobs.cluster.connection import DESCRIPTOR, FITNESS, RESOURCE, own_version
from jobs.cluster.listening import HTTP_ADDRESS
from jobs.cluster.measuring import unfit  # all of it now, so that no trial waits for it
from sampler.bench.builds import advertised
from sampler.machine.machine import fingerprint
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
    need not be started again. It listens on ``host``, and has a name unlike any other's; jobs may
    ask for hosts of a kind. ``security`` is None on loopback alone.
    """
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    # what does not change while the host is there
    environment = fingerprint(settings.bench_dir) | advertised(settings)
    descriptor = {"version": own_version(), "kind": kind, "environment": environment}
    folder = settings.bench_dir / "host"  # the one folder that a host may surely write
    folder.mkdir(parents=True, exist_ok=True)
    make = partial(
        Worker,
        scheduler,
        nthreads=1,
        resources={RESOURCE: 1},
        name=name,
        host=host,
        security=security or Security(require_encryption=False),
        local_directory=str(folder),
        memory_limit=0,
        dashboard=False,
        dashboard_address=HTTP_ADDRESS,
        metrics={FITNESS: lambda _worker: unfit(settings) or ""},
        startup_information={DESCRIPTOR: lambda _worker: descriptor},
    )
    with dask.config.set(SETTINGS):
        asyncio.run(_serve(make, scheduler=scheduler, host=name, kind=kind))


async def _serve(make: Callable[[], Worker], **about: str) -> None:
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    told: str | None = None
    while not stop.is_set():
        worker = make()
        starting = asyncio.ensure_future(worker.start())
        await _first(starting, stop)
        if not starting.done():
            starting.cancel()
        elif (error := starting.exception()) is not None:
            reason = _reason(error, about["host"])
            if reason != told:  # once, not every two seconds
                _log.warning(reason, again="every 2 s")
            told = reason
        else:
            told = None
            _log.info("ready", **about)
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
