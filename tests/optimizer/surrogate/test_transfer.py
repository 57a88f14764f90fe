"""A search that begins with what an earlier job measured."""

import math
from dataclasses import replace
from functools import cache
from statistics import fmean

import numpy as np
import pytest

from optimizer.evaluation.evaluation import Evaluation
from optimizer.objective.objective import Objective, Term
from optimizer.objective.objective_file import load_objective
from optimizer.results.result import warm_starts
from optimizer.run.planning import Budget
from optimizer.strategies.guided import DRAWS_WITH_PRIOR, Guided
from optimizer.surrogate.job_model import surrogate_of
from optimizer.surrogate.training_data import prior_job, teaching
from optimizer.trials.problem import Prior, Problem
from optimizer.trials.trial import History, Phase, Purpose
from sampler.space.space import memory_bytes
from sampler.space.space_file import load_space, space_from_document
from tests.support.optimizer.pretend_bench import (
    Job,
    PretendBench,
    bowl,
    candidates,
    configurations,
    explored,
    flat,
    job_of,
    problem_of,
    trial_of,
)
from tests.support.optimizer.two_loads import LARGER

pytestmark = [pytest.mark.usefixtures("quick_ranking", "unranked"), pytest.mark.slow]
BEST = {"x": 0.3, "y": 181, "codec": "fast", "sync": False}
DEFAULT = {"x": 0.9, "y": 2, "codec": "fast", "sync": False}
TRIALS = 44


def fitness(configuration):
    return load_objective("paper").fitness(bowl(configuration), bowl(DEFAULT))


@cache
def earlier(truth=bowl) -> Job:
    job = job_of(problem_of("guided", seed=91), 50, PretendBench(truth, noise=0.03))
    job.run()
    return job


def measured() -> int:
    return len(explored(earlier().log.trials()))


def prior(truth=bowl, *, reverse: bool = False) -> Prior:
    job = earlier(truth)
    taken = prior_job(problem_of("guided"), job.problem, History(job.log.trials()), job=3)
    if reverse:
        trials = tuple(
            replace(t, ratios={name: -value for name, value in t.ratios.items()})
            for t in taken.trials
        )
        taken = replace(taken, trials=trials)
    return Prior((taken,))


def priors(kind: str) -> Prior:
    """What a job begins with: nothing, what agrees, what misleads, or what says nothing."""
    if kind == "cold":
        return Prior()
    return prior(flat if kind == "useless" else bowl, reverse=kind == "misled")


@cache
def ran(kind: str) -> Job:
    problem = replace(problem_of("guided", seed=1), prior=priors(kind))
    job = job_of(problem, TRIALS, PretendBench(noise=0.03))
    job.run()
    return job


def test_with_one_that_agrees_the_first_step_of_the_search_is_near_the_best():
    warm, cold = (candidates(ran(kind).log.trials()) for kind in ("warm", "cold"))
    first = next(place for place, trial in enumerate(warm) if trial.phase is Phase.SEARCH)
    assert first == DRAWS_WITH_PRIOR
    # Six draws alone come to 0.6 here at the first step.
    assert fitness(warm[first].configuration) > 0.9 * fitness(BEST)
    # Without, there are draws for many more runs.
    assert next(i for i, t in enumerate(cold) if t.phase is Phase.SEARCH) > first


@pytest.mark.parametrize("kind", ["misled", "useless"])
def test_one_that_does_not_agree_is_found_out_and_does_no_lasting_harm(kind: str):
    job = ran(kind)
    (row,) = warm_starts(Evaluation(job.problem, History(job.log.trials())))
    assert fmean(row.agreement.values()) < 0.4
    best = max(fitness(trial.configuration) for trial in candidates(job.log.trials()))
    assert best > 0.9 * fitness(BEST)


def test_what_it_made_of_the_earlier_job_is_told():
    job = ran("warm")
    (row,) = warm_starts(Evaluation(job.problem, History(job.log.trials())))
    assert (row.job, row.workload, row.of) == (3, "pretended", measured())
    assert row.trials == 1 + measured()  # the baseline of it, too
    assert fmean(row.agreement.values()) > 0.7
    cold = ran("cold")
    assert warm_starts(Evaluation(cold.problem, History(cold.log.trials()))) == []


@pytest.mark.parametrize(("length", "running"), [(4, False), (20, True)])
def test_a_killed_job_goes_on_as_if_nothing_had_happened(length: int, running: bool):
    job = ran("warm")
    # As it is read back: nothing but what is stored.
    kept = replace(job.problem, prior=Prior.from_document(job.problem.prior.document()))
    again = Job(
        kept, Budget(TRIALS), PretendBench(noise=0.03), job.log.cut(length, running=running)
    )
    again.run()
    assert configurations(again.log.trials()) == configurations(job.log.trials())
    assert [t.point for t in again.log.trials()] == [t.point for t in job.log.trials()]


