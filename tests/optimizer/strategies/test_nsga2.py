"""NSGA-II: who has children, and what the children are like."""

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer.strategies.registry import LEAST_PARENTS, POPULATION, nsga2, survivors
from optimizer.strategies.strategy import Axis, Observation, Observations
from optimizer.trials.trial import Phase
from tests.support.optimizer.pretend_bench import PretendBench, candidates, job_of, problem_of

AXES = (Axis("x"), Axis("y"), Axis("codec", 3))


def observation(*gains: float, at: float = 0.5, **more: object) -> Observation:
    point = {"x": at, "y": at, "codec": 0.5}
    return Observation(point, sum(gains), gains, **more)


def places(ended: list[Observation]) -> list[float]:
    return sorted(parent[0] for parent in survivors(AXES, ended))


def children(ended: list[Observation], seed: int, count: int = 50) -> list[dict[str, float]]:
    observations = Observations(tuple(ended), ())
    return [dict(p) for p in itertools.islice(nsga2(AXES, observations, seed=seed), count)]


class TestParents:
    def test_are_the_first_front_before_the_second(self):
        front = [observation(i, 19 - i, at=0.1) for i in range(20)]
        dominated = [observation(i - 0.5, 18.5 - i, at=0.9) for i in range(20)]
        assert places([*dominated, *front]) == [0.1] * POPULATION

    def test_are_those_with_room_around_them(self):
        # A front of 30: the ends, and of the crowd in the middle as few as may be.
        crowd = [observation(10 + i / 100, 10 - i / 100, at=0.9) for i in range(12)]
        apart = [observation(i, 20 - i, at=0.1) for i in (*range(9), *range(12, 21))]
        assert places([*crowd, *apart]).count(0.1) == 18

    def test_break_limits_only_to_fill_up(self):
        broken = [observation(100 + i, 100 - i, at=0.9, admissible=False) for i in range(30)]
        kept = [observation(-i, -i, at=0.1) for i in range(5)]
        assert places([*broken, *kept]) == [0.1] * 5 + [0.9] * 15

    def test_that_keep_the_limits_win_against_those_that_do_not(self):
        broken = [observation(100 + i, 100 - i, at=0.9, admissible=False) for i in range(2)]
        kept = [observation(-i, -i, at=0.1) for i in range(2)]
        for one, other in itertools.product(survivors(AXES, kept), survivors(AXES, broken)):
            assert one.fitness.dominates(other.fitness)
            assert not other.fitness.dominates(one.fitness)

    @pytest.mark.parametrize("count", [4, 25, 60])
    def test_are_the_best_where_there_is_one_term(self, count: int):
        ended = [observation(float(i), at=i / 100) for i in range(count)]
        random.Random(1).shuffle(ended)
        best = range(max(0, count - POPULATION), count)
        assert places(ended) == [i / 100 for i in best]

    def test_were_measured_whole(self):
        ended = [observation(1.0, at=0.1)] * 3 + [
            Observation({"x": 0.9, "y": 0.9, "codec": 0.5}, 9.0)
        ]
        assert places(ended) == [0.1] * 3
        assert children(ended, seed=1) == []

    def test_all_alike_are_parents(self):
        assert len(children([observation(1.0, 1.0)] * LEAST_PARENTS, seed=1)) == 50


COORDINATE = st.floats(0, 1, exclude_max=True)


@given(
    points=st.lists(st.tuples(COORDINATE, COORDINATE, COORDINATE), min_size=4, max_size=30),
    seed=st.integers(0, 2**63 - 1),
)
def test_children_lie_in_the_cube_whatever_their_parents(points, seed):
    names = [axis.name for axis in AXES]
    ended = [
        Observation(dict(zip(names, point, strict=True)), 0.0, (point[0], -point[1]))
        for point in points
    ]
    found = children(ended, seed, 5)
    assert len(found) == 5
    assert all(0 <= coordinate < 1 for child in found for coordinate in child.values())
    assert {child["codec"] for child in found} <= {1 / 6, 1 / 2, 5 / 6}


class TestChildren:
    def test_of_equal_parents_differ_in_one_coordinate_in_the_mean(self):
        axes = tuple(Axis(f"a{i}", 40 * (i % 2)) for i in range(20))
        point = {axis.name: axis.coordinate(20 if axis.levels else 0.5) for axis in axes}
        observations = Observations((Observation(point, 1.0, (1.0,)),) * 4, ())
        found = [child for seed in range(40) for child in nsga2(axes, observations, seed=seed)]
        changed = [sum(child[name] != point[name] for name in point) for child in found]
        assert len(found) == 2000
        assert sum(changed) / len(changed) == pytest.approx(1.0, abs=0.1)

    def test_inherit_from_both(self):
        one = [Observation({"x": 0.2, "y": 0.2, "codec": 1 / 6}, 1.0, (1.0, 0.0))] * 2
        two = [Observation({"x": 0.8, "y": 0.8, "codec": 5 / 6}, 1.0, (0.0, 1.0))] * 2
        found = [child for seed in range(20) for child in children(one + two, seed)]
        of_both = [
            c for c in found if {c["x"] > 0.5, c["y"] > 0.5, c["codec"] > 0.5} == {True, False}
        ]
        near = [c for c in found if min(abs(c["x"] - 0.2), abs(c["x"] - 0.8)) < 0.1]
        assert len(of_both) > len(found) / 4
        assert len(near) > len(found) * 0.8

    def test_another_seed_has_others(self):
        ended = [observation(float(i), -float(i), at=i / 10) for i in range(8)]
        assert children(ended, seed=1) != children(ended, seed=2)


@pytest.mark.slow
@pytest.mark.usefixtures("quick_ranking", "unranked", "unsimplified")
def test_the_search_begins_with_a_whole_population():
    job = job_of(problem_of("nsga2"), 96, PretendBench())
    job.run()
    assert len(candidates(job.log.trials(), Phase.SAMPLE)) == POPULATION


def test_children_are_born_without_the_global_generator(monkeypatch):
    """Another thread may be in the middle of its own children."""
    ended = [observation(i, 19 - i, at=i / 20) for i in range(20)]
    expected = children(ended, seed=3)
    for name in ("seed", "setstate", "random", "sample", "choice", "uniform"):
        monkeypatch.setattr(random, name, None)
    assert children(ended, seed=3) == expected
