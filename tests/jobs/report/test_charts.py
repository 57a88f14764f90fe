"""Each plot from a few known trials: what it draws, and what it says of it."""

from typing import ClassVar

import pytest

from jobs.charts.changes import changes_chart, fitness_terms_chart
from jobs.charts.chart import short, thinned, words
from jobs.charts.trials import best_within, convergence_chart, memory_chart, noise_of_fitness
from optimizer.confirmation.paired_tests import Change
from optimizer.trials.trial import Phase, Purpose, Trial
from tests.support.jobs.chart_parts import MIB, TERMS, candidates, trace
from tests.support.optimizer.pretend_bench import trial_of


class TestWords:
    def test_no_text_of_others_is_markup(self):
        assert words("<a href='x'>&amp;\x00\n</a>") == "&lt;a href='x'&gt;&amp;amp; &lt;/a&gt;"

    def test_long_ones_are_cut(self):
        assert words("x" * 99, 5) == "xxxx…"

    def test_numbers_that_are_none(self):
        assert short(float("nan")) is None
        assert short(1 / 3) == 0.33333

    def test_many_points_become_fewer_and_few_stay(self):
        assert list(thinned(range(10), 10)) == list(range(10))
        assert list(thinned(range(10), 4)) == [0, 3, 6, 9]


class TestChanges:
    ROWS: ClassVar = {
        "waf": Change(percent=-10.0, low=-13.0, high=-6.0, p=0.001),
        "rate": Change(percent=-5.0, low=-8.0, high=-1.0, p=0.02),
        "write_p99": Change(percent=-30.0, low=-400.0, high=2.0, p=0.06),
    }

    def test_which_way_is_better_decides_the_colour(self):
        chart = changes_chart(self.ROWS, TERMS, {"waf": 2.5})
        assert [t["marker"]["color"] for t in chart.traces] == ["@accent", "@second", "@dim"]
        assert chart.title == "waf better; rate worse"
        waf = chart.traces[0]
        assert (waf["x"], waf["error_x"]["array"], waf["error_x"]["arrayminus"]) == (
            [-10.0], [4.0], [3.0])  # fmt: skip

    def test_what_crosses_zero_is_not_significant(self):
        waf = Change(percent=-1.0, low=-3.0, high=1.0, p=0.3)
        chart = changes_chart({"waf": waf}, TERMS, {})
        assert chart.title == "waf not significant"

    def test_what_could_be_seen_is_shaded(self):
        chart = changes_chart(self.ROWS, TERMS, {"waf": 2.5})
        (band,) = [s for s in chart.layout["shapes"] if s["type"] == "rect"]
        assert (band["x0"], band["x1"]) == (-2.5, 2.5)
        assert "Shaded" in chart.caption
        wide = changes_chart(self.ROWS, TERMS, {"waf": 500.0})
        (band,) = [s for s in wide.layout["shapes"] if s["type"] == "rect"]
        assert [band["x0"], band["x1"]] == wide.layout["xaxis"]["range"]

    def test_an_interval_that_knows_nothing_does_not_squeeze_the_rest(self):
        chart = changes_chart(self.ROWS, TERMS, {})
        assert chart.layout["xaxis"]["range"][0] > -170
        assert "The interval of write_p99 extends beyond" in chart.caption

    def test_nothing_was_compared(self):
        assert changes_chart({}, TERMS, {}) is None


class TestTerms:
    def test_they_add_up_to_the_fitness(self):
        chart = fitness_terms_chart(["waf", "rate"], {"waf": 100.0, "rate": 300.0}, {"waf": 1.0})
        assert chart.title == "rate contributes +300 to the fitness of 400"
        assert chart.traces[0]["x"] == [100.0, 300.0, 400.0]
        assert chart.traces[1]["x"] == [1.0, None, 1.0]

    def test_a_proof_that_gained_nothing_says_so(self):
        chart = fitness_terms_chart(["waf", "rate"], {"waf": 100.0, "rate": -300.0}, {})
        assert chart.title == "In the proof the terms add up to -200: nothing was gained"
        assert len(chart.traces) == 1

    def test_no_proof(self):
        assert fitness_terms_chart(["waf"], {}, {}) is None


