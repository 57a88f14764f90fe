"""An experiment as a job: each run is kept with the job as it ends, and the job tells how it is.

A worker that was killed, stopped or cancelled goes on from what is measured.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from itertools import count
from typing import Any

import structlog
from sqlalchemy import Engine

from db.jobs.job_store import JobStore
from db.schema.job_row import JobKind, JobRow, JobState
from db.schema.types import storable
from jobs.execution.held_job import HeldJob, JobCancelled, held_job, renewed_meanwhile
from jobs.experiments.experiment import (
    RUNS,
    InterleavedRuns,
    KeptRuns,
    MeasuredRun,
    RunsObserver,
    jsonl_text,
    whole_sets,
)
from jobs.experiments.kinds import prepared
from jobs.queue.queued_job import LoggedProgress, Queued, Run, ready_to_tune
from jobs.specification.experiments import ExperimentSpecification, stored_specification
from sampler.common.errors import InputError
from sampler.machine.machine import fingerprint
from sampler.runner.settings import Settings

_FILES = "files"
_log = structlog.get_logger("experiment")


def made_ready(queued: Queued, row: JobRow, check: Callable[[], None]) -> Run:
    """A job of the queue, of whatever kind; an InputError of an experiment on a cluster."""
    if row.kind is JobKind.TUNE:
        return ready_to_tune(queued, row, check)
    if queued.backend is not None:
        problem = f"a job of kind {row.kind} runs on the worker's own machine, not on a cluster"
        raise InputError("kind", f"{problem}; submit it to a service without a cluster")
    specification = stored_specification(row.specification)
    assert isinstance(specification, ExperimentSpecification)
    events = queued.events()
    return lambda: run_experiment(queued.engine, row.id, specification, queued.settings, **events)


def run_experiment(
    engine: Engine,
    job_id: int,
    specification: ExperimentSpecification,
    settings: Settings,
    *,
    waiting: Callable[[str], None],
    expected: tuple[JobState, ...],
    **events: Any,
) -> None:
    """Runs what is left of a stored experiment here; arguments and errors as of ``run_job``."""
    with held_job(engine, job_id, progress=LoggedProgress(), **events) as held:
        held.begin(fingerprint(settings.bench_dir), expected)
        with renewed_meanwhile(engine, held.lease):
            experiment = prepared(specification, engine, settings)
            kept = _kept_runs(held, experiment.identity)
            told = _Progress(held, kept, experiment.runs)
            observer = RunsObserver(
                begins=told.begins,
                waiting=held.waiting(waiting),
                starts=told.starts,
                ended=told.ended,
                meanwhile=held.heartbeat.tick,
                pause=held.pause,
                away=events["away"],
            )
            found = experiment.measure(kept, observer)
        files = found.files
        if kept.runs:
            lines = [experiment.identity, *(asdict(run) for run in kept.runs)]
            files[RUNS] = jsonl_text(lines)
        held.log.remember(_FILES, {"cautions": list(experiment.cautions), "files": files})
        if not held.retry(lambda: _end(held, found.document)):
            raise JobCancelled(job_id)


def _end(held: HeldJob, document: Mapping[str, Any]) -> bool:
    """Keeps the result and ends the job; False if it was cancelled at the last moment."""
    job_id, lease = held.lease.job_id, held.lease
    held.store.save_result(job_id, document, lease=lease)
    why, states = "all runs done", [JobState.RUNNING, JobState.DONE]  # done: the answer was lost
    return held.store.set_state(job_id, JobState.DONE, why=why, expected=states, lease=lease)


def kept_files(store: JobStore, job_id: int) -> Mapping[str, Any]:
    """The ``files`` of a finished experiment by name, and the ``cautions``; none before."""
    return store.recall(job_id, _FILES) or {"cautions": [], "files": {}}


def _kept_runs(held: HeldJob, identity: Mapping[str, Any]) -> KeptRuns:
    """The job's runs so far, each kept as it ends, with the others of its round.

    Those of another experiment, as on another host or with another RocksDB, are left out.
    """
    log, known = held.log, storable(identity)
    runs: list[MeasuredRun] = []
    for number in count(1):
        kept = log.recall(f"round-{number}")
        if kept is None or kept["experiment"] != known:
            break
        runs += [MeasuredRun(**each) for each in kept["runs"]]

    def keep(run: MeasuredRun) -> None:
        same = [asdict(each) for each in (*runs, run) if each.round == run.round]
        log.remember(f"round-{run.round}", {"experiment": known, "runs": same})

    return KeptRuns(runs, keep)


class _Progress:
    """Keeps how the job stands, as a list of jobs shows it."""

    def __init__(self, held: HeldJob, kept: KeptRuns, total: int) -> None:
        self._held, self._kept, self._total = held, kept, total
        self._done = self._failed = self._here = 0
        self._seconds, self._began = 0.0, time.monotonic()

    def begins(self, turns: InterleavedRuns, left: int) -> None:
        sets = whole_sets(self._kept.runs, turns.sides).values()
        there = [run for runs in sets for run in runs.values()]
        self._total, before = turns.total, turns.total - left
        self._failed = sum(not run.done for run in there)
        self._done = before - self._failed
        self._seconds = sum(run.seconds for run in there)
        self._stand(f"{before} of {turns.total} runs are done from before" if before else "begins")

    def starts(self, case: str, side: str, round_: int) -> None:
        what = f"{case}, {side}" if case else side
        self._stand(f"round {round_}: measuring {what}")

    def ended(self, run: MeasuredRun) -> None:
        self._done += run.done
        self._failed += not run.done
        self._seconds += run.seconds
        self._here += 1
        self._stand(f"round {run.round}: measured {run.case or run.side}")
        _log.info("run ended", round=run.round, case=run.case, side=run.side, state=run.state,
                  seconds=round(run.seconds, 3), failure=run.failure)  # fmt: skip

    def _stand(self, why: str) -> None:
        left = max(0, self._total - self._done - self._failed)
        each = (time.monotonic() - self._began) / self._here if self._here else None
        standing = {
            "done": self._done, "failed": self._failed, "total": self._total, "best": None,
            "seconds_left": each and each * left, "bench_seconds": self._seconds,
            "counts": {"done": self._done, "failed": self._failed}, "between_seconds": None,
        }  # fmt: skip
        self._held.retry(lambda: self._held.stored.stand(standing, why))
