"""Starting points: fit for the space, within its memory, and measured first."""

from dataclasses import replace

import numpy as np
import pytest

from optimizer.budget.budget import divide
from optimizer.evaluation.evaluation import Evaluation
from optimizer.strategies.strategy import next_start
from optimizer.trials.problem import StartingPoint, starting_point
from optimizer.trials.trial import History, Phase, Trial
from sampler.space.latent import decode, draw
from sampler.space.space import default_values, memory_bytes
from sampler.space.space_file import SHIPPED, load_space
from sampler.space.starting_points import Room, classes_of, known_points
from tests.support.optimizer.pretend_bench import (
    PretendBench,
    bowl,
    candidates,
    flat,
    job_of,
    problem_of,
)

pytestmark = pytest.mark.usefixtures("quick_ranking", "unranked")
MIB = 2**20


def placed(name: str, *, space: str = "default", memory: int | None = None, **search: object):
    found = load_space(space)
    budget = memory_bytes(found.context) if memory is None and found.memory_budget else memory
    problem = problem_of("guided", space=found, memory=budget, **search)
    room = Room(8, (budget or 136 * MIB) - 8 * MIB)
    return problem, starting_point(problem, name, known_points()[name].values_in(room))


@pytest.mark.parametrize("space", [name for name in SHIPPED if name != "warlo"])  # of a command
@pytest.mark.parametrize("name", list(known_points()))
def test_every_point_fits_every_space(name: str, space: str):
    problem, start = placed(name, space=space)
    if start is None:
        own = name.startswith("samsung-baseline") and space.startswith("samsung")
        assert name == "library" or own  # what it is there is the baseline
        return
    found = problem.configuration(start.point)
    assert problem.affords(found)
    assert decode(problem.space, start.point, memory=problem.memory) == found
    for parameter, value in found.items():
        known = problem.space.by_name.get(parameter)
        if known is not None and known.is_numeric and value not in known.special:
            least = known.low or 0
            assert known.multiple_of or least <= float(value)


def test_benchmark_sh_within_the_memory_of_the_default():
    problem, start = placed("benchmark.sh")
    found = problem.configuration(start.point)
    assert (found["max_write_buffer_number"], found["write_buffer_size"]) == (2, 64 * MIB)
    assert (found["compression_type"], found["num_levels"]) == ("zstd", 8)
    assert (found["level0_stop_writes_trigger"], found["bloom_bits"]) == (30, 10)
    assert found["max_bytes_for_level_base"] == 1024 * MIB
    assert "write_buffer_size 64 MiB instead of 128 MiB" in start.changed
    assert "max_write_buffer_number 2 instead of 8" in start.changed
    assert len(start.changed) == 2


def test_with_more_memory_the_point_is_as_it_is():
    problem, start = placed("benchmark.sh", memory=2048 * MIB)
    found = problem.configuration(start.point)
    assert {n: found[n] for n in known_points()["benchmark.sh"].values if n in found} == {
        n: v for n, v in known_points()["benchmark.sh"].values.items() if n in found
    }
    assert start.changed == ()


def test_fewer_memtables_come_before_smaller_ones():
    problem, start = placed("benchmark.sh", memory=(3 * 128 + 8) * MIB)
    found = problem.configuration(start.point)
    assert (found["max_write_buffer_number"], found["write_buffer_size"]) == (3, 128 * MIB)


def test_only_what_is_searched_moves():
    problem, start = placed("benchmark.sh", over=("bloom_bits", "compression_type"))
    assert start is not None and start.point.keys() == {"bloom_bits", "compression_type"}
    default = problem.space.default_configuration()
    found = problem.configuration(start.point)
    assert {n for n in found if found[n] != default[n]} == {"bloom_bits", "compression_type"}


def test_a_choice_that_the_space_lacks_stays_at_the_baseline():
    space = load_space("default")
    names = [replace(p, choices=p.choices[:2]) if p.name == "compression_type" else p
             for p in space.parameters]  # fmt: skip
    problem = problem_of("guided", space=replace(space, parameters=tuple(names)))
    start = starting_point(problem, "a", {"compression_type": "zstd", "bloom_bits": 10})
    assert problem.configuration(start.point)["compression_type"] == "snappy"


def test_the_baseline_is_no_starting_point():
    assert placed("library")[1] is None
    problem = problem_of("guided")  # whose space has none of these options
    assert starting_point(problem, "a", known_points()["benchmark.sh"].values) is None
    space = load_space("default").at_baseline(default_values("db_bench"))
    other = problem_of("guided", space=space)
    assert starting_point(other, "library", default_values("library")) is not None


def started(*xs: float, strategy: str = "guided", trials: int = 24):
    names = ("x", "y", "codec", "level", "sync", "idle")
    points = [dict.fromkeys(names, 0.5) | {"x": x} for x in xs]
    starts = tuple(StartingPoint(f"p{i}", point) for i, point in enumerate(points, start=1))
    problem = replace(problem_of(strategy), starts=starts)
    job = job_of(problem, trials, PretendBench(bowl, noise=0.01))
    job.run()
    return job


