"""A bench host: a Dask worker that measures one trial at a time, and comes back by itself.

What runs there is a trial, from the specification to the outcome, and nothing is left behind.
"""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import dask
import structlog
from distributed import Security, Worker, get_worker

from jobs.cluster.listening import HTTP_ADDRESS
from jobs.cluster.scheduler import DESCRIPTOR, FITNESS, RESOURCE, own_version
from jobs.execution.assembly import LocalHost, assemble, environment_of
from jobs.results.export import export_options
from jobs.specification.resolved_job import ResolvedJob
from jobs.specification.specification import Specification, specification_from_document
from optimizer.trials.trial import Trial
from sampler.bench.bench_folder import nearest_folder
from sampler.bench.builds import advertised
from sampler.bench.installed import InstalledDbBench
from sampler.bench.outcome import Outcome, TrialState
from sampler.bench.settings import Settings, load_settings
from sampler.common.atomic_write import make_private_folder
from sampler.common.errors import InputError
from sampler.machine.machine import fingerprint
from sampler.rocksdb.parameters import Value

_POLL_SECONDS = 0.2  # a job that is cancelled must have ended db_bench within two seconds
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
    make_private_folder(settings.bench_dir, exist_ok=True)
    make_private_folder(folder, exist_ok=True)
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
                _log.warning("the scheduler is gone or has dropped this host; trying again")
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
        return f"another host is named {name!r}; give this one another --name, or stop the other"
    return f"cannot join: {text.splitlines()[0]}"


def measure_trial(
    specification: Specification, trial: Trial, cutoff_seconds: float | None
) -> Outcome:
    """Measures one trial of a job on this host. Runs in the Dask worker's only task thread.

    The host makes its own benchmark of the specification, and knows nothing else of the job.
    ``cutoff_seconds``: after it the trial is cut off; None: never.

    Raises:
        HostUnfit: This host cannot measure it; another may.
        Abandoned: The controller has cancelled it, or the scheduler has gone.
    """
    try:
        settings = load_settings()
        here = LocalHost(_assembled(specification), settings, pause=_pause)
        here.start(trial, cutoff_seconds=cutoff_seconds)
    except (InputError, OSError) as error:
        raise HostUnfit(str(error)) from None
    try:
        while (ended := here.wait(_POLL_SECONDS)) is None:
            _require_wanted()
    except InputError as error:  # its RocksDB was replaced meanwhile
        here.cancel()
        raise HostUnfit(str(error)) from None
    except BaseException:
        here.cancel()
        raise
    _, outcome = ended
    # A failure beside a full disk is the host's, though it ended before anybody had looked.
    problem = unfit(settings)
    if outcome.state is not TrialState.FAILED or outcome.by_host or problem is None:
        return outcome
    return replace(outcome, by_host=True, failure=f"{problem}; {outcome.failure}")


def unfit(settings: Settings) -> str | None:
    """Why no trial can be measured just now; None when one can."""
    free = shutil.disk_usage(nearest_folder(settings.bench_dir)).free
    if free < settings.free_bytes:
        return f"its disk has {free / 2**20:,.0f} MiB free, less than ROCKTUNE_FREE_BYTES"
    return None


def _pause(seconds: float) -> None:
    """Waits for the host's lock, as long as somebody waits for the trial."""
    _require_wanted()
    time.sleep(min(seconds, _POLL_SECONDS))


def _require_wanted() -> None:
    """Raises Abandoned where the scheduler, which can interrupt no thread, wants this no more."""
    worker = get_worker()
    key = worker.get_current_task()
    task = worker.state.tasks.get(key)
    wanted = task is not None and task.state == "executing"
    if not wanted or worker.status.name not in ("running", "paused"):
        raise Abandoned(key)


def describe_build(
    specification: Specification,
) -> tuple[InstalledDbBench | None, dict[str, Any]]:
    """The build that would measure a job here, and this host with it; HostUnfit if none can."""
    try:
        assembly = _assembled(specification)
        return assembly.installed, environment_of(assembly, load_settings())
    except (InputError, OSError) as error:
        raise HostUnfit(str(error)) from None


def export_here(
    specification: Specification, configuration: Mapping[str, Value], comments: list[str]
) -> str:
    """Writes the OPTIONS file and lets this host's RocksDB try it; see ``export_options``."""
    assembly = _assembled(specification)
    return export_options(assembly.plan, assembly.installed, configuration, comments)


def _assembled(specification: Specification) -> ResolvedJob:
    return _assembled_of(json.dumps(specification.document(), sort_keys=True))


@lru_cache(maxsize=8)  # a job's trials share it: db_bench is asked for its options once
def _assembled_of(specification: str) -> ResolvedJob:
    return assemble(specification_from_document(json.loads(specification)), load_settings())


class HostUnfit(RuntimeError):
    """The host cannot measure just now, whatever the configuration: its disk is full, say."""


class Abandoned(RuntimeError):
    """Nobody waits for the trial any more; it was ended."""
