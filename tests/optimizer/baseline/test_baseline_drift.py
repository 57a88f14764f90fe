import math
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from scipy import stats

from optimizer.evaluation.baseline import (
    Baseline,
    MetricNoise,
    drift_p,
    stepped_levels,
    summarise,
)
from optimizer.trials.trial import Purpose, Trial
from sampler.bench.outcome import TrialState
from tests.support.optimizer.pretend_bench import START, trial_of

SPACING = 100.0  # seconds between two runs of the baseline
SINE = "sine"
Shape = Callable[[np.ndarray], np.ndarray]
SHAPES: dict[str, Shape] = {
    # Of a share of the whole job, 0 to 1; each moves the clocks by 20% or 25% from end to end.
    SINE: lambda share: 1 + 0.125 * np.sin(2 * np.pi * share),
    "linear": lambda share: 1 + 0.2 * share,
    "step": lambda share: 1 + 0.2 * (share > 0.5),
}


def baselines(times: Sequence[float], **others: Sequence[float]) -> list[Trial]:
    """Runs of the baseline, SPACING apart."""
    return [
        trial_of(
            i + 1,
            {"time": time} | {name: values[i] for name, values in others.items()},
            purpose=Purpose.BASELINE,
            seconds=SPACING * i,
        )
        for i, time in enumerate(times)
    ]


def drifting(shape: Shape, runs: int, noise: float, rng: np.random.Generator) -> np.ndarray:
    level = shape(np.linspace(0, 1, runs))
    return 10 * level * np.exp(noise * rng.normal(size=runs))


def found(times: Sequence[float]) -> bool:
    return summarise(baselines(times)).noise["time"].drifting


class TestSummary:
    def test_is_of_medians_and_relative_spread(self):
        noise = summarise(baselines([9.0, 10.0, 14.0])).noise["time"]
        assert noise.median == 10.0
        assert noise.spread == pytest.approx(np.std([9, 10, 14], ddof=1) / 11)

    def test_leaves_out_runs_that_did_not_end_well(self):
        runs = baselines([10.0, 12.0])
        failed = trial_of(3, {}, purpose=Purpose.BASELINE, state=TrialState.FAILED)
        summary = summarise([*runs, failed])
        assert summary.runs == 2
        assert summary.metrics == {"time": 11.0}

    def test_is_made_once_for_the_same_runs_and_anew_for_others(self):
        runs = baselines([9.0, 10.0, 14.0])
        before = summarise(runs)
        known = before.hosts[None]
        assert summarise(list(runs), before=before).hosts[None] is known
        others = baselines([9.0, 10.0, 17.0])
        spread = summarise(others, before=before).hosts[None].noise["time"].spread
        assert spread != known.noise["time"].spread
        assert summarise([*runs, others[-1]], before=before).hosts[None].runs == 4

    @pytest.mark.slow
    def test_of_ever_more_runs_is_kept_in_little_memory(self):
        runs = baselines(list(np.random.default_rng(0).normal(10, 1, 300)))
        known = summarise(runs)  # what it imports is not its memory
        tracemalloc.start()
        for number in range(2, len(runs)):
            known = summarise(runs[:number], before=known)
        kept, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        # Of the last alone: its runs, moments, and a clock's levels.
        assert kept < 100_000

    def test_leaves_out_metrics_that_not_every_run_has(self):
        runs = [*baselines([10.0], waf=[3.0]), *baselines([10.0])]
        assert summarise(runs).metrics == {"time": 10.0}

    def test_without_any_good_run_is_refused(self):
        with pytest.raises(ValueError, match="baseline"):
            summarise([trial_of(1, purpose=Purpose.BASELINE, state=TrialState.FAILED)])

    @pytest.mark.parametrize(
        ("times", "spread"), [([10.0], None), ([10.0] * 12, 0.0), ([0.0] * 6, None)]
    )
    def test_of_values_that_are_all_the_same_has_no_spread_and_no_drift(self, times, spread):
        noise = summarise(baselines(times)).noise["time"]
        assert noise == MetricNoise(times[0], spread, None, drifting=False)

    def test_does_not_depend_on_the_order_in_which_runs_are_given(self):
        runs = baselines([10.0, 10.5, 11.2, 11.9, 12.4, 13.1, 13.5, 14.2])
        shuffled = [runs[i] for i in (3, 0, 6, 1, 7, 4, 2, 5)]
        assert summarise(shuffled).noise["time"] == summarise(runs).noise["time"]

    def test_two_runs_at_the_same_moment_are_no_trouble(self):
        runs = baselines([10.0, 11.0, 12.0, 13.0, 14.0, 15.0])
        twice = [*runs, trial_of(7, {"time": 15.0}, purpose=Purpose.BASELINE, seconds=500.0)]
        corrected = summarise(twice).corrected({"time": 15.0}, twice[-1].started_at)
        assert math.isfinite(corrected["time"])


