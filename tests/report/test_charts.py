"""Each plot from a few known trials: what it draws, and what it says of it."""

from dataclasses import replace
from typing import Any, ClassVar

import pytest
from pretend_bench import START, trial_of

from jobs.charts.changes import changes
from jobs.charts.chart import Chart, short, thinned, words
from jobs.charts.convergence import convergence, noise_of
from jobs.charts.drift import drift
from jobs.charts.fitness_terms import fitness_terms
from jobs.charts.front import front
from jobs.charts.front_growth import front_growth
from jobs.charts.groups import Question, groups, questions
from jobs.charts.importance import importance
from jobs.charts.memory import best_within, memory
from jobs.charts.parallel import parallel
from jobs.charts.sampling import sampling
from jobs.charts.stability import stability
from optimizer.baseline import summarise
from optimizer.objective import Term
from optimizer.trial import Phase, Purpose, Trial
from sampler.outcome import TrialState

MIB = 2.0**20
TERMS = (Term("waf", "min"), Term("rate", "max"))


def trace(chart: Chart | None, name: str) -> Any:
    assert chart is not None
    return next(each for each in chart.traces if each.get("name") == name)


def candidates(fitness: dict[int, float], **metrics: list[float]) -> list[Trial]:
    return [
        trial_of(number, {name: values[i] for name, values in metrics.items()})
        for i, number in enumerate(fitness)
    ]


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
    ROWS = (
        ("waf", {"percent": -10.0, "low": -13.0, "high": -6.0}),
        ("rate", {"percent": -5.0, "low": -8.0, "high": -1.0}),
        ("write_p99", {"percent": -30.0, "low": -400.0, "high": 2.0}),
    )

    def test_which_way_is_better_decides_the_colour(self):
        chart = changes(self.ROWS, TERMS, {"waf": 2.5})
        assert chart is not None
        assert [t["marker"]["color"] for t in chart.traces] == ["@accent", "@second", "@dim"]
        assert chart.title == "waf better; rate worse"
        waf = chart.traces[0]
        assert (waf["x"], waf["error_x"]["array"], waf["error_x"]["arrayminus"]) == (
            [-10.0], [4.0], [3.0])  # fmt: skip

    def test_what_crosses_zero_is_not_told_from_noise(self):
        chart = changes([("waf", {"percent": -1.0, "low": -3.0, "high": 1.0})], TERMS, {})
        assert chart is not None
        assert chart.title == "waf not told from noise"

    def test_what_could_be_seen_is_shaded(self):
        chart = changes(self.ROWS, TERMS, {"waf": 2.5})
        assert chart is not None
        (band,) = [s for s in chart.layout["shapes"] if s["type"] == "rect"]
        assert (band["x0"], band["x1"]) == (-2.5, 2.5)
        assert "Shaded" in chart.caption

    def test_an_interval_that_knows_nothing_does_not_squeeze_the_rest(self):
        chart = changes(self.ROWS, TERMS, {})
        assert chart is not None
        assert chart.layout["xaxis"]["range"][0] > -170
        assert "The interval of write_p99 goes on" in chart.caption

    def test_nothing_was_compared(self):
        assert changes([], TERMS, {}) is None


class TestTerms:
    def test_they_add_up_to_the_fitness(self):
        chart = fitness_terms(["waf", "rate"], {"waf": 100.0, "rate": 300.0}, {"waf": 1.0})
        assert chart is not None
        assert chart.title == "rate gives +300 of the fitness of 400"
        assert chart.traces[0]["x"] == [100.0, 300.0, 400.0]
        assert chart.traces[1]["x"] == [1.0, None, 1.0]

    def test_a_proof_that_gained_nothing_says_so(self):
        chart = fitness_terms(["waf", "rate"], {"waf": 100.0, "rate": -300.0}, {})
        assert chart is not None
        assert chart.title == "In the proof the terms add up to -200: nothing was gained"
        assert len(chart.traces) == 1

    def test_no_proof(self):
        assert fitness_terms(["waf"], {}, {}) is None


