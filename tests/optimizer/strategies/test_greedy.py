"""Strategy greedy: one parameter after the other, the best value of each is kept."""

import math
import random
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizer.budget.budget import divide
from optimizer.evaluation.evaluation import Evaluation
from optimizer.results.search import contributions_of
from optimizer.run.planning import Budget
from optimizer.strategies.greedy import Greedy, probes_of
from optimizer.strategies.registry import find_strategy
from optimizer.trials.problem import StartingPoint
from optimizer.trials.trial import History, Phase, Purpose, Trial
from sampler.space.latent import encode
from sampler.space.space import digest, memory_bytes
from sampler.space.space_file import load_space, space_from_document
from tests.support.optimizer.pretend_bench import (
    Job,
    PretendBench,
    bowl,
    candidates,
    configurations,
    flat,
    job_of,
    problem_of,
    small_space,
)
from tests.support.optimizer.strategy_contract import end, measured

pytestmark = pytest.mark.usefixtures("quick_ranking", "unranked")
TRIALS = 60
EXPLORE = divide(TRIALS).explore
# By hand: x of 0, 0.25, 0.5, 0.75, 1 is best at 0.25; y, on a log scale 1 to 4096, at 64 of 1, 8,
# 64, 512, 4096; no codec beats the first, so level does nothing; sync costs; idle is idle.
BEST = {"x": 0.25, "y": 64, "codec": "fast", "sync": False, "idle": 5.0}


def job(bench: PretendBench | None = None, trials: int = TRIALS, **more) -> Job:
    return job_of(problem_of("greedy", **more), trials, bench)


def swept(trials) -> list[str]:
    """The parameters that the search turned to, in order."""
    return list(dict.fromkeys(trial.why.split(":")[0] for trial in candidates(trials)))


def document(done: Job, explore: int = EXPLORE) -> dict:
    history = History(done.log.trials())
    found = contributions_of(
        Evaluation(done.problem, history), find_strategy("greedy"), explore
    ).document()
    assert found is not None
    return found


def test_a_way_back_to_the_baseline_is_known_from_its_own_runs():
    """One parameter alone helps: the second pass asks for the baseline, which is known."""

    def synced(configuration):
        return flat(configuration) | {"waf": 2.0 if configuration["sync"] else 3.0}

    done = job(PretendBench(synced))
    conclusion = done.run()
    winner = conclusion.history[conclusion.winner].configuration
    assert winner["sync"] and winner["codec"] == "fast"
    default = done.problem.space.default_configuration()
    assert digest(default) not in {trial.digest for trial in candidates(done.log.trials())}
    assert any("pass 2" in trial.why for trial in candidates(done.log.trials()))


def test_each_parameter_is_varied_around_the_best_so_far():
    done = job()
    conclusion = done.run()
    found = [t for t in candidates(done.log.trials()) if "pass 1" in t.why]
    assert swept(found)[:4] == ["pass 1, x", "pass 1, y", "pass 1, codec", "pass 1, sync"]
    first = [trial.configuration for trial in found[:5]]
    assert [c["x"] for c in first] == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert {(c["y"], c["codec"], c["sync"], c["idle"]) for c in first} == {(2, "fast", False, 5.0)}
    assert [t.configuration["y"] for t in found[5:10]] == [1, 8, 64, 512, 4096]
    assert {t.configuration["x"] for t in found if "pass 1, x" not in t.why} == {0.25}
    assert dict(conclusion.history[conclusion.winner].configuration) == BEST
    assert all(trial.phase is Phase.SEARCH for trial in found)


def test_a_parameter_that_does_nothing_is_passed_over():
    done = _done(TRIALS)
    assert not any("level" in trial.why for trial in candidates(done.log.trials()))
    assert document(done)["idle"] == ["level"]