class TestFindingDrift:
    @pytest.mark.parametrize(
        ("shape", "runs", "noise", "least_power"),
        [
            (SINE, 12, 0.03, 0.95),
            ("linear", 12, 0.03, 0.90),
            ("step", 12, 0.03, 0.95),
            (SINE, 8, 0.05, 0.25),
            ("linear", 8, 0.05, 0.50),
            ("step", 8, 0.05, 0.50),
        ],
    )
    def test_has_power(self, shape: str, runs: int, noise: float, least_power: float):
        rng = np.random.default_rng(11)
        hits = sum(found(drifting(SHAPES[shape], runs, noise, rng)) for _ in range(60))
        assert hits / 60 >= least_power

    @pytest.mark.parametrize("runs", [5, 20])
    def test_raises_false_alarms_in_five_percent_of_steady_machines(self, runs: int):
        rng = np.random.default_rng(12)
        alarms = sum(found(10 * np.exp(0.05 * rng.normal(size=runs))) for _ in range(300))
        low, high = stats.binom.interval(0.999, 300, 0.05)
        assert low <= alarms <= high

    @pytest.mark.slow
    def test_of_thousands_of_runs_is_as_likely_as_by_shuffling(self):
        rng = np.random.default_rng(13)
        # Clocks now and then stand out by far: the limit must hold for them too.
        steady = [np.exp(0.05 * rng.standard_t(3, size=1001)) for _ in range(20)]
        told = [drift_p(values) for values in steady]
        shuffled = [drift_p(values[:1000]) for values in steady]
        assert told == pytest.approx(shuffled, abs=0.06)
        assert len(set(told)) == 20 and min(told) < 0.25 < 0.75 < max(told)
        slope = steady[0] * np.linspace(1, 1.3, 1001)
        assert (drift_p(slope) or 1.0) < 0.001

    def test_needs_five_runs(self):
        ramp = [10.0, 11.0, 12.0, 13.0]
        noise = summarise(baselines(ramp)).noise["time"]
        assert (noise.drifting, noise.drift_p) == (False, None)
        assert summarise(baselines([*ramp, 14.0])).noise["time"].drift_p is not None

    @pytest.mark.parametrize("name", ["rate", "load_time"])
    def test_looks_at_every_clock(self, name: str):
        ramp = list(np.linspace(10, 20, 12))
        noise = summarise(baselines([10.0] * 12, **{name: ramp})).noise
        assert noise[name].drifting
        assert noise[name].range == pytest.approx((10 / 15, 20 / 15), rel=0.05)
        assert noise["time"].range is None

    def test_never_blames_what_is_counted(self):
        ramp = list(np.linspace(10, 20, 12))
        noise = summarise(baselines([10.0] * 12, waf=ramp, sa=ramp, device_bytes=ramp)).noise
        assert not any(noise[name].drifting for name in ("waf", "sa", "device_bytes"))
        assert noise["waf"].drift_p is None


