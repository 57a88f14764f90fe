"""What runs on a host: one trial, from the request to the outcome, and nothing left behind."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from distributed import get_worker

from jobs.execution.assembly import Assembly, assemble, environment_of
from jobs.execution.execution_backend import local_host
from jobs.results.export import export_options
from jobs.specification.specification import Specification, specification_from_document
from optimizer.trials.trial import Trial
from sampler.bench.installed import InstalledDbBench
from sampler.common.errors import InputError
from sampler.parameters.parameter import Value
from sampler.runner.bench_folder import nearest_folder
from sampler.runner.outcome import Outcome, TrialState
from sampler.runner.settings import Settings, load_settings

_POLL_SECONDS = 0.2  # a job that is cancelled must have ended db_bench within two seconds


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
        here = local_host(_assembled(specification), settings, pause=_pause)
        here.start(trial, cutoff_seconds=cutoff_seconds)
    except (InputError, OSError) as error:
        raise HostUnfit(str(error)) from None
    try:
        while (outcome := here.wait(_POLL_SECONDS)) is None:
            _require_wanted()
    except InputError as error:  # its RocksDB was replaced meanwhile
        here.cancel()
        raise HostUnfit(str(error)) from None
    except BaseException:
        here.cancel()
        raise
    # A failure beside a full disk is the host's, though it ended before anybody had looked.
    problem = unfit(settings)
    if outcome.state is not TrialState.FAILED or outcome.by_host or problem is None:
        return outcome
    return replace(outcome, by_host=True, failure=f"{problem}; {outcome.failure}")


def unfit(settings: Settings) -> str | None:
    """Why no trial can be measured just now; None when one can."""
    free = shutil.disk_usage(nearest_folder(settings.bench_dir)).free
    if free < settings.free_bytes:
        return f"its disk has {free / 2**20:,.0f} MiB left, less than ROCKTUNE_FREE_BYTES"
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


def _assembled(specification: Specification) -> Assembly:
    return _assembled_of(json.dumps(specification.document(), sort_keys=True))


@lru_cache(maxsize=8)  # a job's trials share it: db_bench is asked for its options once
def _assembled_of(specification: str) -> Assembly:
    return assemble(specification_from_document(json.loads(specification)), load_settings())


class HostUnfit(RuntimeError):
    """The host cannot measure just now, whatever the configuration: its disk is full, say."""


class Abandoned(RuntimeError):
    """Nobody waits for the trial any more; it was ended."""
