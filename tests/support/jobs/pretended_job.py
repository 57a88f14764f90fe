"""Finished jobs of every kind, measured by a function: no benchmark is run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from jobs.results.outcome import JobOutcome
from optimizer.objective.objective_file import objective_document
from optimizer.results.result import fitness_by_trial, job_result
from optimizer.trials.problem import Problem
from optimizer.trials.trial import Trial
from sampler.common.documents import parse_toml
from sampler.rocksdb.option_values import write_values
from sampler.rocksdb.options_file import OptionsFile, format_options
from sampler.space.space import Space
from sampler.space.space_file import load_space, space_text
from sampler.workload.workload import Workload
from tests.support.models.quick_ranking import no_ranking
from tests.support.optimizer.pretend_bench import PretendBench, job_of, problem_of
from tests.support.optimizer.pretend_hosts import PretendHosts, tuned

MIB = 2.0**20
HOSTILE = "</script><script>alert(1)</script><!-- <b>'\"& \x00\x1b[31m\u2028 end"
ENVIRONMENT = {
    "host": "bench-1", "cpu": "a processor", "cores": 2, "memory_bytes": 24 * 2**30,
    "disk": "/dev/vda", "file_system": "ext4", "kernel": "6.1", "rocksdb": "7.8.3",
    "warnings": ["db_bench was built with assertions: its times are too long"],
}  # fmt: skip


def lsm(configuration: Mapping[str, Any]) -> dict[str, float]:
    """Roughly as a load answers: a few options matter, most do not."""
    trigger = configuration["level0_file_num_compaction_trigger"]
    buffers = configuration["write_buffer_size"] * configuration["max_write_buffer_number"]
    packed = {"none": 0.35, "snappy": 0.0, "lz4": 0.02}
    codec = packed.get(configuration["compression_type"], -0.12)
    waf = 2.4 * (1 + codec) * (1 - 0.12 * math.log2(trigger / 4))
    time = 1.3 * (1 - 0.05 * math.log2(trigger / 4) - codec / 3)
    return {
        "waf": max(waf, 0.5),
        "sa": 0.62 * (1 + codec),
        "time": max(time, 0.2),
        "rate": 1e5 / max(time, 0.2),
        "memory": float(buffers),
        "write_p99": 14.0 * (1 + codec),
    }


def document_of(problem: Problem, space: Mapping[str, Any], trials: int) -> dict[str, Any]:
    """The specification's document, as a stored job holds it."""
    return {
        "workload": {"name": "load-quick", "help": "a load", "settle": "wait", "scale": 64},
        "space": dict(space),
        "objective": objective_document(problem.objective),
        "strategy": problem.strategy,
        "baseline": None,
        "baseline_options": None,
        "trials": trials,
        "minutes": None,
        "memory": problem.memory,
        "scale": None,
        "seed": problem.seed,
        "search": problem.search.model_dump(),
    }


def finished_job(
    trials: int = 60,
    *,
    bench: PretendBench | None = None,
    hosts: PretendHosts | None = None,
    space: Space | None = None,
    space_document: Mapping[str, Any] | None = None,
    confirm: Workload | None = None,
    **problem: Any,
) -> JobOutcome:
    """A whole job: every phase, and what comes of it."""
    document = space_document or parse_toml(space_text("default"), field="space")
    asked = problem_of(
        problem.pop("strategy", "genetic"), space=space or load_space("default"), **problem
    )
    asked = replace(asked, confirm=confirm)
    bench = bench or PretendBench(
        lsm,
        noise={"waf": 0.02, "time": 0.06, "rate": 0.06, "write_p99": 0.1, "sa": 0.005},
        drift=lambda seconds: 1 + 0.1 * math.sin(seconds / 60),
    )
    with no_ranking():  # made again for the result
        conclusion = tuned(asked, trials, hosts) if hosts else job_of(asked, trials, bench).run()
    result = job_result(
        conclusion, job=document_of(asked, document, trials), environment=ENVIRONMENT
    ).document()
    options = None
    if result["best"]:
        values = asked.space.complete(result["best"]["configuration"])
        file = write_values(OptionsFile(), values, asked.space.known.values(), scale=1)
        options = format_options(file, rocksdb_version="7.8.3")
    return JobOutcome(result, options, fitness_by_trial(conclusion), tuple(conclusion.history))


def failing(finished: JobOutcome, failure: str, *, every: int = 9) -> JobOutcome:
    """The same job with its every so many-th trial failed."""
    from sampler.bench.outcome import TrialState

    def broken(trial: Trial) -> Trial:
        if trial.number % every or trial.is_baseline:
            return trial
        return replace(trial, state=TrialState.FAILED, failure=failure, metrics={})

    trials = tuple(map(broken, finished.trials))
    known = {t.number: finished.fitness[t.number] for t in trials if t.done}
    return replace(finished, trials=trials, fitness=known)