def test_it_ends_when_a_pass_keeps_nothing():
    done = _done(400)
    course = Greedy().sweep_progress(Evaluation(done.problem, History(done.log.trials())), 400)
    assert course.parameter is None
    assert {sweep.number for sweep in course.sweeps} == {1, 2}
    # idle = 5 is one of its own values. In pass 2 only those of x are new: beside the y that was
    # kept after them.
    assert len(candidates(done.log.trials())) == 5 + 5 + 2 + 1 + 4 + 4


def test_a_second_pass_mends_what_was_chosen_too_early():
    """y is worth something only beside the right x, which comes after it."""

    def bound(configuration):
        far = abs(configuration["x"] - (1.0 if configuration["y"] == 1 else 0.0))
        return flat(configuration) | {"waf": 3.0 + far + 0.5 * (configuration["y"] == 4096)}

    for stop_early, last in ((False, "pass 2, y"), (True, "pass 1, x")):
        done = job(
            PretendBench(bound), 200, objective="waf", over=("y", "x"), stop_early=stop_early
        )
        done.run()
        turns = swept(done.log.trials())
        assert turns[:2] == ["pass 1, y", "pass 1, x"]
        assert last in turns and (not stop_early or len(turns) == 2)


def test_named_parameters_are_swept_in_the_order_in_which_they_are_named():
    done = job(over=("sync", "x"), trials=24)
    done.run()
    assert swept(done.log.trials())[:2] == ["pass 1, sync", "pass 1, x"]
    assert {trial.configuration["y"] for trial in candidates(done.log.trials())} == {2}
    assert all(t.point.keys() == {"sync", "x"} for t in candidates(done.log.trials()))


@pytest.mark.parametrize("fails", [False, True])
def test_nothing_is_kept_where_nothing_is_better_or_all_fails(fails: bool):
    def failing(trial: Trial) -> str | None:
        return "no" if fails and trial.purpose is Purpose.CANDIDATE else None

    done = job(PretendBench(flat, fails=failing))
    conclusion = done.run()
    assert document(done)["steps"] == []
    assert conclusion.verdict is None or not conclusion.verdict.confirmed
    assert {sweep.kept for sweep in _course(done).sweeps} == {None}


def test_a_value_that_fails_or_breaks_a_limit_is_never_kept():
    def fails(trial: Trial) -> str | None:
        return "no" if trial.configuration["x"] == 0.25 else None

    done = job(PretendBench(fails=fails))
    done.run()
    kept = done.log.kept[_course(done).sweeps[0].kept]
    assert kept.configuration["x"] == 0.5  # the next best


def _course(done: Job, explore: int = EXPLORE):
    return Greedy().sweep_progress(Evaluation(done.problem, History(done.log.trials())), explore)


def noisy() -> PretendBench:
    return PretendBench(
        noise=0.05, drift=lambda seconds: 1 + seconds / 2000, lost={9},
        fails=lambda trial: "no" if trial.number == 12 else None,
    )  # fmt: skip


@pytest.mark.slow
def test_a_killed_job_goes_on_as_if_nothing_had_happened():
    done = job(noisy())
    done.run()
    for length in (3, 19, 36):
        again = Job(done.problem, done.budget, noisy(), done.log.cut(length, running=length % 2))
        again.run()
        assert configurations(again.log.trials()) == configurations(done.log.trials())


@pytest.mark.slow
def test_what_was_kept_stays_kept_whatever_the_baseline_shows_later():
    """The clocks drift, so each run of the baseline corrects those of the sweeps before it."""
    bench = PretendBench(noise=0.15, drift=lambda seconds: 1 + 0.5 * math.sin(seconds / 150))
    done = job(bench, objective="rate", trials=120)
    done.run()
    trials = [t for t in done.log.trials() if t.purpose in (Purpose.BASELINE, Purpose.CANDIDATE)]
    whole = Greedy().sweep_progress(Evaluation(done.problem, History(trials)), 120)
    varied, incumbent = {}, whole.first
    for sweep in whole.sweeps:  # around which trial each sweep was, as the whole history says
        varied[sweep.parameter, sweep.number] = incumbent
        incumbent = sweep.kept or incumbent
    assert len(varied) >= 15
    for place, trial in enumerate(trials):
        if trial.purpose is Purpose.CANDIDATE:
            then = Greedy().sweep_progress(Evaluation(done.problem, History(trials[:place])), 120)
            known = varied.get((then.parameter, then.number), whole.incumbent)
            assert then.incumbent == known, trial.why


