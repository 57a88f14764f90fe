"""The strategy `guided`: what its models make of a history."""

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from optimizer.budget.budget import divide
from optimizer.confirmation.choice import candidates_of
from optimizer.evaluation.evaluation import Evaluation
from optimizer.objective.objective import Limit
from optimizer.objective.objective_file import load_objective
from optimizer.strategies.guided import Guided
from optimizer.strategies.registry import find_strategy
from optimizer.surrogate.job_model import surrogate_of
from optimizer.surrogate.training_data import chosen_few
from optimizer.trials.trial import History, Phase, Purpose, Trial
from sampler.bench.outcome import TrialState
from tests.support.optimizer.pretend_bench import (
    PretendBench,
    bowl,
    candidates,
    job_of,
    problem_of,
)

pytestmark = [pytest.mark.usefixtures("quick_ranking", "unranked"), pytest.mark.slow]
TRIALS = 60


@cache
def ran(strategy: str, **more: object) -> list[Trial]:
    job = job_of(problem_of(strategy, **more), TRIALS, PretendBench(noise=0.02))
    job.run()
    return list(job.log.trials())


def true_fitness(trial: Trial) -> float:
    objective, default = (
        load_objective("paper"),
        {"x": 0.9, "y": 2, "codec": "fast", "sync": False},
    )
    found = objective.fitness(bowl(trial.configuration), bowl(default))
    assert found is not None
    return found


def test_it_comes_far_nearer_to_the_best_than_draws():
    optimum = {"x": 0.3, "y": 181, "codec": "fast", "sync": False}
    highest = true_fitness(replace(candidates(ran("random"))[0], configuration=optimum))

    def missed(strategy: str) -> float:
        best = [max(map(true_fitness, candidates(ran(strategy, seed=s)))) for s in (1, 2, 3)]
        return highest - float(np.median(best))

    assert missed("guided") < 0.4 * missed("random")


def test_what_it_prefers_is_truly_good_whatever_was_lucky():
    trials = ran("guided")
    problem, history = problem_of("guided"), History(trials)
    drawn = [trial for trial in candidates(trials) if trial.phase is Phase.SAMPLE]
    unlucky = min(drawn, key=true_fitness)
    lucky = {name: value * 0.5 for name, value in max(drawn, key=true_fitness).metrics.items()}
    lucky["rate"] = 2 * unlucky.metrics["rate"]
    history.put(replace(unlucky, metrics=lucky))
    ((_, first), *_) = Evaluation(problem, history).best_first(history.of(Purpose.CANDIDATE))
    assert first.number == unlucky.number
    preferred = Guided().preferred(Evaluation(problem, history))
    assert true_fitness(history[preferred[0]]) > true_fitness(unlucky)
    # Both are measured again before one of them is called the winner.
    again = candidates_of(Evaluation(problem, history), divide(TRIALS))
    assert again[0] == preferred[0] and unlucky.number in again


def test_a_proposal_says_what_it_moves_and_from_where():
    problem, trials = problem_of("guided"), ran("guided")
    start, known = problem.space.start, {trial.number: trial for trial in trials}
    told = [trial for trial in trials if trial.phase is Phase.SEARCH and "; changes " in trial.why]
    assert len(told) > 10
    origins = set()
    for trial in told:
        form = r"; changes (.+) of (the baseline|trial (\d+)); (\d+) parameters differ from the "
        found = re.search(form, trial.why)
        assert found is not None
        said, origin, number, count = found.groups()
        at = {**start, **known[int(number)].configuration} if number else start
        moved = {n for n, value in trial.configuration.items() if value != at[n]}
        *listed, more = re.split(" and (?=\\d+ more)", said + " and 0 more")[:2]
        names = listed[0].split(", ")
        assert set(names) <= moved
        assert len(names) + int(more.split()[0]) == len(moved)
        assert int(count) == sum(v != start[n] for n, v in trial.configuration.items())
        origins.add(origin)
    assert len(origins) > 1


def test_trials_in_flight_send_the_next_elsewhere():
    problem, trials = problem_of("guided"), ran("guided")
    seen = [trial for trial in trials if trial.number < candidates(trials)[-1].number]
    history = History(seen)
    number = history.next_number
    first = find_strategy("guided").propose(
        Evaluation(problem, history), number=number, explore=TRIALS
    )
    assert first is not None
    flying = replace(
        trials[number - 1],
        configuration=first.configuration,
        point=first.point,
        state=TrialState.RUNNING,
        metrics={},
    )
    names = problem.searched
    points = np.array([[first.point[name] for name in names]])
    alone = surrogate_of(Evaluation(problem, history), names)
    history.put(flying)
    beside = surrogate_of(Evaluation(problem, history), names)
    assert alone is not None and beside is not None
    for metric in ("waf", "time"):
        (mean, doubt), (again, less) = (
            (float(a[0]), float(b[0]))
            for a, b in (alone.predict(points)[metric], beside.predict(points)[metric])
        )
        assert less < doubt
        assert again == pytest.approx(mean, abs=doubt)


def test_the_models_keep_to_a_limit():
    """The best by far is slow to write; with a limit on it the search stays away."""

    def costly(configuration: dict[str, float]) -> dict[str, float]:
        return bowl(configuration) | {"write_p99": 100 * (1.5 - configuration["x"])}

    objective = load_objective("paper")
    limited = replace(objective, limits=(Limit("write_p99", at_most_baseline=1.5),))
    job = job_of(problem_of("guided", objective=limited), TRIALS, PretendBench(costly, noise=0.01))
    job.run()
    searched = [t for t in job.log.trials() if t.phase is Phase.SEARCH]
    kept = [t for t in searched if t.metrics["write_p99"] <= 1.02 * 90]
    assert len(kept) > 0.6 * len(searched)
    # The optimum is at 0.3, the limit at 0.6, and the default at 0.9.
    assert min(float(t.configuration["x"]) for t in kept) < 0.7


def test_of_many_trials_the_best_and_others_all_over_teach():
    numbers = list(range(1, 1001))
    few = chosen_few(numbers, {number: float(number % 500) for number in numbers}, 300)
    assert len(few) == len(set(few)) == 300
    assert few == sorted(few)
    best = sorted(numbers, key=lambda n: (-(n % 500), n))[:150]
    assert set(best) <= set(few)
    assert chosen_few(numbers[:300], {}, 300) == numbers[:300]


def test_only_what_is_asked_for_moves():
    problem = problem_of("guided", over=("x", "codec"))
    assert problem.searched == ("x", "codec")
    proposal = Guided().propose(Evaluation(problem, History()), number=4, explore=30)
    assert proposal is not None
    assert proposal.point.keys() == {"x", "codec"}
