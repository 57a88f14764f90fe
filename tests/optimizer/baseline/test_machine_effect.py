import json
import math
import tracemalloc
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer.evaluation.baseline import summarise
from optimizer.evaluation.machine_effect import (
    effects_of,
    machine_document,
    machine_effect,
    machine_words,
)
from optimizer.trials.trial import Purpose, Trial
from tests.support.optimizer.pretend_bench import trial_of

SAME = {"x": 1.0}
Metrics = dict[str, float]


@dataclass(frozen=True)
class Machine:
    """One whose others come and go; log time goes with that and with the speed."""

    of_others: float = 0.6
    of_speed: float = -0.5
    noise: float = 0.05
    level: float = 10.0

    def run(self, rng: np.random.Generator) -> Metrics:
        others, speed = float(rng.uniform(0, 0.5)), float(0.1 * rng.normal())
        log = self.of_others * others + self.of_speed * speed + self.noise * rng.normal()
        time = self.level * math.exp(log)
        return {
            "time": time, "rate": 1e6 / time, "waf": 3.0,
            "others_cpu": others, "machine_speed": math.exp(speed),
        }  # fmt: skip

    def runs(self, count: int, seed: int, **more: object) -> list[Trial]:
        rng = np.random.default_rng(seed)
        return baselines([self.run(rng) for _ in range(count)], **more)


def baselines(measured: Sequence[Metrics], **more: object) -> list[Trial]:
    return [
        trial_of(n, metrics, purpose=Purpose.BASELINE, configuration=SAME, **more)
        for n, metrics in enumerate(measured, start=1)
    ]


def scatter_left(machine: Machine, repeats: int, jobs: int = 150) -> float:
    """Scatter of fresh runs, corrected by what the repeats of their job teach, over the raw."""
    raw, left = [], []
    for seed in range(jobs):
        runs = machine.runs(repeats + 30, seed)
        effect = machine_effect(runs[:repeats])
        fresh = [run.metrics for run in runs[repeats:]]
        raw.append(np.var([math.log(each["time"]) for each in fresh]))
        left.append(np.var([math.log(effect.corrected(each)["time"]) for each in fresh]))
    return math.sqrt(np.mean(left) / np.mean(raw))


@pytest.mark.slow
@pytest.mark.parametrize("repeats", [3, 8])
def test_where_the_state_explains_nothing_the_scatter_does_not_grow(repeats):
    assert scatter_left(Machine(0.0, 0.0), repeats, jobs=400) <= 1.01


def test_sixteen_repeats_take_most_of_what_the_state_explains():
    explained = Machine(0.56, 0.0)  # its standard deviation is 0.081: a correlation of 0.85
    assert scatter_left(explained, 16) < 0.65


@pytest.mark.slow
def test_more_repeats_take_more():
    assert scatter_left(Machine(), 16) < scatter_left(Machine(), 6) < 0.9


states = st.floats(0.0, 1.0)
speeds = st.floats(0.2, 5.0)


@given(seed=st.integers(0, 99), others=states, speed=speeds)
def test_a_busier_or_slower_machine_never_makes_a_run_look_worse(seed, others, speed):
    effect = machine_effect(Machine().runs(12, seed))
    here = effect.factors({"others_cpu": others, "machine_speed": speed})
    busier = effect.factors({"others_cpu": others + 0.1, "machine_speed": speed / 1.1})
    assert busier.get("time", 1.0) <= here.get("time", 1.0)
    assert busier.get("rate", 1.0) >= here.get("rate", 1.0)


def test_a_load_that_seems_to_help_is_chance():
    helped = [Machine(-0.6, 0.5).runs(20, seed) for seed in range(5)]
    assert not any(machine_effect(runs).coefficients for runs in helped)


@given(seed=st.integers(0, 99), level=st.floats(1e-3, 1e6))
def test_the_unit_of_a_clock_does_not_matter(seed, level):
    own, other = (machine_effect(Machine(level=each).runs(9, seed)) for each in (10.0, level))
    assert own.coefficients.keys() == other.coefficients.keys()
    for name, slopes in own.coefficients.items():
        assert other.coefficients[name] == pytest.approx(slopes, rel=1e-6, abs=1e-9)


