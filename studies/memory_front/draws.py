"""Random draws that were recorded before, for comparison."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from optimizer.objective.objective_file import load_objective
from sampler.runner.outcome import TrialState
from studies.recorded_trials import RECORDED
from studies.reproduction.study import Study


def fitness_of_draws(study: Study) -> list[float]:
    """Of a job's random draws in their order; one that was cut off counts as the worst."""
    worst = min(study.fitness.values())
    ended = (TrialState.DONE, TrialState.CENSORED)
    return [study.fitness.get(t.number, worst) for t in study.draws if t.state in ended]


def recorded_draws(path: Path = RECORDED) -> list[tuple[int, float]]:
    """(bytes of write buffers, fitness) of the recorded draws without a memory budget.

    The fitness is the paper's, against the medians of the default's runs among them; these runs
    are counted where the load stops but for a flush.
    """
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    objective = load_objective("paper")
    defaults = [_metrics(row["result"]) for row in rows if row["default"]]
    level = {name: float(np.median([run[name] for run in defaults])) for name in defaults[0]}
    found: list[tuple[int, float]] = []
    for row in rows:
        fitness = objective.fitness(_metrics(row["result"]), level)
        if not row["default"] and fitness is not None:
            config = row["config"]
            buffers = config["write_buffer_size"] * config["max_write_buffer_number"]
            found.append((buffers, fitness))
    return found


def _metrics(result: Mapping[str, Any]) -> dict[str, float]:
    load = result["ops"]["fillrandom"]
    return {
        "waf": (result["bytes_flush"] + result["bytes_compact"]) / result["bytes_user"],
        "sa": result["sst_bytes"] / result["bytes_user"],
        "time": load["seconds"],
        "rate": load["operations"] / load["seconds"],
    }
