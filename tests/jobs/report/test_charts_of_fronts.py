"""Plots of all configurations and of drift, from a few known trials."""

import math
from dataclasses import replace
from typing import ClassVar

import pytest

from jobs.charts.parameters import parallel_chart
from jobs.charts.trials import drift_chart, front_chart, front_growth_chart
from optimizer.evaluation.baseline import summarise
from optimizer.trials.trial import Purpose, Trial
from tests.support.jobs.chart_parts import TERMS, trace
from tests.support.optimizer.pretend_bench import START, trial_of


class TestParallel:
    def test_lines_through_places_from_0_to_1(self):
        configurations = [{"n": 1, "big": 1, "codec": "a"}, {"n": 3, "big": 1000, "codec": "b"},
                          {"n": 2, "big": 100}]  # fmt: skip
        fitness = {1: 1.0, 2: 3.0, 3: 2.0}
        trials = [trial_of(number, {}, configuration=c)
                  for number, c in enumerate(configurations, start=1)]  # fmt: skip
        chart = parallel_chart(trials, fitness, ["n", "big", "codec", "idle"])
        assert trace(chart, "very best")["x"] == [1.0, 1.0, 1.0, None]
        # `big` spans so much that its logarithm is drawn; without a codec the line has a gap.
        assert trace(chart, "best 3")["x"] == [0.5, 0.6667, None, None, 0.0, 0.0, 0.0, None]

    def test_at_most_200_lines(self):
        fitness = {number: float(number) for number in range(1, 1001)}
        trials = [trial_of(n, {}, configuration={"a": n, "b": -n}) for n in fitness]
        chart = parallel_chart(trials, fitness, ["a", "b"])
        lines = sum(each["x"].count(None) for each in chart.traces)
        assert 150 <= lines <= 200
        assert f"{lines} of 1,000 are drawn" in chart.caption

    def test_nothing_varies(self):
        trials = [trial_of(n, {}, configuration={"a": 1, "b": n}) for n in (1, 2)]
        assert parallel_chart(trials, {1: 0.0, 2: 0.0}, ["a", "b"]) is None


class TestFront:
    POINTS: ClassVar = {
        1: {"waf": 1.0, "rate": 9.0}, 2: {"waf": 2.0, "rate": 20.0},
        3: {"waf": 3.0, "rate": 8.0}, 4: {"waf": 0.1, "rate": 90.0},
    }  # fmt: skip

    def test_stands_out(self):
        chart = front_chart(self.POINTS, [1, 2, 3], [1, 2], TERMS)
        assert trace(chart, "front")["x"] == [1.0, 2.0]
        assert trace(chart, "others")["y"] == [8.0]
        assert front_chart(self.POINTS, [1, 2, 3], [1], TERMS[:1]) is None

    def test_what_breaks_a_limit_is_a_cross_and_does_not_count(self):
        chart = front_chart(self.POINTS, [1, 2, 3], [1, 2], TERMS)
        assert trace(chart, "breaks a limit")["text"] == ["trial 4"]
        assert chart.title.startswith("2 of 3 configurations")
        assert "Crosses: 1 that break a limit" in chart.caption
        assert front_chart(self.POINTS, [], [], TERMS) is None

    def test_its_growth_is_a_line_in_steps(self):
        chart = front_growth_chart([(3, 1.5), (7, 2.25)], TERMS, 40)
        line = trace(chart, "hypervolume")
        assert list(zip(line["x"], line["y"], strict=True)) == [(3, 1.5), (7, 2.25), (40, 2.25)]
        assert "until trial 7" in chart.title and "2.25 times" in chart.title
        assert front_growth_chart([], TERMS, 40) is None
        assert front_growth_chart([(3, 1.5)], TERMS[:1], 40) is None


class TestDrift:
    def runs(self, times: list[float]) -> list[Trial]:
        return [
            trial_of(n, {"waf": 2.0, "time": time}, purpose=Purpose.BASELINE, seconds=60.0 * n)
            for n, time in enumerate(times, start=1)
        ]

    def test_a_clock_that_drifts_has_its_level(self):
        runs = self.runs([10.0 + 0.5 * n for n in range(12)])
        chart = drift_chart(runs, summarise(runs), ["waf", "time"])
        assert "time compared with" in chart.title
        level = trace(chart, "time, level")
        assert level["y"] == sorted(level["y"]) and level["y"][0] < 85 < 115 < level["y"][-1]
        assert level["x"][:2] == [0.0, 1.0]
        assert trace(chart, "waf")["y"] == [100.0] * 12

    def test_one_that_does_not(self):
        runs = self.runs([10.0, 10.1, 9.9, 10.1, 9.9, 10.0, 10.1])
        chart = drift_chart(runs, summarise(runs), ["time"])
        assert chart.title == "No drift was detected, so nothing was corrected"
        assert len(chart.traces) == 1

    def test_dots_are_as_corrected_as_their_median(self):
        others = [0.0, 0.4] * 8
        runs = self.runs([10.0 * math.exp(0.5 * share) for share in others])
        runs = [
            replace(run, digest="same", metrics=run.metrics | {"others_cpu": share})
            for run, share in zip(runs, others, strict=True)
        ]
        chart = drift_chart(runs, summarise(runs), ["time"])
        assert trace(chart, "time")["y"] == pytest.approx([100.0] * 16, abs=1.0)

    def test_too_few_runs_are_no_proof_of_calm(self):
        runs = self.runs([10.0, 10.1, 9.9])
        chart = drift_chart(runs, summarise(runs), ["time"])
        assert chart.title.startswith("Drift could not be tested")

    def test_a_clock_that_the_objective_does_not_name_is_told_too(self):
        runs = self.runs([10.0 + 0.5 * n for n in range(12)])
        chart = drift_chart(runs, summarise(runs), ["waf"])
        assert "time compared with" in chart.title

    def test_given_runs_have_no_time(self):
        runs = [replace(run, started_at=None) for run in self.runs([1.0, 2.0])]
        assert START and drift_chart(runs, summarise(runs), ["time"]) is None