class TestMemory:
    FITNESS: ClassVar = {2: 500.0, 3: 300.0, 4: 900.0}

    def trials(self) -> list[Trial]:
        return candidates(self.FITNESS, memory=[64 * MIB, 32 * MIB, 512 * MIB])

    def test_the_best_that_needs_no_more_is_named(self):
        chart = memory(self.trials(), self.FITNESS, baseline=64 * MIB, budget=512 * MIB, winner=2)
        assert chart is not None
        assert chart.title == (
            "Within the baseline's memory trial 2 is best (500); trial 4 reaches 900 with 512 MiB"
        )
        assert [s["x0"] for s in chart.layout["shapes"] if "x0" in s][:2] == [64.0, 512.0]
        assert trace(chart, "went into the proof")["x"] == [64.0]
        assert trace(chart, "configuration")["y"] == [300.0, 900.0]
        assert "the budget, 512 MiB" in chart.caption

    def test_what_is_far_below_is_counted(self):
        fitness = {**self.FITNESS, 3: -9000.0}
        chart = memory(self.trials(), fitness, baseline=64 * MIB, budget=None, winner=None)
        assert chart is not None
        assert "1 lie below the plot." in chart.caption

    def test_none_stays_within(self):
        assert best_within(self.trials(), self.FITNESS, MIB) is None
        chart = memory(self.trials(), self.FITNESS, baseline=MIB, budget=None, winner=None)
        assert chart is not None
        assert "No configuration stayed" in chart.title

    def test_a_benchmark_that_tells_no_memory(self):
        trials = candidates(self.FITNESS, waf=[1.0, 1.0, 1.0])
        assert memory(trials, self.FITNESS, baseline=MIB, budget=None, winner=None) is None


class TestConvergence:
    FITNESS: ClassVar = dict(enumerate([-30.0, 30.0, -100.0, 400.0, 100.0, 900.0, -9000.0], 1))

    def trials(self) -> list[Trial]:
        baselines = [trial_of(n, {}, purpose=Purpose.BASELINE) for n in (1, 2)]
        proof = trial_of(8, {}, phase=Phase.CONFIRM, purpose=Purpose.PROVE, subject=1)
        return [*baselines, *(trial_of(n, {}) for n in range(3, 8)), proof]

    def test_the_line_is_the_best_so_far(self):
        line = trace(convergence(self.trials(), self.FITNESS), "best so far")
        assert list(zip(line["x"], line["y"], strict=True)) == [
            (3, -100.0), (4, 400.0), (6, 900.0), (8, 900.0)]  # fmt: skip

    def test_the_band_is_twice_the_baselines_own_spread(self):
        noise = noise_of(self.trials(), self.FITNESS)
        assert noise == pytest.approx(42.426, abs=0.001)
        chart = convergence(self.trials(), self.FITNESS)
        assert chart is not None
        (band,) = [s for s in chart.layout["shapes"] if s["type"] == "rect"]
        assert (band["y0"], band["y1"]) == pytest.approx((-84.853, 84.853), abs=0.001)
        assert "±85" in chart.caption
        assert chart.title == "The best single run was trial 6, new configuration 4 of 5"

    def test_runs_that_measured_again_are_told(self):
        for count, told in ((1, "1 run measured again"), (2, "2 runs measured again")):
            chart = convergence(self.trials(), self.FITNESS, again=count)
            assert chart is not None and told in chart.caption
        once = convergence(self.trials(), self.FITNESS)
        assert once is not None and "measured again" not in once.caption

    def test_a_best_within_the_noise_is_called_so(self):
        chart = convergence(self.trials()[:3], self.FITNESS)
        assert chart is not None
        assert "No single run rose above the noise" in chart.title

    def test_what_is_very_bad_does_not_squeeze_the_rest(self):
        chart = convergence(self.trials(), self.FITNESS)
        assert trace(chart, "far below")["x"] == [7]
        assert min(trace(chart, "configuration")["y"]) == -100.0
        assert trace(chart, "far below")["y"] == [-1350.0]

    def test_thousands_are_thinned_and_that_is_said(self):
        fitness = {number: float(number) for number in range(1, 6002)}
        trials = [trial_of(number, {}) for number in fitness]
        chart = convergence(trials, fitness)
        assert len(trace(chart, "configuration")["x"]) <= 3000
        assert chart is not None and "of 6,001 points are drawn" in chart.caption
        assert max(trace(chart, "best so far")["y"]) == 6001.0

    def test_what_breaks_a_limit_is_never_the_best_so_far(self):
        chart = convergence(self.trials(), self.FITNESS, breaking={6, 7})
        assert trace(chart, "best so far")["y"] == [-100.0, 400.0, 400.0]
        assert trace(chart, "breaks a limit")["x"] == [6]  # trial 7 is far below
        assert chart is not None
        assert "was trial 4" in chart.title and "of 3" in chart.title
        assert "Crosses: 2 broke a limit" in chart.caption
        assert convergence(self.trials(), self.FITNESS, breaking=range(3, 8)) is None

    def test_nothing_new_ended_well(self):
        assert convergence([], {}) is None
        assert convergence(self.trials()[:2], self.FITNESS) is None


