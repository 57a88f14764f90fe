"""What models of a job's trials say, made when it is asked for: dependence and explanation.

What is made anew stays in memory, not in the database: to read it changes nothing.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import orjson
from sqlalchemy import Engine

from db.jobs.job_store import JobStore
from db.schema.job_row import JobRow
from db.trials.trial_rows import sampled_trials
from jobs.results.background_fit import fitted
from jobs.results.cache import JobCache
from jobs.specification.resolved_job import resolve_stored
from optimizer.evaluation.evaluation import Evaluation
from optimizer.explanation.explanation import NOTHING_EXPLAINED, explanation_document
from optimizer.ranking.dependence import Dependences, dependences
from optimizer.trials.history import History
from optimizer.trials.problem import Problem
from optimizer.trials.trial import Purpose

_MOST_TRIALS = 2000  # read; the models take the best and others evenly, 300 at most
_known = JobCache[Dependences | None](alone=True)


def dependence_of_job(engine: Engine, job: JobRow) -> Dependences | None:
    """What its trials teach so far; of many, some evenly over the job.

    None while they are too few, or teach nothing at all.
    """
    standing = job.standing or {}
    state = (job.run, standing.get("done"), standing.get("failed"), job.state)
    return _known.of(engine, job.id, state, lambda: _learned(engine, job))


def dependence_document(found: Dependences) -> dict[str, Any]:
    """As JSON holds it; figures of effects in percent."""
    document: dict[str, Any] = orjson.loads(orjson.dumps(found, default=np.ndarray.tolist))
    return document


def _learned(engine: Engine, job: JobRow) -> Dependences | None:
    trials, _ = sampled_trials(engine, job.id, most=_MOST_TRIALS)
    runs = [trial for trial in trials if trial.purpose is Purpose.BASELINE and trial.done]
    if not runs:
        return None
    problem = _problem(job, runs[0].configuration)
    return fitted(dependences, Evaluation(problem, History(trials)))


def _problem(job: JobRow, baseline: Mapping[str, Any]) -> Problem:
    """With the defaults of the RocksDB that measured, not the catalogue's."""
    problem = resolve_stored(job).problem
    return replace(problem, space=problem.space.at_baseline(baseline))


_made_anew = JobCache[dict[str, Any]](alone=True)


def explained_job(engine: Engine, job: JobRow, result: Mapping[str, Any]) -> Mapping[str, Any]:
    """Its ``explanation`` and ``explanation_withheld``; made anew of an earlier version's."""
    if result["best"] is None:
        return NOTHING_EXPLAINED
    if "explanation" in result:  # one that an earlier version made is shown as it is
        return {name: result.get(name) for name in NOTHING_EXPLAINED}
    return _made_anew.of(engine, job.id, job.updated_at, lambda: _anew(engine, job, result))


def _anew(engine: Engine, job: JobRow, result: Mapping[str, Any]) -> dict[str, Any]:
    problem = _problem(job, result["baseline"].get("configuration") or {})
    evaluation = Evaluation(problem, History(JobStore(engine).trials(job.id)))
    best, verdict = result["best"]["configuration"], result["verdict"]
    explain = partial(explanation_document, low=verdict["low"], high=verdict["high"])
    return fitted(explain, evaluation, best)