def measured_on_a_sine(seed: int) -> tuple[Baseline, list[Trial]]:
    """30 baselines over two waves, and 90 trials between them whose true time is 8."""
    rng = np.random.default_rng(seed)

    def slow(seconds: float) -> float:
        return 1 + 0.2 * math.sin(2 * math.pi * seconds / (15 * SPACING))

    def at(seconds: float, true: float) -> dict[str, float]:
        time = true * slow(seconds) * math.exp(0.02 * rng.normal())
        return {"time": time, "rate": 1e4 / time, "waf": 3.0 + seconds}

    runs = [
        trial_of(i + 1, at(SPACING * i, 10.0), purpose=Purpose.BASELINE, seconds=SPACING * i)
        for i in range(30)
    ]
    trials = [
        trial_of(100 + i, at(SPACING * i / 3.2, 8.0), seconds=SPACING * i / 3.2) for i in range(90)
    ]
    return summarise(runs), trials


class TestCorrection:
    def test_takes_most_of_a_wave_away(self):
        baseline, trials = measured_on_a_sine(3)
        for name, true in (("time", 8.0), ("rate", 1250.0)):
            raw = [math.log(t.metrics[name]) for t in trials]
            mended = [math.log(baseline.corrected(t.metrics, t.started_at)[name]) for t in trials]
            level = baseline.metrics[name] / {"time": 10.0, "rate": 1000.0}[name]
            uncorrected = np.sqrt(np.mean((np.array(raw) - math.log(true)) ** 2))
            corrected = np.sqrt(np.mean((np.array(mended) - math.log(true * level)) ** 2))
            assert uncorrected > 0.12
            assert corrected < uncorrected

    def test_halves_the_error_of_a_slope(self):
        runs = baselines(np.linspace(10, 14, 12))
        baseline = summarise(runs)
        late = trial_of(50, {"time": 13.5 * 0.8}, seconds=SPACING * 11 * 3.5 / 4)
        corrected = baseline.corrected(late.metrics, late.started_at)["time"]
        assert corrected == pytest.approx(12 * 0.8, rel=0.02)

    def test_never_touches_what_is_counted(self):
        baseline, trials = measured_on_a_sine(4)
        for trial in trials:
            corrected = baseline.corrected(trial.metrics, trial.started_at)
            assert corrected["waf"] == trial.metrics["waf"]
            assert corrected.keys() == trial.metrics.keys()

    def test_leaves_a_steady_machine_alone(self):
        baseline = summarise(baselines([10.0, 10.2, 9.9, 10.1, 9.95, 10.05]))
        assert not baseline.noise["time"].drifting
        assert baseline.corrected({"time": 9.0}, START) == {"time": 9.0}

    def test_leaves_alone_what_was_measured_at_an_unknown_time(self):
        baseline, _ = measured_on_a_sine(5)
        assert baseline.noise["time"].drifting
        assert baseline.corrected({"time": 9.0}, None) == {"time": 9.0}

    def test_before_the_first_and_after_the_last_run_holds_their_level(self):
        runs = baselines(np.linspace(10, 14, 12))
        baseline = summarise(runs)
        early = baseline.corrected({"time": 10.0}, trial_of(60, seconds=-1e6).started_at)
        first = baseline.corrected({"time": 10.0}, runs[0].started_at)
        assert early == first

    def test_stays_within_what_was_measured(self):
        times = [10.0, 10.1, 10.2, 10.3, 15.0, 15.1, 15.2, 15.3, 15.2, 15.1]
        baseline = summarise(baselines(times))
        low, high = baseline.noise["time"].range
        assert 10.0 / baseline.metrics["time"] <= low <= high <= 15.3 / baseline.metrics["time"]


