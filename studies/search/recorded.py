"""Recorded trials as a problem to be tuned again: what was asked, and what was measured.

An archive of a job (`rocktune db archive`) becomes a problem by one more line in `ARCHIVES`; one
whose file is not there yet is no problem yet.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

from jobs.archive import read_archive
from jobs.specification.resolved_job import resolve
from optimizer.evaluation.baseline import summarise
from optimizer.evaluation.evaluation import COMPARABLE
from optimizer.objective.objective_file import load_objective
from optimizer.trials.problem import Problem, SearchSettings
from optimizer.trials.trial import Phase, Purpose, Trial
from sampler.bench.outcome import TrialState
from sampler.common.errors import InputError
from sampler.rocksdb.parameters import Value, catalogue
from sampler.space.space import Configuration, Space, digest
from sampler.space.space_file import load_space
from sampler.workload.workload_file import load_workload

_ROOT = Path(__file__).parents[2]
_DOCS = _ROOT / "docs"
RECORDED = _ROOT / "tests/data/recorded_trials_load.jsonl.gz"
ARCHIVES = {
    "paper": _DOCS / "reproduction/paper.jsonl.gz",
    "default": _DOCS / "reproduction/default.jsonl.gz",
    # Draws of the strategy random in the space default: see docs/recorded/README.md.
    "mixed": _DOCS / "recorded/mixed.jsonl.gz",
    "overwrite": _DOCS / "recorded/overwrite.jsonl.gz",
}


@dataclass(frozen=True)
class Run:
    """One recorded run.

    Attributes:
        configuration: The values in effect, full scale.
        metrics: Clocks corrected for drift where it is known; of a run that was cut off the time
            and the rate are bounds, and byte metrics are missing.
    """

    configuration: Configuration
    metrics: Mapping[str, float]


@dataclass(frozen=True)
class Recorded:
    """What a test function is learned from.

    Attributes:
        problem: Posed again with the default settings of the search. What the space leaves to
            the users is not tuned: no recommendation could hold it.
        space: All parameters that moved when the runs were made.
        runs: All that ended with a measurement, those of the default included.
    """

    name: str
    problem: Problem
    space: Space
    runs: tuple[Run, ...]

    @property
    def default(self) -> dict[str, Value]:
        """The configuration that everything is compared with."""
        return self.space.default_configuration()

    @cached_property
    def default_runs(self) -> tuple[Run, ...]:
        """The runs of the default."""
        default = digest(self.default)
        return tuple(run for run in self.runs if digest(run.configuration) == default)

    @cached_property
    def digest(self) -> str:
        """Names the runs: it changes with every trial that is added to the archive."""
        rows = [[dict(run.configuration), dict(run.metrics)] for run in self.runs]
        return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()[:12]


def read_recorded(name: str) -> Recorded:
    """The recorded trials of a name: `load`, or an archive.

    Raises:
        InputError: There is none of that name, or its file is not there or no archive.
    """
    if name == "load":
        return of_load(RECORDED)
    if name not in ARCHIVES:
        raise InputError("--problems", f"{name!r} is not one of load, {', '.join(ARCHIVES)}, null")
    return of_archive(name, ARCHIVES[name])


def of_archive(name: str, path: Path) -> Recorded:
    """An archived job, its clocks corrected for drift as the job itself did.

    Raises:
        InputError: The file is no archive.
        ValueError: No run of its baseline ended well.
    """
    archive = read_archive(path)
    problem = resolve(archive.specification, None).problem
    tuned = replace(
        problem,
        search=SearchSettings(cutoff=problem.search.cutoff),
        space=problem.space.without(problem.space.unsearched),
    )
    return Recorded(name, tuned, problem.space, _runs(problem, archive.trials))


def of_load(path: Path) -> Recorded:
    """The 661 random draws of a load of 100,000 keys and the 27 runs of its default.

    They were made before archives, over the names of the space `default`, compared with the
    defaults of db_bench and without a limit on memory, as in the space `paper`. They are in the
    order in which they were made, each after the one before.
    """
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    workload = load_workload("load-quick")
    space = _load_space().at_baseline(
        {"threads": workload.threads, "compression_ratio": workload.compression_ratio}
    )
    problem = plain_problem(space)
    return Recorded("load", problem, space, _runs(problem, _load_trials(space, rows)))


def plain_problem(space: Space) -> Problem:
    """Of the quick load, by the paper's objective, without a strategy or a limit on memory."""
    return Problem(
        space=space,
        workload=load_workload("load-quick"),
        objective=load_objective("paper"),
        strategy="",
        memory=None,
        seed=0,
    )


def _runs(problem: Problem, trials: Sequence[Trial]) -> tuple[Run, ...]:
    """What was measured of the objective's metrics, clocks corrected for drift as a job does."""
    baseline = summarise(trial for trial in trials if trial.is_baseline)
    metrics = {term.metric for term in problem.objective.terms}

    def run(trial: Trial) -> Run:
        values = baseline.corrected(trial.metrics, trial.started_at, trial.host)
        # What is learned are logarithms.
        kept = {name: v for name, v in values.items() if name in metrics and v > 0}
        return Run(trial.features, kept)

    return tuple(run(trial) for trial in trials if trial.state in COMPARABLE)


def _load_trials(space: Space, rows: Sequence[Mapping[str, Any]]) -> list[Trial]:
    default, began = space.default_configuration(), datetime(2000, 1, 1, tzinfo=UTC)
    trials: list[Trial] = []
    for number, row in enumerate(rows, start=1):
        configuration = default if row["default"] else _in_effect(space, row["config"])
        trials.append(
            Trial(
                number=number,
                phase=Phase.SAMPLE,
                purpose=Purpose.BASELINE if row["default"] else Purpose.CANDIDATE,
                seed=0,
                configuration=configuration,
                digest=digest(configuration),
                subject=1 if row["default"] else None,
                state=TrialState.DONE,
                metrics=_metrics(row["result"]),
                host="recorded",
                started_at=began,
            )
        )
        began += timedelta(seconds=row["result"]["wall_seconds"])
    return trials


def _load_space() -> Space:
    shipped = load_space("default")
    # bzip2 was drawn then; the space `default` leaves it out.
    parameters = tuple(
        catalogue()[p.name] if p.name == "compression_type" else p for p in shipped.parameters
    )
    return replace(
        shipped,
        name="load",
        parameters=parameters,
        context=load_space("paper").context,
        baseline="db_bench",
        memory_budget=False,
    )


def _in_effect(space: Space, given: Mapping[str, Any]) -> dict[str, Value]:
    """The catalogue's names for what was written down as RocksDB's numbers."""
    numbered = {
        "compaction_pri": catalogue()["compaction_pri"].values,
        "compaction_style": catalogue()["compaction_style"].values,
    }
    values = {
        name: numbered[name][int(value)] if name in numbered else value
        for name, value in given.items()
    }
    values["bloom_bits"] = max(values["bloom_bits"], 0)
    return {name: values[name] for name in space.names if space.is_active(name, values)}


def _metrics(result: Mapping[str, Any]) -> dict[str, float]:
    """The paper's four metrics (Jin et al., JIPS 2022, section 4.2)."""
    user, load = result["bytes_user"], result["ops"]["fillrandom"]
    return {
        "waf": (result["bytes_flush"] + result["bytes_compact"]) / user,
        "sa": result["sst_bytes"] / user,
        "time": load["seconds"],
        "rate": load["operations"] / load["seconds"],
    }