def row(name: str, rank: int, permutation: float, **more: float) -> dict[str, Any]:
    return {
        "name": name,
        "rank": rank,
        "importance": {"waf": {"mdi": 0.5, "permutation": permutation,
                               "permutation_std": 0.1, **more}},
        "anova": {"waf": {"p": 0.01, "p_holm": 0.02, "eta_squared": 0.25}},
    }  # fmt: skip


class TestImportance:
    def test_both_importances_and_the_spread(self):
        rows = [row("a", 1, 0.2), row("b", 2, 0.7)]
        chart = importance("waf", rows, {"r2": 0.8, "trials": 50})
        assert chart is not None
        assert chart.title == "waf: b matters most"
        assert trace(chart, "permutation")["x"] == [0.7, 0.2]
        assert trace(chart, "permutation")["error_x"]["array"] == [0.1, 0.1]
        assert trace(chart, "impurity")["x"] == [0.5, 0.5]

    def test_a_forest_that_learned_nothing_is_not_relied_on(self):
        chart = importance("waf", [row("a", 1, 0.2)], {"r2": 0.29, "trials": 50})
        assert chart is not None
        assert chart.title == "waf: do not rely on the order, R2 is 0.29"

    def test_a_metric_that_could_not_be_learned(self):
        assert importance("waf", [row("a", 1, 0.2)], {"r2": None}) is None
        assert importance("sa", [row("a", 1, 0.2)], {"r2": 0.9}) is None


class TestStability:
    def test_intervals_of_the_rank(self):
        rows = [row("a", 1, 0.2, rank_low=1.0, rank_high=2.0),
                row("b", 2, 0.1, rank_low=3.0, rank_high=29.0)]  # fmt: skip
        chart = stability(rows, ["waf", "sa"])
        assert chart is not None
        assert trace(chart, "waf")["x"] == [1.0, 2.0, None, 3.0, 29.0, None]
        assert "1 of the 2 first" in chart.title

    def test_ranks_that_were_not_resampled(self):
        assert stability([row("a", 1, 0.2)], ["waf"]) is None


class TestSampling:
    POINTS = (
        {"draws": 20, "top_k_overlap": 0.4, "kendall_tau": 0.1, "low": 0.2, "high": 0.6},
        {"draws": 40, "top_k_overlap": 0.8, "kendall_tau": None, "low": 0.6, "high": 1.0},
    )

    def test_the_curve(self):
        chart = sampling({"draws": 40, "planned": 50, "curve": self.POINTS})
        assert chart is not None
        assert chart.title == "The ranking rests on 40 draws of at most 50"
        overlap, tau = chart.traces
        assert (overlap["x"], overlap["y"]) == ([20, 40], [0.4, 0.8])
        assert overlap["error_y"]["array"] == [0.2, 0.2]
        assert tau["x"] == [20]

    def test_results_of_earlier_versions_have_none(self):
        assert sampling({}) is None
        assert sampling({"draws": 20, "curve": self.POINTS[:1]}) is None


