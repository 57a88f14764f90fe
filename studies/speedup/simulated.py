"""What more hosts give: the time of a job, and what it finds.

Run with ``python -m studies.speedup.simulated [--hosts N...] [--trials N] [--seeds N]``. Hosts
are simulated, so time is simulated and the controller takes none of it: what is lost is lost to
the order of trials (baselines of its own for each host, draws that must be in before the ranking,
rounds that stay on one host). What is found is judged without noise, by the known truth.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from jobs.execution.assembly import assembly_of
from jobs.specification.specification import Specification
from jobs.specification.validation import specification_of
from optimizer.objective.objective_file import load_objective, objective_document
from optimizer.run.planning import Budget
from optimizer.run.tuning import Tuning
from optimizer.strategies.registry import find_strategy
from studies.known_truth import DEFAULT, SPACE, measured, truth
from studies.memory_log import MemoryLog
from studies.simulated_hosts import SimulatedHosts

WORKLOAD = {"name": "known-truth", "command": {"argv": ["true"], "timeout_seconds": 600}}


@dataclass(frozen=True)
class JobEnd:
    """How a job ended.

    Attributes:
        seconds: From its first trial to its last, in simulated time.
        fitness: Of the configuration that it recommends, without noise; 0 for the default.
    """

    seconds: float
    fitness: float


def specification(strategy: str, trials: int, seed: int) -> Specification:
    """The job's: the paper's objective over the known truth."""
    return specification_of(
        workload=WORKLOAD,
        space=SPACE,
        objective=objective_document(load_objective("paper")),
        shipped_space=False,
        strategy=strategy,
        trials=trials,
        seed=seed,
    )


def true_fitness(configuration: Mapping[str, Any]) -> float:
    """The paper's fitness of a configuration's true metrics against the default's."""
    found = load_objective("paper").fitness(truth({**DEFAULT, **configuration}), truth(DEFAULT))
    return found or 0.0


def simulated(strategy: str, hosts: int, trials: int, seed: int) -> JobEnd:
    """Runs a job to its end on hosts that differ in speed by nothing but noise."""
    assembly = assembly_of(specification(strategy, trials, seed), None)
    pretended = SimulatedHosts(hosts, seed=seed, measure=measured, spread=0.0)
    log = MemoryLog()
    conclusion = Tuning(
        assembly.problem,
        Budget(trials=trials),
        find_strategy(strategy),
        log=log,
        hosts=pretended,
        progress=log,
        now=pretended.now,
    ).run()
    winner = conclusion.winner
    found = {} if winner is None else conclusion.history[winner].configuration
    return JobEnd(pretended.simulated_seconds, true_fitness(found))


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Mean and half of its 95% interval (Student's t)."""
    half = stats.sem(values) * stats.t.ppf(0.975, len(values) - 1) if len(values) > 1 else math.nan
    return float(np.mean(values)), float(half)


def rows(strategy: str, hosts: Sequence[int], trials: int, seeds: int) -> list[str]:
    """A row of the table for each number of hosts; the first number is what others are set to."""
    ends = {n: [simulated(strategy, n, trials, seed) for seed in range(seeds)] for n in hosts}
    alone = ends[hosts[0]]
    found = []
    for n, jobs in ends.items():
        faster = [a.seconds / b.seconds for a, b in zip(alone, jobs, strict=True)]
        better = [b.fitness - a.fitness for a, b in zip(alone, jobs, strict=True)]
        fitness, quicker, gain = (
            interval([job.fitness for job in jobs]), interval(faster), interval(better)
        )  # fmt: skip
        found.append(
            f"| {strategy} | {n} | {quicker[0]:.2f} ± {quicker[1]:.2f} | {fitness[0]:.0f} "
            f"± {fitness[1]:.0f} | {gain[0]:+.0f} ± {gain[1]:.0f} |"
        )
    return found


HEAD = (
    "| strategy | hosts | speed-up | true fitness of what it recommends | against one host |\n"
    "|---|--:|--:|--:|--:|"
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    parser.add_argument("--trials", type=int, default=400)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--strategy", nargs="+", default=["random", "genetic"])
    asked = parser.parse_args(arguments)
    print(HEAD)
    for strategy in asked.strategy:
        for row in rows(strategy, asked.hosts, asked.trials, asked.seeds):
            print(row, flush=True)


if __name__ == "__main__":
    main()
