"""Whole jobs on the pretended benchmark, and what they conclude."""

from pretend_bench import (
    Job,
    PretendBench,
    job_of,
    problem_of,
)

from optimizer.conclusion import conclude
from optimizer.history import History
from optimizer.planning import plan_of
from optimizer.trial import Purpose


def purposes(job: Job) -> list[Purpose]:
    return [trial.purpose for trial in job.log.trials()]


def run(trials: int = 24, strategy: str = "random", objective="paper", **bench) -> Job:
    job = job_of(problem_of(strategy, objective=objective), trials, PretendBench(**bench))
    job.run()
    return job


def conclude_of(job: Job):
    history = History(job.log.trials())
    return conclude(job.problem, plan_of(job.problem, job.budget, history), history)