class TestMemory:
    FITNESS: ClassVar = {2: 500.0, 3: 300.0, 4: 900.0}

    def trials(self) -> list[Trial]:
        return candidates(self.FITNESS, memory=[64 * MIB, 32 * MIB, 512 * MIB])

    def test_the_best_that_needs_no_more_is_named(self):
        chart = memory_chart(
            self.trials(), self.FITNESS, baseline=64 * MIB, budget=512 * MIB, winner=2
        )
        assert chart.title == (
            "Within the baseline's memory trial 2 is best (500); trial 4 reaches 900 with 512 MiB"
        )
        assert [s["x0"] for s in chart.layout["shapes"] if "x0" in s][:2] == [64.0, 512.0]
        assert trace(chart, "tested in the proof")["x"] == [64.0]
        assert trace(chart, "configuration")["y"] == [300.0, 900.0]
        assert "the budget, 512 MiB" in chart.caption

    def test_what_is_far_below_is_counted(self):
        fitness = {**self.FITNESS, 3: -9000.0}
        chart = memory_chart(self.trials(), fitness, baseline=64 * MIB, budget=None, winner=None)
        assert "Trials below the plot: 1." in chart.caption

    def test_none_stays_within(self):
        assert best_within(self.trials(), self.FITNESS, MIB) is None
        chart = memory_chart(self.trials(), self.FITNESS, baseline=MIB, budget=None, winner=None)
        assert "No configuration stayed" in chart.title

    def test_a_benchmark_that_tells_no_memory(self):
        trials = candidates(self.FITNESS, waf=[1.0, 1.0, 1.0])
        assert memory_chart(trials, self.FITNESS, baseline=MIB, budget=None, winner=None) is None


class TestConvergence:
    FITNESS: ClassVar = dict(enumerate([-30.0, 30.0, -100.0, 400.0, 100.0, 900.0, -9000.0], 1))

    def trials(self) -> list[Trial]:
        baselines = [trial_of(n, {}, purpose=Purpose.BASELINE) for n in (1, 2)]
        proof = trial_of(8, {}, phase=Phase.CONFIRM, purpose=Purpose.PROVE, subject=1)
        return [*baselines, *(trial_of(n, {}) for n in range(3, 8)), proof]

    def test_the_line_is_the_best_so_far(self):
        line = trace(convergence_chart(self.trials(), self.FITNESS), "best so far")
        assert list(zip(line["x"], line["y"], strict=True)) == [
            (3, -100.0), (4, 400.0), (6, 900.0), (8, 900.0)]  # fmt: skip

    def test_the_band_is_twice_the_baselines_own_spread(self):
        noise = noise_of_fitness(self.trials(), self.FITNESS)
        assert noise == pytest.approx(42.426, abs=0.001)
        chart = convergence_chart(self.trials(), self.FITNESS)
        (band,) = [s for s in chart.layout["shapes"] if s["type"] == "rect"]
        assert (band["y0"], band["y1"]) == pytest.approx((-84.853, 84.853), abs=0.001)
        assert "±85" in chart.caption
        assert chart.title == "The best single run was trial 6, new configuration 4 of 5"

    def test_runs_that_measured_again_are_told(self):
        for count, told in ((1, "1 run repeats"), (2, "2 runs repeat")):
            chart = convergence_chart(self.trials(), self.FITNESS, again=count)
            assert f"{told} doubtful results: dots are means." in chart.caption
        once = convergence_chart(self.trials(), self.FITNESS)
        assert "doubtful results" not in once.caption

    def test_a_best_within_the_noise_is_called_so(self):
        chart = convergence_chart(self.trials()[:3], self.FITNESS)
        assert "No single run rose above the noise" in chart.title

    def test_what_is_very_bad_does_not_squeeze_the_rest(self):
        chart = convergence_chart(self.trials(), self.FITNESS)
        assert trace(chart, "far below")["x"] == [7]
        assert min(trace(chart, "configuration")["y"]) == -100.0
        assert trace(chart, "far below")["y"] == [-1350.0]

    def test_thousands_are_thinned_and_that_is_said(self):
        fitness = {number: float(number) for number in range(1, 6002)}
        trials = [trial_of(number, {}) for number in fitness]
        chart = convergence_chart(trials, fitness)
        assert len(trace(chart, "configuration")["x"]) <= 3000
        assert "of 6,001 points are drawn" in chart.caption
        assert max(trace(chart, "best so far")["y"]) == 6001.0

    def test_what_breaks_a_limit_is_never_the_best_so_far(self):
        chart = convergence_chart(self.trials(), self.FITNESS, breaking={6, 7})
        assert trace(chart, "best so far")["y"] == [-100.0, 400.0, 400.0]
        assert trace(chart, "breaks a limit")["x"] == [6]  # trial 7 is far below
        assert "was trial 4" in chart.title and "of 3" in chart.title
        assert "Crosses: 2 broke a limit" in chart.caption
        assert convergence_chart(self.trials(), self.FITNESS, breaking=range(3, 8)) is None

    def test_nothing_new_ended_well(self):
        assert convergence_chart([], {}) is None
        assert convergence_chart(self.trials()[:2], self.FITNESS) is None