@pytest.mark.parametrize("strategy", ["guided", "genetic", "lhs"])
def test_they_are_measured_right_after_the_baseline(strategy: str):
    found = candidates(started(0.1, 0.2, strategy=strategy).log.trials())
    assert [t.why for t in found[:2]] == ["starting point p1", "starting point p2"]
    assert [t.configuration["x"] for t in found[:2]] == [0.1, 0.2]
    assert not any(t.why.startswith("starting point") for t in found[2:])
    new = [t for t in found if t.subject is None]  # the others are measured again on purpose
    assert len({t.digest for t in new}) == len(new)
    assert len(found) >= divide(24, starts=True).explore


def test_the_same_place_twice_is_measured_once():
    found = candidates(started(0.1, 0.1).log.trials())
    assert [t.why.startswith("starting point") for t in found[:2]] == [True, False]


def test_at_most_a_half_of_what_is_explored_is_theirs():
    explore = divide(12).explore
    found = candidates(started(*[i / 50 for i in range(20)], trials=12).log.trials())
    assert sum(t.why.startswith("starting point") for t in found) == max(1, explore // 2)


def test_a_search_that_has_begun_goes_on():
    job = started(0.1, 0.2, trials=40)
    problem, trials = job.problem, job.log.trials()
    searched = next(t for t in trials if t.phase is Phase.SEARCH)
    late = replace(problem, starts=(StartingPoint("late", {**searched.point, "x": 0.77}),))
    assert next_start(Evaluation(late, History(trials[:4])), 20) is not None
    assert next_start(Evaluation(late, History(trials)), 20) is None


def test_why_names_what_had_to_change():
    problem = replace(problem_of("random"), starts=(
        StartingPoint("p", {"x": 0.1}, tuple(f"o{i} 1 instead of 2" for i in range(8))),
    ))  # fmt: skip
    job = job_of(problem, 12, PretendBench(flat))
    job.run()
    why = candidates(job.log.trials())[0].why
    assert why.startswith(
        "starting point p, fitted to the space and its memory: o0 1 instead of 2, "
    )
    assert why.endswith("o5 1 instead of 2, 2 more")


def test_the_usual_ones_have_a_source():
    for name, point in known_points().items():
        assert point.usual is bool(classes_of(name))
        assert len(point.source) > 20
        assert point.values


def drawn_points(job) -> list[dict[str, float]]:
    found = [t for t in candidates(job.log.trials()) if t.phase is Phase.SAMPLE and not t.is_start]
    return [dict(trial.point) for trial in found]


def coordinates(points: list[dict[str, float]]) -> np.ndarray:
    return np.array([list(point.values()) for point in points])


@pytest.mark.parametrize("starts", [0, 1, 2])
def test_a_latin_hypercube_stays_one_beside_starting_points(starts: int):
    """In each coordinate exactly one point in each of as many equal parts as there are draws."""
    job = started(*[0.1, 0.2][:starts], strategy="lhs", trials=30)
    found = coordinates(drawn_points(job))
    sampled = [t for t in candidates(job.log.trials()) if t.phase is Phase.SAMPLE]
    assert len(found) + starts == len(sampled)
    parts = np.sort((found * len(found)).astype(int), axis=0)
    assert (parts == np.arange(len(found))[:, None]).all()


@pytest.mark.parametrize("strategy", ["sobol", "guided"])
def test_a_sobol_design_begins_with_its_first_point(strategy: str):
    job = started(0.1, 0.2, strategy=strategy, trials=30)
    points = drawn_points(job)
    # Forest draws what it searches: all but the workload's factors.
    found, names = coordinates(points), list(points[0])
    expected = [
        draw("sobol", index, n=len(found), dimensions=len(names), seed=job.problem.seed)
        for index in range(len(found))
    ]
    same = (found == np.array(expected)).all(axis=1)
    # What was drawn twice, for few values are different, is a random draw instead.
    assert same[:4].all() and same.mean() > 0.8


def test_they_are_told_from_draws_by_the_history():
    trials: list[Trial] = started(0.1, 0.2, strategy="genetic", trials=30).log.trials()
    history = History(trials)
    sampled = [t for t in candidates(trials) if t.phase is Phase.SAMPLE]
    assert [t.is_start for t in sampled] == [True, True] + [False] * (len(sampled) - 2)
    assert list(history.drawn) == [t.number for t in sampled[2:]]
    # By what they are, not by their words; trials of earlier versions have no more than these.
    for change in ({"why": "chosen by hand"}, {"basis": None}):
        assert [replace(t, **change).is_start for t in sampled] == [t.is_start for t in sampled]
    given = replace(sampled[-1], number=1000, given=True)
    history.put(given)
    history.put(replace(sampled[-1], attempt=2))
    assert list(history.drawn) == [t.number for t in sampled[2:]]
