"""Warm start (``--warm-start``): which earlier jobs a job takes along, and what of them.

What is taken is frozen with the job when it first begins: a job is a pure function of what is
stored with it.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from db.jobs.job_store import JobStore
from db.schema.job_row import ENDED, JobKind
from jobs.specification.request import AUTO, WarmStart
from jobs.specification.resolved_job import resolve_stored
from jobs.specification.specification import require_tunes
from optimizer.run.ports import TrialLog
from optimizer.trials.history import History
from optimizer.trials.problem import Prior, PriorJob, Problem
from optimizer.trials.trial import Purpose
from sampler.common.errors import InputError
from sampler.workload.workload import Workload

DOCUMENT = "prior"
"""The document of what a job took along."""

_MOST_JOBS = 3
_LOOKED_AT = 200  # of the newest jobs
_LEAST_TRIALS = 10  # fewer teach nothing
_LEAST_IN_COMMON = 0.5  # of the parameters that move


def frozen_prior(
    store: JobStore,
    log: TrialLog,
    job_id: int,
    asked: WarmStart,
    problem: Problem,
    hosts: Collection[str] | None,
) -> Prior:
    """What the job took along when it began; found, and kept in its log, the first time.

    ``asked`` is as its specification holds it, ``hosts`` where it is measured, if that is known.

    Raises:
        InputError: The job that is asked for is not there, or has nothing to teach.
        LeaseLost: Another controller has taken the job over.
    """
    if asked is None:
        return Prior()
    kept = log.recall(DOCUMENT)
    if kept is None:
        kept = prior_of(store, job_id, asked, problem, hosts).document()
        log.remember(DOCUMENT, kept)
    return Prior.from_document(kept)


def hosts_in(environment: Mapping[str, Any]) -> set[str]:
    """The hosts that an environment tells of."""
    several = environment.get("hosts")
    return set(several) if several else {str(environment["host"])}


def said_of(prior: Prior) -> str:
    """What is taken along, for people."""
    if not prior.jobs:
        return "warm start: no earlier job here is similar enough; starting without one"
    return f"warm start: {', '.join(job.said() for job in prior.jobs)}"


def prior_of(
    store: JobStore, job_id: int, asked: WarmStart, problem: Problem, hosts: Collection[str] | None
) -> Prior:
    """What a job would take along now; see ``frozen_prior``."""
    from optimizer.surrogate.training_data import MOST

    if isinstance(asked, int):
        return Prior((_named(store, asked, problem),))
    if asked != AUTO:
        return Prior()
    # Jobs of the same load first.
    similar = sorted(
        _similar(store, job_id, problem), key=lambda each: each[1].workload != problem.workload
    )
    taken = (_taken(store, number, earlier, problem, hosts) for number, earlier in similar)
    found = list(islice((each for each in taken if each is not None), _MOST_JOBS))
    share = MOST // max(1, len(found))
    return Prior(tuple(replace(each, trials=each.trials[:share]) for each in found))


def require_job(store: JobStore, asked: WarmStart, *, field: str = "warm_start") -> None:
    """Refuses, with an InputError, to start from a job that is not there."""
    if isinstance(asked, int):
        try:
            row = store.job(asked)
        except KeyError:
            problem = f"there is no job {asked} in this database; write auto, none or a job number"
            raise InputError(field, problem) from None
        require_tunes(row, field)


def _named(store: JobStore, number: int, problem: Problem) -> PriorJob:
    require_job(store, number)
    earlier = resolve_stored(store.job(number)).problem
    taken = _taken(store, number, earlier, problem, None)
    if taken is None or not _in_common(earlier, problem):
        why = f"job {number} has fewer than {_LEAST_TRIALS} measured configurations"
        if taken is not None:
            why = f"job {number} varies none of this job's parameters"
        raise InputError("warm_start", f"{why}; name another, or none")
    return taken


def _similar(store: JobStore, job_id: int, problem: Problem) -> Iterator[tuple[int, Problem]]:
    """Ended jobs of the same kind of load that move enough of the same, newest first."""
    for row in store.jobs(limit=_LOOKED_AT):
        if row.id == job_id or row.state not in ENDED or row.kind is not JobKind.TUNE:
            continue
        try:
            earlier = resolve_stored(row).problem
        except InputError:  # of another version, or of files that were there then
            continue
        alike = _kind(earlier.workload) == _kind(problem.workload)
        if alike and _in_common(earlier, problem) >= _LEAST_IN_COMMON:
            yield row.id, earlier


def _taken(
    store: JobStore, number: int, earlier: Problem, problem: Problem, hosts: Collection[str] | None
) -> PriorJob | None:
    """What is taken of a job; None if it measured too little there."""
    from optimizer.surrogate.training_data import prior_job

    trials = store.trials(number)
    history = History(t for t in trials if hosts is None or t.host in hosts)
    if not any(trial.done for trial in history.of(Purpose.BASELINE)):
        return None
    taken = prior_job(problem, earlier, history, job=number)
    return taken if taken.of >= _LEAST_TRIALS else None


def _kind(workload: Workload) -> tuple[object, ...]:
    """What two loads must have in common to be similar: who measures them, and what is done."""
    if workload.command is not None:
        return ("command", workload.command.argv)
    if workload.external:
        return ("external", workload.name)
    prepared = workload.prepare.benchmarks if workload.prepare else ()
    return ("db_bench", prepared, workload.benchmarks)


def _in_common(earlier: Problem, problem: Problem) -> float:
    moved = set(earlier.space.names)
    return sum(name in moved for name in problem.searched) / max(1, len(problem.searched))