class TestJumps:
    """Where a host among others becomes slower at once and stays so."""

    def runs(self, levels: list[float], host: str) -> list[Trial]:
        noise = np.random.default_rng(5).normal(0, 0.01, len(levels))
        return [
            replace(
                trial_of(i + 1, {"waf": 3.0, "time": 10 * level * math.exp(noise[i])}),
                started_at=START + timedelta(minutes=10 * i),
                host=host,
            )
            for i, level in enumerate(levels)
        ]

    def test_each_stretch_is_its_own_level(self):
        quick, slow = [1.0] * 12, [2.0] * 3
        baseline = summarise([*self.runs(quick + slow, "a"), *self.runs([1.0] * 6, "b")])
        for minutes, level in ((50, 1.0), (125, 2.0), (200, 2.0)):
            at = START + timedelta(minutes=minutes)
            time = baseline.corrected({"time": 10 * level}, at, "a")["time"]
            assert time == pytest.approx(baseline.metrics["time"], rel=0.02)
        spread = baseline.hosts["a"].noise["time"].spread
        assert spread is not None and spread < 0.02

    def test_one_run_that_differs_is_no_jump(self):
        assert stepped_levels(np.array([1.0] * 6 + [2.0])) is None
        assert stepped_levels(np.array([1.0] * 4 + [2.0] + [1.0] * 4)) is None

    @pytest.mark.parametrize("runs", [5, 6, 8, 12, 30])
    @pytest.mark.parametrize("noise", [0.05, 0.3])
    def test_noise_alone_is_none(self, runs: int, noise: float):
        drawn = np.exp(np.random.default_rng(3).normal(0, noise, (2000, runs)))
        found = sum(stepped_levels(values) is not None for values in drawn)
        assert found <= 40  # 2%, with five runs that scatter by 30%

    def test_a_host_alone_is_followed_as_ever(self):
        runs = self.runs([1.0] * 6 + [2.0] * 6, "a")
        assert not summarise(runs).hosts["a"].jumps

    def test_what_was_summed_up_alone_is_summed_up_anew_beside_others(self):
        runs = self.runs([1.0] * 6 + [2.0] * 6, "a")
        both = [*runs, *self.runs([1.0] * 3, "b")]
        anew, grown = summarise(both), summarise(both, before=summarise(runs))
        at = START + timedelta(minutes=100)
        assert grown.corrected({"time": 20.0}, at, "a") == anew.corrected({"time": 20.0}, at, "a")

    def test_what_a_host_measures_now_is_what_it_has_measured_since_its_last_jump(self):
        runs = self.runs([1.0] * 12 + [2.0] * 12 + [4.0] * 12, "a")
        alone, both = summarise(runs), summarise([*runs, *self.runs([1.0] * 5, "b")])
        for baseline in (alone, both):
            assert baseline.present_level("a")["time"] == pytest.approx(40, rel=0.02)
        assert both.present_level("b")["time"] == pytest.approx(10, rel=0.02)
        assert both.present_level("unknown") == both.metrics
        steady = summarise(self.runs([1.0] * 6, "a"))
        assert steady.present_level("a") == steady.metrics

    @pytest.mark.parametrize("times", [[0.0] * 8, [10.0] * 4 + [0.0] + [20.0] * 4])
    def test_runs_without_a_time_do_not_hide_since_when(self, times: list[float]):
        level = summarise(baselines(times)).present_level(None)["time"]
        assert level == times[-1]


def test_the_conditions_of_a_run_are_left_as_they_were_read():
    steps = [1.0] * 6 + [3.0] * 6
    state = {"others_cpu": [0.1 * s for s in steps], "machine_speed": steps}
    here = baselines(steps, **state)
    there = [replace(run, number=run.number + 50, host="b") for run in baselines([2.0] * 12)]
    there = [
        replace(run, metrics={**run.metrics, "others_cpu": 0.4, "machine_speed": 2.0})
        for run in there
    ]
    summary = summarise([*[replace(run, host="a") for run in here], *there])
    trial = replace(here[-1], host="a")
    found = summary.corrected_trial(trial)
    noise = summary.hosts["a"].noise
    assert noise["time"].drifting and not any(noise[name].drifting for name in state)
    assert found["time"] != pytest.approx(trial.metrics["time"])  # what jumped is compared
    assert {n: found[n] for n in state} == {"others_cpu": pytest.approx(0.3), "machine_speed": 3.0}
