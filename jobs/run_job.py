"""A job from beginning to end, the same for the terminal and the service."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine

from db.job_store import JobState, Store
from db.lease import Lease, acquire, release, renew
from db.process import this_process
from db.trial_log import StoredTrialLog
from jobs.assembly import Assembly
from jobs.export import describe, export_options
from jobs.local_host import LocalHost
from jobs.specification import Specification
from optimizer.ports import LeaseLost, Progress
from optimizer.result import fitness_by_trial, result_document
from optimizer.standing import Standing
from optimizer.strategies import find_strategy
from optimizer.trial import Phase, Trial
from optimizer.tuning import Budget, Conclusion, Tuning
from sampler.machine import fingerprint
from sampler.settings import Settings

_RENEW_SECONDS = 10.0
_OUTPUT = "output"


@dataclass(frozen=True)
class Finished:
    """A job's outcome.

    Attributes:
        result: The document of result.json.
        options: The text of the OPTIONS file; None when nothing was proven better.
        fitness: Of each finished trial by number, as the search saw it.
        trials: By number.
    """

    result: Mapping[str, Any]
    options: str | None
    fitness: Mapping[int, float]
    trials: Sequence[Trial]


class _LeaseKeeper:
    """Passes progress on, and renews the lease on the way."""

    def __init__(self, engine: Engine, lease: Lease, progress: Progress) -> None:
        self._engine, self._lease, self._progress = engine, lease, progress
        self._renewed = time.monotonic()

    def phase(self, phase: Phase, why: str) -> None:
        self._progress.phase(phase, why)

    def trial_started(self, trial: Trial) -> None:
        self._progress.trial_started(trial)

    def trial_ended(self, trial: Trial, standing: Standing) -> None:
        self._renew()  # trials may be too short for a tick
        self._progress.trial_ended(trial, standing)

    def tick(self) -> None:
        self._renew()
        self._progress.tick()

    def _renew(self) -> None:
        if time.monotonic() - self._renewed >= _RENEW_SECONDS:
            renew(self._engine, self._lease)
            self._renewed = time.monotonic()


def environment_of(assembly: Assembly, settings: Settings) -> dict[str, Any]:
    """The machine, the RocksDB, and what must be known of either."""
    installed = assembly.installed
    return fingerprint(settings.bench_dir) | {
        "rocksdb": installed.version if installed else None,
        "db_bench": str(installed.program) if installed else None,
        "warnings": [*(installed.warnings if installed else ()), *assembly.warnings],
    }


def run_job(
    engine: Engine,
    job_id: int,
    specification: Specification,
    assembly: Assembly,
    settings: Settings,
    *,
    progress: Progress,
    waiting: Callable[[str], None] = lambda _: None,
    pause: Callable[[float], None] = time.sleep,
) -> Finished:
    """Runs what is left of a stored job.

    Args:
        engine: The store.
        job_id: The job.
        specification: As it is stored with the job.
        assembly: Made of the specification on this machine.
        settings: Where things are on this machine.
        progress: Who watches.
        waiting: Told who holds the host while a trial must wait for it.
        pause: How to wait.

    Raises:
        LeaseHeld: Another process is running the job.
        LeaseLost: Another process has taken it over.
        InputError: The baseline cannot be measured, or the machine cannot run a trial.
        KeyboardInterrupt: Passed on, when the trial in flight is ended; the job can be resumed.
    """
    store = Store(engine)
    lease = acquire(engine, job_id, this_process())
    try:
        environment = environment_of(assembly, settings)
        store.save_environment(job_id, environment, lease=lease)
        store.set_state(job_id, JobState.RUNNING, lease=lease)
        keeper = _LeaseKeeper(engine, lease, progress)

        def pause_and_renew(seconds: float) -> None:
            pause(seconds)
            keeper.tick()

        host = LocalHost(assembly.benchmark, settings, waiting=waiting, pause=pause_and_renew)
        log = StoredTrialLog(engine, lease)
        tuning = Tuning(
            assembly.problem,
            Budget(specification.trials, specification.minutes),
            find_strategy(specification.strategy),
            log=log,
            bench=host,
            progress=keeper,
        )
        finished = _conclude(specification, assembly, tuning.run(), environment)
        fitness = {str(number): value for number, value in finished.fitness.items()}
        log.remember(_OUTPUT, {"options": finished.options, "fitness": fitness})
        store.save_result(job_id, finished.result, lease=lease)
        store.set_state(job_id, JobState.DONE, why="all trials are in", lease=lease)
        return finished
    except (LeaseLost, KeyboardInterrupt):
        raise  # the job is another's now, or goes on later
    except Exception as error:
        with suppress(LeaseLost):
            store.set_state(job_id, JobState.FAILED, error=str(error), lease=lease)
        raise
    finally:
        with suppress(LeaseLost):
            release(engine, lease)


def finished_job(engine: Engine, job_id: int) -> Finished:
    """A finished job's outcome as it was stored; nothing is measured."""
    store = Store(engine)
    result = store.result(job_id)
    if result is None:
        raise KeyError(f"job {job_id} has no result yet")
    kept = store.recall(job_id, _OUTPUT) or {}
    fitness = {int(number): value for number, value in kept.get("fitness", {}).items()}
    return Finished(result, kept.get("options"), fitness, store.trials(job_id))


def _conclude(
    specification: Specification,
    assembly: Assembly,
    conclusion: Conclusion,
    environment: Mapping[str, Any],
) -> Finished:
    """The result and the OPTIONS file.

    Raises:
        ExportRefusedError: RocksDB does not take the file, or not as intended.
    """
    problem = assembly.problem
    result = result_document(
        problem, conclusion, job=specification.document(), environment=environment
    )
    options = None
    if result["best"] is not None:
        comments = describe(assembly, result)
        options = export_options(assembly, result["best"]["configuration"], comments)
    fitness = fitness_by_trial(problem, conclusion)
    return Finished(result, options, fitness, tuple(conclusion.history))
