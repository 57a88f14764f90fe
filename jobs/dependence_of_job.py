"""How a job's metrics depend on its parameters: learned when it is asked for, and remembered."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from sqlalchemy import Engine

from db.job_row import JobRow
from db.trial_sample import sampled_trials
from jobs.frame import frame
from jobs.specification import specification_from_document
from optimizer.dependence import Dependences, dependences
from optimizer.history import History
from optimizer.problem import Problem
from optimizer.trial import Purpose

_MOST_TRIALS = 2000  # read; the models take the best and others evenly, 300 at most
_MOST_REMEMBERED = 16
_Known = dict[int, tuple[object, Dependences | None]]
_known: WeakKeyDictionary[Engine, _Known] = WeakKeyDictionary()


def dependence_of_job(engine: Engine, job: JobRow) -> Dependences | None:
    """What its trials teach so far; None while they are too few, or teach nothing at all.

    Args:
        engine: The database.
        job: Whose trials teach; of many, some evenly over the job.
    """
    standing = job.standing or {}
    stamp = (job.run, standing.get("done"), standing.get("failed"), job.state)
    known = _known.setdefault(engine, {})
    if job.id in known and known[job.id][0] == stamp:
        return known[job.id][1]
    if len(known) >= _MOST_REMEMBERED:
        known.clear()
    found = _learned(engine, job)
    known[job.id] = (stamp, found)
    return found


def dependence_document(found: Dependences) -> dict[str, Any]:
    """As JSON holds it; figures of effects in percent."""
    return {
        "trials": found.trials,
        "unexplained": dict(found.unexplained),
        "settings": {name: list(values) for name, values in found.settings.items()},
        "curves": [
            {
                "parameter": curve.parameter,
                "metric": curve.metric,
                "share": curve.share,
                "effect": curve.effect.tolist(),
                "low": curve.low.tolist(),
                "high": curve.high.tolist(),
            }
            for curve in found.curves
        ],
        "pairs": [
            {
                "parameters": list(pair.parameters),
                "metric": pair.metric,
                "share": pair.share,
                "beyond": pair.beyond.tolist(),
            }
            for pair in found.pairs
        ],
    }


def _learned(engine: Engine, job: JobRow) -> Dependences | None:
    trials, _ = sampled_trials(engine, job.id, most=_MOST_TRIALS)
    runs = [trial for trial in trials if trial.purpose is Purpose.BASELINE and trial.done]
    if not runs:
        return None
    try:
        return dependences(_problem(job, runs[0].configuration), History(trials))
    except np.linalg.LinAlgError:  # a page does not fail for it
        return None


def _problem(job: JobRow, baseline: Any) -> Problem:
    problem = frame(specification_from_document(job.specification), None).problem
    # The library's defaults are those of the RocksDB that measured, not the catalogue's.
    return replace(problem, space=problem.space.at_baseline(baseline))