def test_values_of_one_parameter_run_side_by_side_and_the_next_waits_for_them():
    problem = problem_of("greedy")
    history = History(_done(TRIALS).log.trials()[:3])  # the baseline alone
    strategy, running = find_strategy("greedy"), []
    while True:
        proposal = strategy.propose(
            Evaluation(problem, history), number=history.next_number, explore=EXPLORE
        )
        if proposal is None:
            break
        running.append(measured(history, proposal, problem))
        history.put(running[-1])
    assert [trial.configuration["x"] for trial in running] == [0.0, 0.25, 0.5, 0.75, 1.0]
    for trial in running[:-1]:
        history.put(end(trial))
        assert strategy.propose(Evaluation(problem, history), number=99, explore=EXPLORE) is None
    history.put(end(running[-1]))
    then = strategy.propose(Evaluation(problem, history), number=99, explore=EXPLORE)
    assert then.configuration["x"] == 0.25 and then.configuration["y"] != 2


def test_a_budget_smaller_than_the_table_says_what_was_left():
    found = document(_done(24), divide(24).explore)
    assert found["swept"] == ["x", "y"]
    assert found["left"] == ["codec", "level", "sync", "idle"]
    assert "not varied: codec, level, sync, idle" in found["why"]
    whole = document(_done(400), 400)
    assert whole["left"] == []
    assert whole["why"] == "all 6 parameters were varied; pass 2 found nothing better"


@cache
def _done(trials: int) -> Job:
    done = job(trials=trials)
    done.run()
    return done


def test_contributions_add_up_to_what_was_gained():
    done = _done(400)
    found = document(done, 400)
    steps = found["steps"]
    assert [step["parameter"] for step in steps] == ["x", "y"]
    assert [(step["from"], step["to"]) for step in steps] == [(0.9, 0.25), (2, 64)]
    assert sum(step["gain"] for step in steps) == pytest.approx(found["fitness"])
    assert sum(row["share"] for row in found["parameters"]) == pytest.approx(100)
    gains = [row["gain"] for row in found["parameters"]]
    assert gains == sorted(gains, reverse=True) and gains[0] > 0
    before, after = bowl(done.problem.space.default_configuration()), bowl(BEST)
    both = 1.0
    for row in found["parameters"]:
        both *= 1 + row["change"]["rate"] / 100
    assert both == pytest.approx(after["rate"] / before["rate"])


def test_it_begins_with_the_best_of_the_starting_points():
    space = small_space()
    found = []
    for name, x in (("far", 1.0), ("near", 0.3), ("half", 0.5)):
        point = encode(space, {**space.default_configuration(), "x": x})
        found.append(StartingPoint(name, point))
    problem = problem_of("greedy")
    done = Job(_with(problem, found), Budget(trials=TRIALS))
    done.run()
    trials = candidates(done.log.trials())
    assert [t.phase for t in trials[:4]] == [Phase.SAMPLE] * 3 + [Phase.SEARCH]
    steps = document(done)["steps"]
    assert steps[0]["parameter"] is None and steps[0]["start"] == "near"
    later = [t for t in trials[8:] if "x:" not in t.why]
    assert {t.configuration["x"] for t in later} == {0.3}
    assert sum(step["gain"] for step in steps) == pytest.approx(document(done)["fitness"])


def _with(problem, starts):
    return replace(problem, starts=tuple(starts))


