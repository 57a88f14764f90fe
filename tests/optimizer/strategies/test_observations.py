"""What a search over the cube is told of the history."""

import pytest

from optimizer.evaluation.evaluation import Evaluation
from optimizer.objective.objective import Limit, Objective, Term
from optimizer.strategies.strategy import (
    Axis,
    Observations,
    axes_of,
    chosen_of,
    observations_of,
    point_of,
)
from optimizer.trials.problem import Problem
from optimizer.trials.trial import History, Purpose, Trial
from sampler.bench.outcome import TrialState
from tests.support.optimizer.pretend_bench import bowl, flat, problem_of, trial_of

WAF = Objective("waf", (Term("waf", "min"),), (Limit("sa", at_most=2.0),))


def problem(**more: object) -> Problem:
    return problem_of("nsga2", objective=WAF, **more)


def baselines(problem: Problem) -> list[Trial]:
    configuration = problem.space.default_configuration()
    return [
        trial_of(n, flat({}), configuration=configuration, purpose=Purpose.BASELINE)
        for n in (1, 2)
    ]


def told(problem: Problem, *trials: Trial) -> Observations:
    return observations_of(
        Evaluation(problem, History([*baselines(problem), *trials])), axes_of(problem)
    )


def candidate(problem: Problem, number: int, waf: float | None, **more: object) -> Trial:
    point = {axis.name: number / 100 for axis in axes_of(problem)}
    metrics = {} if waf is None else flat({}) | {"waf": waf, "sa": more.pop("sa", 1.2)}
    return trial_of(
        number, metrics, configuration=problem.configuration(point), point=point, **more
    )


class TestValues:
    def test_are_the_fitness(self):
        mine = problem()
        observations = told(mine, candidate(mine, 3, 2.4), candidate(mine, 4, 3.3))
        assert [each.fitness for each in observations.ended] == pytest.approx([200.0, -100.0])
        assert [each.gains for each in observations.ended] == [
            pytest.approx((200.0,)), pytest.approx((-100.0,)),
        ]  # fmt: skip
        assert [each.point["x"] for each in observations.ended] == [0.03, 0.04]

    @pytest.mark.parametrize(
        "state", [TrialState.FAILED, TrialState.CENSORED, TrialState.TIMED_OUT]
    )
    def test_of_what_was_not_measured_whole_are_the_worst_seen(self, state: TrialState):
        mine = problem()
        bad = candidate(mine, 5, None, state=state)
        observations = told(mine, candidate(mine, 3, 2.4), candidate(mine, 4, 3.3), bad)
        last = observations.ended[-1]
        assert (last.fitness, last.gains, last.admissible) == (pytest.approx(-100.0), None, False)
        alone = told(mine, bad)  # of which the baseline's is the worst
        assert (alone.ended[0].fitness, alone.worst) == (0.0, 0.0)

    def test_of_a_broken_limit_are_the_worst_seen_with_their_terms(self):
        mine = problem()
        broken = candidate(mine, 4, 1.5, sa=2.1)
        observations = told(mine, candidate(mine, 3, 2.4), broken)
        last = observations.ended[-1]
        assert (last.fitness, last.admissible) == (pytest.approx(200.0), False)
        assert last.gains == pytest.approx((500.0,))


class TestTrials:
    def test_in_flight_and_lost_are_no_lessons_yet(self):
        mine = problem()
        running = candidate(mine, 3, None, state=TrialState.RUNNING)
        lost = candidate(mine, 4, None, state=TrialState.LOST)
        observations = told(mine, running, lost)
        assert observations.ended == ()
        assert [point["x"] for point in observations.running] == [0.03, 0.04]

    def given(self, problem: Problem, **values: object) -> Trial:
        configuration = problem.space.default_configuration() | values
        return trial_of(3, bowl(configuration), configuration=configuration, given=True)

    def test_that_were_given_teach_at_their_point(self):
        mine = problem()
        (observation,) = told(mine, self.given(mine, y=100, sync=True)).ended
        assert mine.configuration(observation.point)["y"] == 100
        assert mine.configuration(observation.point)["sync"] is True

    def test_that_were_given_teach_a_narrower_search_if_the_rest_is_the_baselines(self):
        narrow = problem(over=("y",))
        (observation,) = told(narrow, self.given(narrow, y=100)).ended
        assert observation.point.keys() == {"y"}
        assert told(narrow, self.given(narrow, y=100, sync=True)).ended == ()


class TestAxes:
    def test_are_all_that_may_be_searched_in_the_spaces_order(self):
        names = [axis.name for axis in axes_of(problem())]
        assert names == ["x", "y", "codec", "level", "sync", "idle"]
        assert axes_of(problem(over=("codec", "x"))) == (Axis("codec", 3), Axis("x"))

    def test_take_a_choice_there_and_back(self):
        axes = (Axis("x"), Axis("codec", 3), Axis("only", 1))
        point = {"x": 0.7, "codec": 0.9, "only": 0.2}
        assert chosen_of(axes, point) == {"x": 0.7, "codec": 2}
        assert point_of(axes, {"x": 0.7, "codec": 2}) == {"x": 0.7, "codec": 5 / 6, "only": 0.5}
        assert 0.999 < Axis("x").coordinate(1.0) < 1.0  # the end of a range is inside the cube