class TestGroups:
    def drawn(self) -> list[Trial]:
        values = [("a", 1.0), ("a", 2.0), ("a", 3.0), ("a", 4.0), ("a", 50.0), ("b", 7.0),
                  ("b", 9.0), ("alone", 1.0)]  # fmt: skip
        trials = [trial_of(n, {"waf": waf}, configuration={"codec": codec})
                  for n, (codec, waf) in enumerate(values, start=1)]  # fmt: skip
        searched = trial_of(20, {"waf": 99.0}, configuration={"codec": "b"}, phase=Phase.SEARCH)
        failed = trial_of(21, {}, configuration={"codec": "b"}, state=TrialState.FAILED)
        return [*trials, searched, failed]

    def test_quartiles_of_each_group_of_drawn_trials(self):
        anova = {"p_holm": 0.0004, "eta_squared": 0.4}
        chart = groups(Question("codec", "waf", True, anova), self.drawn(), ", ratio")
        assert chart is not None
        (box,) = chart.traces
        assert box["y"] == ["a<br>n = 5", "b<br>n = 2"]
        assert (box["q1"], box["median"], box["q3"]) == ([2.0, 7.5], [3.0, 8.0], [4.0, 8.5])
        assert (box["lowerfence"], box["upperfence"]) == ([1.0, 7.0], [4.0, 9.0])
        assert box["mean"] == [12.0, 8.0]
        assert chart.title.endswith("waf differs between its values")
        assert chart.caption.startswith("p < 0.001 (Holm), eta squared 0.40.")

    def test_what_was_cut_off_counts_as_it_does_in_the_analysis(self):
        cut = [trial_of(30 + n, {"time": 9.0}, configuration={"codec": "b"},
                        state=TrialState.CENSORED) for n in range(3)]  # fmt: skip
        whole = [trial_of(40 + n, {"time": 1.0 + n}, configuration={"codec": "a"})
                 for n in range(2)]  # fmt: skip
        chart = groups(Question("codec", "time", True, {}), [*whole, *cut], ", s")
        assert chart is not None
        assert chart.traces[0]["y"] == ["a<br>n = 2", "b<br>n = 3"]
        assert "logarithms" in chart.caption
        assert groups(Question("codec", "waf", True, {}), [*whole, *cut], "") is None

    def test_one_group_is_no_comparison(self):
        question = Question("codec", "waf", True, {})
        assert groups(question, self.drawn()[:5], "") is None

    def test_the_top_and_the_bottom_for_the_metric_that_shows_it(self):
        rows = [row(name, rank, 0.1) for rank, name in enumerate("abcdef", start=1)]
        for each in rows:
            each["importance"]["sa"] = each["importance"]["waf"] | {"permutation": 0.9}
            each["anova"]["sa"] = each["anova"]["waf"]
        found = [(q.parameter, q.metric, q.top) for q in questions(rows)]
        assert found == [("a", "sa", True), ("b", "sa", True), ("e", "waf", False),
                         ("f", "waf", False)]  # fmt: skip

    def test_three_parameters_are_not_asked_about_twice(self):
        rows = [row(name, rank, 0.1) for rank, name in enumerate("abc", start=1)]
        assert [q.parameter for q in questions(rows)] == ["a", "b", "c"]


class TestParallel:
    def test_lines_through_places_from_0_to_1(self):
        configurations = [{"n": 1, "big": 1, "codec": "a"}, {"n": 3, "big": 1000, "codec": "b"},
                          {"n": 2, "big": 100}]  # fmt: skip
        fitness = {1: 1.0, 2: 3.0, 3: 2.0}
        trials = [trial_of(number, {}, configuration=c)
                  for number, c in enumerate(configurations, start=1)]  # fmt: skip
        chart = parallel(trials, fitness, ["n", "big", "codec", "idle"])
        assert trace(chart, "very best")["x"] == [1.0, 1.0, 1.0, None]
        # `big` spans so much that its logarithm is drawn; without a codec the line has a gap.
        assert trace(chart, "best 3")["x"] == [0.5, 0.6667, None, None, 0.0, 0.0, 0.0, None]

    def test_at_most_200_lines(self):
        fitness = {number: float(number) for number in range(1, 1001)}
        trials = [trial_of(n, {}, configuration={"a": n, "b": -n}) for n in fitness]
        chart = parallel(trials, fitness, ["a", "b"])
        assert chart is not None
        lines = sum(each["x"].count(None) for each in chart.traces)
        assert 150 <= lines <= 200
        assert f"{lines} of 1,000 are drawn" in chart.caption

    def test_nothing_varies(self):
        trials = [trial_of(n, {}, configuration={"a": 1, "b": n}) for n in (1, 2)]
        assert parallel(trials, {1: 0.0, 2: 0.0}, ["a", "b"]) is None