@given(seed=st.integers(0, 99), data=st.data())
def test_the_order_of_runs_and_runs_of_other_configurations_do_not_matter(seed, data):
    runs = Machine().runs(10, seed)
    alone = [trial_of(20 + k, {**runs[k].metrics, "time": 99.0}) for k in range(5)]
    mixed = data.draw(st.permutations([*runs, *alone]))
    mine, theirs = machine_effect(runs).coefficients, machine_effect(mixed).coefficients
    assert mine.keys() == theirs.keys()
    for name, slopes in mine.items():
        assert theirs[name] == pytest.approx(slopes, rel=1e-9, abs=1e-12)


def test_repeats_of_several_configurations_teach_together():
    rng, levels = np.random.default_rng(3), (1.0, 5.0, 80.0, 900.0)
    runs = [
        trial_of(10 * k + n, Machine(level=level).run(rng), configuration={"x": level})
        for k, level in enumerate(levels)
        for n in range(4)
    ]
    others, speed = machine_effect(runs).coefficients["time"]
    assert others == pytest.approx(0.6, abs=0.3)
    assert speed == pytest.approx(-0.5, abs=0.4)


class TestFactors:
    effect = machine_effect(Machine().runs(40, 1))

    def test_are_1_where_the_state_is_not_known(self):
        assert self.effect.factors({"time": 3.0}) == {"time": 1.0, "rate": 1.0}
        nan = {"others_cpu": math.nan, "machine_speed": 0.0}
        assert self.effect.factors(nan) == {"time": 1.0, "rate": 1.0}

    def test_are_1_in_the_usual_state(self):
        others, speed = self.effect.usual
        usual = {"others_cpu": others, "machine_speed": math.exp(speed)}
        assert self.effect.factors(usual)["time"] == pytest.approx(1.0)

    def test_the_usual_state_is_that_of_most_runs(self):
        states = [0.01] * 13 + [0.5] * 7
        metrics = [{"time": 10.0 * math.exp(share), "others_cpu": share} for share in states]
        baseline = summarise(baselines(metrics))
        assert baseline.metrics["time"] == pytest.approx(10.1, rel=0.01)

    def test_stay_within_what_was_seen(self):
        (_, most), (least, _) = self.effect.seen
        far = self.effect.factors({"others_cpu": 1.0, "machine_speed": 1e-3})
        end = self.effect.factors({"others_cpu": most, "machine_speed": math.exp(least)})
        assert far["time"] == pytest.approx(end["time"])

    def test_leave_counts_of_bytes_alone(self):
        metrics = {"time": 3.0, "waf": 2.0, "others_cpu": 0.5}
        assert self.effect.corrected(metrics)["waf"] == 2.0


