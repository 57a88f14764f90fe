"""Whole jobs on the pretended benchmark, and what they conclude."""

from functools import cache

from optimizer.evaluation.evaluation import Evaluation
from optimizer.objective.objective import Objective, Term
from optimizer.results.result import conclude
from optimizer.run.planning import plan_of
from optimizer.trials.trial import History, Phase, Purpose, Trial
from tests.support.optimizer.pretend_bench import Job, PretendBench, job_of, problem_of, trial_of


def purposes(job: Job) -> list[Purpose]:
    return [trial.purpose for trial in job.log.trials()]


@cache
def run(trials: int = 24, strategy: str = "random", objective="paper", **bench) -> Job:
    """A finished job, which is not to be changed: one for all tests that ask for the same."""
    job = job_of(problem_of(strategy, objective=objective), trials, PretendBench(**bench))
    job.run()
    return job


def conclude_of(job: Job):
    history = History(job.log.trials())
    return conclude(Evaluation(job.problem, history), plan_of(job.problem, job.budget, history))


TWO_TERMS = Objective("two", (Term("waf", "min"), Term("sa", "min")))


def chosen_from_two() -> list[Trial]:
    """A baseline, two candidates, and each of them measured again; ``TWO_TERMS`` judges."""
    two, three = {"waf": 3.0, "sa": 2.0}, {"waf": 4.0, "sa": 1.6}
    select = {"phase": Phase.CONFIRM, "purpose": Purpose.SELECT}
    return [
        trial_of(1, {"waf": 4.0, "sa": 2.0}, purpose=Purpose.BASELINE),
        trial_of(2, two),
        trial_of(3, three),
        trial_of(4, two, subject=2, **select),
        trial_of(5, three, subject=3, **select),
    ]