def test_earlier_trials_are_known_but_cannot_win():
    problem = replace(problem_of("guided"), prior=prior())
    history = History(ran("cold").log.trials()[:12])
    surrogate = surrogate_of(Evaluation(problem, history), problem.searched)
    assert surrogate is not None
    assert len(surrogate.prior.points) == 1 + measured()
    assert len(surrogate.data.points) == 1 + len(teaching(history))
    assert set(Guided().preferred(Evaluation(problem, history))) <= set(teaching(history))


def test_of_much_own_knowledge_less_is_taken_along(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("optimizer.surrogate.job_model._MOST", 30)
    problem = replace(problem_of("guided"), prior=prior())
    history = History(ran("cold").log.trials())
    own = len(teaching(history))
    surrogate = surrogate_of(Evaluation(problem, history), problem.searched)
    assert surrogate is not None
    assert len(surrogate.prior.points) == max(0, 30 - own)


def other_space(problem: Problem) -> Problem:
    """Half of the parameters, and one that the earlier job did not know."""
    document = {
        "name": "other",
        "parameter": [
            {"name": "x", "type": "float", "low": 0.0, "high": 0.5, "default": 0.4},
            {"name": "codec", "type": "cat", "choices": ["fast", "tight", "none"]},
            {"name": "more", "type": "int", "low": 1, "high": 9, "default": 3},
        ],
    }
    return replace(problem, space=space_from_document(document))


def test_a_job_over_other_parameters_teaches_of_those_in_common():
    problem, job = other_space(problem_of("guided")), earlier()
    taken = prior_job(problem, job.problem, History(job.log.trials()), job=1)
    assert all(trial.point.keys() == {"x", "codec", "more"} for trial in taken.trials)
    first = taken.trials[0]  # its baseline, at the end of a range that is shorter here
    assert first.ratios == dict.fromkeys(("waf", "sa", "time", "rate"), 0.0)
    assert problem.configuration(first.point) == {"x": 0.5, "codec": "fast", "more": 3}


def test_what_this_job_could_not_propose_is_left_out():
    job, problem = earlier(), problem_of("guided")
    history, space = History(job.log.trials()), problem.space
    fewer = tuple(
        replace(p, choices=p.choices[:1]) if p.name == "codec" else p for p in space.parameters
    )
    problem = replace(problem, space=replace(space, parameters=fewer))
    fast = [t for t in explored(job.log.trials()) if t.configuration["codec"] == "fast"]
    taken = prior_job(problem, job.problem, history, job=1)
    assert 0 < taken.of == len(fast) < measured()


def test_nor_is_what_needs_more_memory_than_it_has():
    space, mib = load_space("default"), 2**20
    rich = problem_of("random", space=space, memory=1024 * mib, objective="waf")
    job = job_of(rich, 40, PretendBench(flat))
    job.run()
    poor = replace(rich, memory=memory_bytes(space.context))
    taken = prior_job(poor, rich, History(job.log.trials()), job=1)
    held = [memory_bytes(space.complete(t.configuration)) for t in explored(job.log.trials())]
    assert taken.of == sum(each <= poor.memory for each in held) < len(held)


def test_the_most_telling_come_first():
    job = earlier()
    taken = prior_job(problem_of("guided"), job.problem, History(job.log.trials()), job=1, most=5)
    assert len(taken.trials) == 5
    objective = load_objective("paper")
    worth = [
        objective.fitness(
            {name: math.exp(ratio) for name, ratio in trial.ratios.items()},
            dict.fromkeys(trial.ratios, 1.0),
        )
        for trial in taken.trials
    ]
    assert worth[0] == 0.0
    assert int(np.argmax(worth)) == 1


def test_the_best_are_so_beside_the_load_that_they_were_measured_with():
    """Whether or not this job confirms at another load, as the earlier one did."""
    problem = problem_of(objective=Objective("two", (Term("waf", "min"), Term("sa", "min"))))
    default = problem.space.default_configuration()
    confirming = {"purpose": Purpose.PROVE, "phase": Phase.CONFIRM, "subject": 1}
    level, larger = {"waf": 4.0, "sa": 2.0}, {"waf": 40.0, "sa": 2.0}
    history = History(
        [
            trial_of(1, level, configuration=default, purpose=Purpose.BASELINE),
            trial_of(2, level, configuration=default, purpose=Purpose.BASELINE),
            trial_of(3, {"waf": 4.0, "sa": 1.2}, configuration={**default, "x": 0.5}),
            trial_of(4, {"waf": 2.0, "sa": 2.0}, configuration={**default, "x": 0.3}),
            *(trial_of(n, larger, configuration=default, **confirming) for n in range(5, 9)),
        ]
    )
    earlier = replace(problem, confirm=LARGER)
    for present in (problem, earlier):
        taken = prior_job(present, earlier, history, job=1)
        assert taken.trials[1].ratios == pytest.approx({"waf": math.log(0.5), "sa": 0.0})