class TestFront:
    POINTS: ClassVar = {
        1: {"waf": 1.0, "rate": 9.0}, 2: {"waf": 2.0, "rate": 20.0},
        3: {"waf": 3.0, "rate": 8.0}, 4: {"waf": 0.1, "rate": 90.0},
    }  # fmt: skip

    def test_stands_out(self):
        chart = front(self.POINTS, [1, 2, 3], [1, 2], TERMS)
        assert trace(chart, "front")["x"] == [1.0, 2.0]
        assert trace(chart, "others")["y"] == [8.0]
        assert front(self.POINTS, [1, 2, 3], [1], TERMS[:1]) is None

    def test_what_breaks_a_limit_is_a_cross_and_does_not_count(self):
        chart = front(self.POINTS, [1, 2, 3], [1, 2], TERMS)
        assert trace(chart, "breaks a limit")["text"] == ["trial 4"]
        assert chart is not None
        assert chart.title.startswith("2 of 3 configurations")
        assert "Crosses: 1 that break a limit" in chart.caption
        assert front(self.POINTS, [], [], TERMS) is None

    def test_its_growth_is_a_line_in_steps(self):
        chart = front_growth([(3, 1.5), (7, 2.25)], TERMS, 40)
        line = trace(chart, "hypervolume")
        assert list(zip(line["x"], line["y"], strict=True)) == [(3, 1.5), (7, 2.25), (40, 2.25)]
        assert chart is not None
        assert "until trial 7" in chart.title and "2.25 times" in chart.title
        assert front_growth([], TERMS, 40) is None
        assert front_growth([(3, 1.5)], TERMS[:1], 40) is None


class TestDrift:
    def runs(self, times: list[float]) -> list[Trial]:
        return [
            trial_of(n, {"waf": 2.0, "time": time}, purpose=Purpose.BASELINE, seconds=60.0 * n)
            for n, time in enumerate(times, start=1)
        ]

    def test_a_clock_that_drifts_has_its_level(self):
        runs = self.runs([10.0 + 0.5 * n for n in range(12)])
        chart = drift(runs, summarise(runs), ["waf", "time"])
        assert chart is not None
        assert "time compared with" in chart.title
        level = trace(chart, "time, level")
        assert level["y"] == sorted(level["y"]) and level["y"][0] < 85 < 115 < level["y"][-1]
        assert level["x"][:2] == [0.0, 1.0]
        assert trace(chart, "waf")["y"] == [100.0] * 12

    def test_one_that_does_not(self):
        runs = self.runs([10.0, 10.1, 9.9, 10.1, 9.9, 10.0, 10.1])
        chart = drift(runs, summarise(runs), ["time"])
        assert chart is not None
        assert chart.title == "No drift was seen, and nothing was corrected"
        assert len(chart.traces) == 1

    def test_too_few_runs_are_no_proof_of_calm(self):
        runs = self.runs([10.0, 10.1, 9.9])
        chart = drift(runs, summarise(runs), ["time"])
        assert chart is not None
        assert chart.title.startswith("Drift could not be tested")

    def test_a_clock_that_the_objective_does_not_name_is_told_too(self):
        runs = self.runs([10.0 + 0.5 * n for n in range(12)])
        chart = drift(runs, summarise(runs), ["waf"])
        assert chart is not None
        assert "time compared with" in chart.title

    def test_given_runs_have_no_time(self):
        runs = [replace(run, started_at=None) for run in self.runs([1.0, 2.0])]
        assert START and drift(runs, summarise(runs), ["time"]) is None
