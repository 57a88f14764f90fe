"""Plots of what matters, from a few known trials."""

from types import SimpleNamespace

from jobs.charts.importance import importance_chart, sampling_chart, stability_chart
from jobs.charts.parameters import boxed, groups_chart
from jobs.views import results
from optimizer.results.ranking import (
    EffectTest,
    ParameterImportance,
    ParameterRanking,
    Quality,
    Sampling,
)
from optimizer.trials.trial import Phase, Trial
from sampler.bench.outcome import TrialState
from sampler.common.documents import parse_toml
from sampler.space.space_file import space_text
from tests.support import ROOT
from tests.support.jobs.chart_parts import row, trace
from tests.support.optimizer.pretend_bench import trial_of


class TestImportance:
    def test_both_importances_and_the_spread(self):
        rows = [row("a", 1, 0.2), row("b", 2, 0.7)]
        chart = importance_chart("waf", rows, Quality(r2=0.8, trials=50))
        assert chart.title == "waf: b is most important"
        assert trace(chart, "permutation")["x"] == [0.7, 0.2]
        assert trace(chart, "permutation")["error_x"]["array"] == [0.1, 0.1]
        assert trace(chart, "impurity")["x"] == [0.5, 0.5]

    def test_a_forest_that_learned_nothing_is_not_relied_on(self):
        chart = importance_chart("waf", [row("a", 1, 0.2)], Quality(r2=0.29, trials=50))
        assert chart.title == "waf: do not rely on the order, R2 is 0.29"

    def test_a_metric_that_could_not_be_learned(self):
        assert importance_chart("waf", [row("a", 1, 0.2)], Quality(r2=None)) is None
        assert importance_chart("sa", [row("a", 1, 0.2)], Quality(r2=0.9)) is None


class TestStability:
    def test_intervals_of_the_rank(self):
        rows = [row("a", 1, 0.2, rank_low=1.0, rank_high=2.0),
                row("b", 2, 0.1, rank_low=3.0, rank_high=29.0)]  # fmt: skip
        chart = stability_chart(rows, ["waf", "sa"])
        assert trace(chart, "waf")["x"] == [1.0, 2.0, None, 3.0, 29.0, None]
        assert "1 of the first 2" in chart.title

    def test_ranks_that_were_not_resampled(self):
        assert stability_chart([row("a", 1, 0.2)], ["waf"]) is None


class TestSampling:
    POINTS = (
        {"draws": 20, "top_k_overlap": 0.4, "kendall_tau": 0.1, "low": 0.2, "high": 0.6},
        {"draws": 40, "top_k_overlap": 0.8, "kendall_tau": None, "low": 0.6, "high": 1.0},
    )

    def test_the_curve(self):
        chart = sampling_chart(Sampling(draws=40, planned=50, curve=self.POINTS))
        assert chart.title == "The ranking rests on 40 random configurations of at most 50"
        overlap, tau = chart.traces
        assert (overlap["x"], overlap["y"]) == ([20, 40], [0.4, 0.8])
        assert overlap["error_y"]["array"] == [0.2, 0.2]
        assert tau["x"] == [20]

    def test_results_of_earlier_versions_have_none(self):
        assert sampling_chart(None) is None
        assert sampling_chart(Sampling(draws=20, curve=self.POINTS[:1])) is None


def codec(**anova: EffectTest) -> ParameterImportance:
    return ParameterImportance(name="codec", rank=1, anova=anova)


class TestGroups:
    def drawn(self) -> list[Trial]:
        values = [("a", 1.0), ("a", 2.0), ("a", 3.0), ("a", 4.0), ("a", 50.0), ("b", 7.0),
                  ("b", 9.0), ("alone", 1.0)]  # fmt: skip
        trials = [trial_of(n, {"waf": waf}, configuration={"codec": codec})
                  for n, (codec, waf) in enumerate(values, start=1)]  # fmt: skip
        searched = trial_of(20, {"waf": 99.0}, configuration={"codec": "b"}, phase=Phase.SEARCH)
        failed = trial_of(21, {}, configuration={"codec": "b"}, state=TrialState.FAILED)
        start = trial_of(22, {"waf": 99.0}, configuration={"codec": "b"}, why="starting point p")
        return [*trials, searched, failed, start]

    def test_quartiles_of_each_group_of_drawn_trials(self):
        anova = EffectTest(p_holm=0.0004, eta_squared=0.4)
        chart = groups_chart(codec(waf=anova), "waf", self.drawn())
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
        chart = groups_chart(codec(time=EffectTest()), "time", [*whole, *cut])
        assert chart.traces[0]["y"] == ["a<br>n = 2", "b<br>n = 3"]
        assert "logarithms" in chart.caption
        assert groups_chart(codec(waf=EffectTest()), "waf", [*whole, *cut]) is None

    def test_one_group_is_no_comparison(self):
        assert groups_chart(codec(waf=EffectTest()), "waf", self.drawn()[:5]) is None

    def test_the_top_and_the_bottom_for_the_metric_that_shows_it(self):
        rows = [row(name, rank, 0.1, {"sa": 0.9}) for rank, name in enumerate("abcdef", start=1)]
        found = [(each.name, metric, top) for each, metric, top in boxed(rows)]
        assert found == [("a", "sa", True), ("b", "sa", True), ("e", "waf", False),
                         ("f", "waf", False)]  # fmt: skip

    def test_three_parameters_are_not_asked_about_twice(self):
        rows = [row(name, rank, 0.1) for rank, name in enumerate("abc", start=1)]
        assert [each.name for each, _, _ in boxed(rows)] == ["a", "b", "c"]


def test_box_plots_are_of_as_many_trials_as_the_guide_says(monkeypatch):
    """They had been of 2,000, as many as the models are given."""
    asked: list[int] = []

    def sampled(_engine: object, _job: int, *, most: int) -> tuple[list[Trial], int]:
        asked.append(most)
        return [], 0

    monkeypatch.setattr(results, "sampled_trials", sampled)
    monkeypatch.setattr(results, "dependence_of_job", lambda *_: None)
    space = parse_toml(space_text("default"), field="space")
    job = SimpleNamespace(id=1, specification={"space": space})
    learned = ParameterRanking(parameters=[], forest={"waf": Quality(r2=0.5)})
    boxes, effects = results.importance_details(None, job, learned)
    assert (boxes.blocks, asked) == ([], [5000])
    assert effects.words == [
        "Too few trials succeeded to model how a metric depends on a parameter."
    ]
    assert "5,000 trials (box plots)" in (ROOT / "docs/how-to/dashboard.md").read_text()