class TestBaseline:
    def test_without_the_state_nothing_changes(self):
        runs = baselines([{"time": 10.0 + k % 3, "waf": 3.0} for k in range(8)])
        baseline = summarise(runs)
        assert not machine_effect(runs).coefficients
        assert baseline.corrected_trial(runs[0]) is runs[0].metrics
        assert machine_document({None: runs}) is None

    def test_the_noise_is_what_is_left(self):
        runs = Machine(noise=0.02).runs(16, 2)
        alone = [{n: v for n, v in run.metrics.items() if n != "others_cpu"} for run in runs]
        raw, left = (summarise(each).noise["time"].spread for each in (baselines(alone), runs))
        assert left < 0.4 * raw

    def test_what_the_state_explains_is_no_drift(self):
        rng = np.random.default_rng(0)
        measured = []
        for k in range(24):
            run = Machine(noise=0.01, of_speed=0.0).run(rng)
            others = 0.25 + 0.25 * math.sin(k / 4)
            more = math.exp(0.6 * (others - run["others_cpu"]))
            measured.append({**run, "time": run["time"] * more, "others_cpu": others})
        assert not summarise(baselines(measured)).noise["time"].drifting
        blind = [{"time": run["time"]} for run in measured]
        assert summarise(baselines(blind)).noise["time"].drifting

    def test_drift_is_taken_out_of_what_is_left(self):
        rng, runs = np.random.default_rng(5), []
        for k in range(30):
            run = Machine(noise=0.01).run(rng)
            runs.append({**run, "time": run["time"] * (1 + k / 60)})
        trials = baselines(runs)
        baseline = summarise(trials)
        assert baseline.noise["time"].drifting
        left = [math.log(baseline.corrected_trial(trial)["time"]) for trial in trials]
        assert np.std(left) < 0.04

    def test_what_a_host_measures_now_is_raw(self):
        runs = Machine().runs(15, 1)
        baseline = summarise(runs)
        assert baseline.hosts[None].machine.coefficients
        raw = float(np.median([run.metrics["time"] for run in runs]))
        assert baseline.present_level(None)["time"] == raw != baseline.metrics["time"]

    @given(seed=st.integers(0, 50), hosts=st.sampled_from([("a",), ("a", "b")]))
    def test_many_at_once_are_corrected_to_the_same_digit(self, seed, hosts):
        runs = [run for host in hosts for run in Machine().runs(9, seed, host=host)]
        baseline = summarise(runs)
        many = baseline.corrected_of_many(runs, ["time", "rate", "waf"])
        for place, run in enumerate(runs):
            one = baseline.corrected_trial(run)
            assert {n: v[place] for n, v in many.items()} == {n: one[n] for n in many}

    def test_each_host_is_its_own(self):
        busy = Machine(of_others=1.5, noise=0.01).runs(12, 1, host="a")
        calm = Machine(of_others=0.0, of_speed=0.0).runs(12, 2, host="b")
        hosts = summarise([*busy, *calm]).hosts
        assert hosts["a"].machine.coefficients["time"][0] == pytest.approx(1.5, abs=0.1)
        assert not hosts["b"].machine.coefficients


def test_what_cannot_teach_is_neither_counted_nor_corrected():
    runs = [
        replace(run, metrics={**run.metrics, "read_present": run.metrics["rate"]})
        for run in Machine().runs(20, 1)
    ]
    blind = baselines([{"time": 12.0, "rate": 1e5}] * 6)
    document = machine_document({"a": [*runs, *blind]})
    assert document["repeats"] == 19
    assert document["hosts"][0]["coefficients"].keys() == {"time", "rate"}


def test_what_a_document_holds_is_read_back_to_the_last_digit():
    runs = Machine().runs(30, 4)
    document = json.loads(json.dumps(machine_document({"a": runs, None: runs[:9]})))
    found = {"a": machine_effect(runs), None: machine_effect(runs[:9])}
    assert [vars(each) for each in effects_of(document).values()] == [*map(vars, found.values())]
    assert effects_of(document).keys() == found.keys()
    assert effects_of(None) == {}


def test_many_trials_that_are_alone_take_no_time_or_memory():
    runs = Machine().runs(20, 1)
    alone = [replace(run, digest=f"{n}") for n, run in enumerate(runs * 1000)]
    tracemalloc.start()
    assert machine_document({None: [*runs, *alone]})["repeats"] == 19
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 50e6


class TestWords:
    def test_the_gain_is_that_of_runs_left_out(self):
        document = machine_document({"a": Machine().runs(30, 4)})
        noise = document["noise"]["time"]
        assert document["repeats"] == 29
        assert noise["raw"] == pytest.approx(math.hypot(0.6 * 0.144, 0.05, 0.05), rel=0.3)
        assert noise["corrected"] == pytest.approx(0.05, rel=0.3)
        said = f"time {100 * noise['raw']:.1f}% -> {100 * noise['corrected']:.1f}%"
        assert said in machine_words(document)

    def test_nothing_to_learn(self):
        document = machine_document({"a": Machine().runs(4, 4)})
        said = "no effect could be learned from 3 repeats beyond the first run"
        assert machine_words(document) == f"No correction for the host's load and speed: {said}"
        assert machine_words(None) is None