class TestValues:
    def problem(self, name: str = "samsung", **more):
        space = load_space(name)
        memory = memory_bytes(space.context) if space.memory_budget else None
        return problem_of("greedy", space=space, memory=memory, **more)

    def tried(self, name: str, problem=None, **around):
        problem = problem or self.problem()
        held = {**problem.space.default_configuration(), **around}
        return [probe.configuration for probe in probes_of(problem, held, name)]

    def test_are_those_of_the_samsung_table(self):
        assert [c["block_size"] for c in self.tried("block_size")] == [2048, 8192, 16384, 32768]
        sizes = [c["write_buffer_size"] // 2**20 for c in self.tried("write_buffer_size")]
        assert sizes == [128, 512, 1024, 2048]  # 256 is the baseline's
        assert [c["level0_stop_writes_trigger"]
                for c in self.tried("level0_stop_writes_trigger")] == [48, 56, 64]  # fmt: skip

    def test_of_a_multiple_are_listed_as_multiples(self):
        row = {"name": "max_compaction_bytes", "sweep": [0, 10, 50]}
        space = space_from_document({"name": "mine", "parameter": [row]})
        found = self.tried("max_compaction_bytes", problem_of("greedy", space=space))
        base = space.start["target_file_size_base"]
        assert [c["max_compaction_bytes"] for c in found] == [10 * base, 50 * base]

    def test_bind_others_as_the_rules_say(self):
        last = self.tried("level0_slowdown_writes_trigger")[-1]
        assert last["level0_slowdown_writes_trigger"] == 48
        assert last["level0_stop_writes_trigger"] == 48  # the baseline's is 46
        assert all(
            c["level0_stop_writes_trigger"] == 46
            for c in self.tried("level0_slowdown_writes_trigger")[:-1]
        )

    def test_are_as_near_as_the_rules_allow(self):
        """80/20 uncompressed in the document: 4 memtables, 3 of them merged, which is no value."""
        found = self.tried("min_write_buffer_number_to_merge", max_write_buffer_number=4)
        assert [c["min_write_buffer_number_to_merge"] for c in found] == [2, 3]

    @given(data=st.data())
    @settings(max_examples=40, deadline=None)
    def test_of_any_parameter_change_it_alone_unless_a_rule_binds_others(self, data):
        names = ["default", "all", "samsung", "paper", "universal", "blob"]
        problem = self.problem(data.draw(st.sampled_from(names)))
        space, rng = problem.space, random.Random(data.draw(st.integers(0, 999)))
        around = problem.configuration({name: rng.random() for name in space.names})
        name = data.draw(st.sampled_from([n for n in around if n in problem.searched]))
        found = probes_of(problem, around, name)
        assert len({probe.digest for probe in found}) == len(found)
        assert len(found) <= max(5, len(space.by_name[name].values))
        for probe in found:
            assert problem.configuration(probe.point) == probe.configuration
            assert probe.configuration != around
            assert problem.affords(probe.configuration)
            stay = [n for n in space.unsearched if n in probe.configuration]
            assert all(probe.configuration[n] == space.context[n] for n in stay)

    def test_what_another_parameter_has_done_to_the_rest_is_not_undone(self):
        problem = self.problem("default")
        around = problem.configuration(dict.fromkeys(problem.space.names, 0.5))
        for probe in probes_of(problem, around, "block_size"):
            differ = {n for n in around if around[n] != probe.configuration[n]}
            assert differ == {"block_size"}


def test_a_space_of_choices_is_swept_whole():
    space = space_from_document(
        {"name": "tiny", "parameter": [
            {"name": "way", "type": "cat", "choices": list("abcdefg")},
            {"name": "on", "type": "bool"},
            {"name": "only", "type": "cat", "choices": ["one"]},
        ]}
    )  # fmt: skip
    done = job(PretendBench(flat), space=space)
    done.run()
    assert len(candidates(done.log.trials())) == 6 + 1
