"""What is compared on which machine: settings that all of a study's runs share."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from jobs.execution.assembly import assemble, environment_of
from jobs.execution.execution_backend import LocalHost
from jobs.specification.named_files import specify
from jobs.specification.specification import Specification
from optimizer.run.ports import Bench
from optimizer.trials.problem import Problem
from sampler.runner.settings import Settings

# What is compared where nothing else is asked for.
WORKLOAD, SPACE, EVALUATIONS = "load-quick", "default", 60


@dataclass(frozen=True, eq=False)
class Study:
    """A comparison.

    Attributes:
        digest: Of the settings, the RocksDB and the processor: runs of another count no more.
        problem: With the seed 0; a run has its own.
        evaluations: How many new configurations each strategy measures, at most.
        environment: The machine and the RocksDB.
        bench: What measures.
        seconds: Of the bench that each strategy may use, runs of the baseline included; None: as
            many as its evaluations take.
    """

    digest: str
    problem: Problem
    evaluations: int
    environment: Mapping[str, Any]
    bench: Bench
    seconds: float | None = None

    def seeded(self, seed: int) -> Problem:
        """The problem as a job with a seed has it."""
        return replace(self.problem, seed=seed)

    def document(self) -> dict[str, Any]:
        """What is written above its runs; points are in the order of `parameters`."""
        return {
            "kind": "study",
            "study": self.digest,
            "workload": self.problem.workload.name,
            "space": self.problem.space.name,
            "parameters": list(self.problem.space.names),
            "objective": self.problem.objective.name,
            "memory": self.problem.memory,
            "cutoff": self.problem.search.cutoff,
            "evaluations": self.evaluations,
            **({} if self.seconds is None else {"seconds": self.seconds}),
            "environment": dict(self.environment),
        }


def open_study(workload: str, space: str, evaluations: int, settings: Settings) -> Study:
    """A study on this machine, at the memory of the space's baseline, by the paper's fitness.

    Raises:
        InputError: It cannot be measured here.
    """
    specification = specify(workload=workload, space=space, strategy="random", seed=0)
    return study_of(specification, settings, evaluations=evaluations)


def study_of(
    specification: Specification,
    settings: Settings,
    *,
    evaluations: int,
    seconds: float | None = None,
) -> Study:
    """A study on this machine of what a job would be asked for.

    With a budget of seconds the evaluations are no part of its digest: they follow from it.

    Raises:
        InputError: It cannot be measured here.
    """
    assembly = assemble(specification, settings)
    environment = environment_of(assembly, settings)
    machine = [environment[name] for name in ("rocksdb", "cpu", "cores")]
    budget = evaluations if seconds is None else float(seconds)
    rests_on = [specification.digest(), budget, machine]
    return Study(
        digest=hashlib.sha256(json.dumps(rests_on).encode()).hexdigest()[:12],
        problem=replace(assembly.problem, strategy=""),
        evaluations=evaluations,
        environment=environment,
        bench=LocalHost(assembly.benchmark, settings, waiting=print, pause=time.sleep),
        seconds=seconds,
    )
