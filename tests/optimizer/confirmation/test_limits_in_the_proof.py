"""The proof keeps limits honest: by a test within a margin, with the share of runs beside it."""

import pytest

from optimizer.budget.budget import divide
from optimizer.confirmation.paired_tests import LimitLevels, margins_of
from optimizer.confirmation.proof import Pair, declared_test, judge
from optimizer.evaluation.evaluation import Evaluation
from optimizer.objective.objective import Limit, Objective, Term
from optimizer.results.result import conclude
from optimizer.run.planning import Budget, plan_of
from optimizer.trials.trial import History, Purpose
from tests.support.optimizer.pretend_bench import problem_of, trial_of

WAF = (Term("waf", "min"),)
P99 = Limit("p99", at_most=2.0)
RATE = Limit("rate", at_least_baseline=0.95)


def pairs_of(metric: str, *values: tuple[float, float]) -> list[Pair]:
    """A winner that writes half as much, with these figures of another metric."""
    return [({"waf": 4.0, metric: theirs}, {"waf": 2.0, metric: mine}) for theirs, mine in values]


def judged(limit: Limit, pairs: list[Pair]):
    verdict = judge(Objective("o", WAF, (limit,)), pairs, planned=len(pairs))
    assert verdict is not None
    return verdict


class TestVerdict:
    def test_a_limit_is_kept_though_one_run_is_beyond(self):
        verdict = judged(P99, pairs_of("p99", (9, 1), (9, 1), (9, 2.1), (9, 1), (9, 1)))
        (kept,) = verdict.limits
        assert verdict.confirmed and kept.kept
        assert (kept.value, kept.runs_kept, kept.runs) == (1.0, 4, 5)
        assert "limit" not in verdict.why

    def test_a_value_beyond_the_bound_is_not_proven_however_sure_the_gain(self):
        verdict = judged(P99, pairs_of("p99", (9, 2.3), (9, 2.3), (9, 2.4), (9, 2.3)))
        (broken,) = verdict.limits
        assert not verdict.confirmed and not broken.kept
        assert verdict.p < 0.025
        assert verdict.why.endswith(
            "the limit p99 <= 2 is broken: median 2.3, at most 2.405 with 97.5% confidence, "
            "0 of 4 runs within it"
        )

    def test_a_median_within_the_bound_alone_does_not_show_that_it_is_kept(self):
        """Two of four runs are within it: so would be those of a configuration on the bound."""
        pairs = pairs_of("p99", (9, 1.9), (9, 2.3), (9, 1.8), (9, 1.95))
        (found,) = judged(P99, pairs).limits
        assert (found.standing, found.kept) == ("not shown", False)
        said = (
            "p99 <= 2 is not shown to be kept: median 1.925, at most 2.341 with 97.5% confidence"
        )
        assert said in judged(P99, pairs).why
        # Jobs of earlier versions declared no margins: there the median goes on to decide.
        objective = Objective("o", WAF, (P99,))
        former = judge(objective, pairs, planned=4, margins=None)
        assert former.confirmed and former.limits[0].kept
        assert former.limits[0].words == ("p99 <= 2 is kept: median 1.925, 3 of 4 runs within it")
        assert "standing" not in former.limits[0].document()

    def test_a_limit_is_broken_only_where_p_is_below_a_fortieth(self):
        """One-sided p of 0.04: an unchanged configuration is that far beyond in 4% of proofs."""
        slower = [(1000, 990), (1000, 980), (1000, 970), (1000, 998)]
        (found,) = judged(Limit("rate", at_least_baseline=1.0), pairs_of("rate", *slower)).limits
        assert found.standing == "not shown"
        slower = [(theirs, mine - 15) for theirs, mine in slower]
        (found,) = judged(Limit("rate", at_least_baseline=1.0), pairs_of("rate", *slower)).limits
        assert found.standing == "broken"

    def test_a_figure_needs_more_confidence_than_a_multiple_of_the_baseline(self):
        """Single runs are skewed; ratios of two runs of one configuration are not."""
        figures = [(2, 1.0), (2, 1.0), (2, 2.1), (2, 1.0)]
        for limit, standing, confidence in (
            (Limit("p99", at_most=2.0), "not shown", "97.5%"),
            (Limit("p99", at_most_baseline=1.0), "kept", "95%"),
        ):
            (found,) = judged(limit, pairs_of("p99", *figures)).limits
            assert found.standing == standing and f"with {confidence}" in found.assured

    def test_a_declared_margin_is_what_may_be_missing(self):
        pairs = pairs_of("rate", (1000, 990), (1000, 1010), (1000, 985), (1000, 1005))
        objective = Objective("o", WAF, (Limit("rate", at_least_baseline=1.0),))
        found = {
            share: judge(objective, pairs, planned=4, margins={"rate >= 1 baseline": share})
            for share in (0.0, 0.01, 0.03)
        }
        assert [each.confirmed for each in found.values()] == [False, False, True]
        (kept,) = found[0.03].limits
        assert kept.words == (
            "rate >= 1 baseline (here 1,000) is kept within a margin of 3.0%: median 997.5, at "
            "least 0.984 baseline with 95% confidence, 2 of 4 runs within the bound"
        )
        assert kept.margin == 3.0 and kept.p < 0.05

    def test_what_is_shown_to_be_beyond_the_bound_is_broken_whatever_the_margin(self):
        pairs = pairs_of("rate", (1000, 970), (1000, 971), (1000, 969), (1000, 970))
        objective = Objective("o", WAF, (Limit("rate", at_least_baseline=1.0),))
        found = judge(objective, pairs, planned=4, margins={"rate >= 1 baseline": 0.1})
        assert (found.limits[0].standing, found.confirmed) == ("broken", False)

    def test_each_bound_of_a_limit_is_judged_by_itself(self):
        both = Limit("p99", at_most=2.0, at_most_baseline=0.1)
        found = judged(both, pairs_of("p99", *[(9, 1)] * 3)).limits
        assert [(each.words, each.kept) for each in found] == [
            ("p99 <= 2 is kept: median 1, 3 of 3 runs within it", True),
            ("p99 <= 0.1 baseline (here 0.9) is broken: median 1, 0 of 3 runs within it", False),
        ]

    @pytest.mark.parametrize(("mine", "kept"), [(950.0, True), (949.0, False)])
    def test_a_multiple_is_of_the_median_of_the_baselines_fresh_runs(self, mine, kept):
        verdict = judged(RATE, pairs_of("rate", *[(1000.0, mine)] * 3))
        assert verdict.confirmed is verdict.limits[0].kept is kept
        assert verdict.limits[0].at_least == 950.0

    def test_runs_are_counted_against_the_run_of_the_baseline_beside_them(self):
        """The machine halves its speed on the way: the third run is slow, but not for its pair."""
        verdict = judged(RATE, pairs_of("rate", (1000, 990), (700, 690), (500, 490)))
        (kept,) = verdict.limits
        assert (kept.at_least, kept.value, kept.runs_kept) == (665.0, 690, 3)

    def test_what_a_run_did_not_measure_is_not_kept(self):
        pairs = pairs_of("p99", (9, 1), (9, 1), (9, 1))
        del pairs[1][1]["p99"]  # type: ignore[attr-defined]
        verdict = judged(P99, pairs)
        assert not verdict.confirmed
        assert verdict.limits[0].value is None and verdict.limits[0].runs_kept == 2
        assert "p99 <= 2 is not kept: some runs did not measure it" in verdict.why

    def test_without_limits_there_is_nothing_to_tell(self):
        assert judge(Objective("o", WAF), pairs_of("p99", *[(9, 1)] * 3), planned=3).limits == ()

    def test_limits_are_declared_before_the_runs(self):
        declared = declared_test(Objective("o", WAF, (P99, RATE)), 17, divide(48))
        assert declared["limits"] == ["p99 <= 2", "rate >= 0.95 baseline"]


class TestWords:
    def test_say_the_bound_of_a_multiple_in_figures(self):
        verdict = judged(RATE, pairs_of("rate", *[(200_000.0, 212_345.6)] * 3))
        assert verdict.limits[0].words == (
            "rate >= 0.95 baseline (here 190,000) is kept: median 212,346, 3 of 3 runs within it"
        )


def test_the_document_says_which_limit_its_bound_and_the_winners_value():
    found = judged(Limit("rate", at_most_baseline=1.2), pairs_of("rate", *[(10.0, 11.0)] * 3))
    assert [limit.document() for limit in found.limits] == [{
        "limit": "rate <= 1.2 baseline", "metric": "rate", "at_least": None, "at_most": 12.0,
        "value": 11.0, "kept": True, "runs_kept": 3, "runs": 3, "standing": "kept",
        "margin": 0.0, "p": 0.0, "assured": "",
    }]  # fmt: skip


def test_a_test_declared_by_an_earlier_version_goes_on_by_its_medians():
    """It holds no margins; one declared now holds one for each bound."""
    assert margins_of(None) is None and margins_of([]) == {}
    assert margins_of([{"limit": "rate >= 1 baseline", "margin": 4.1}]) == {
        "rate >= 1 baseline": pytest.approx(0.041)
    }
    assert margins_of([{"limit": "rate >= 1 baseline", "kept": True}]) is None
    limited = problem_of(objective=Objective("o", WAF, (Limit("rate", at_least_baseline=0.5),)))
    history = History([
        trial_of(1, {"waf": 3.0, "rate": 9.0}, purpose=Purpose.BASELINE),
        trial_of(2, {"waf": 2.0, "rate": 9.0}),
        *(
            trial_of(n, {"waf": waf, "rate": 9.0}, purpose=Purpose.PROVE, subject=subject,
                     round=(n - 1) // 2)
            for n, (subject, waf) in enumerate([(1, 3.0), (2, 2.0)] * 3, 3)
        ),
    ])  # fmt: skip
    plan = plan_of(limited, Budget(trials=12), history)
    for declared, standing in (({"winner": 2}, None), (None, "kept"), ({"margins": []}, "kept")):
        found = conclude(Evaluation(limited, history), plan, declared=declared)
        assert found.verdict.limits[0].standing == standing and found.verdict.confirmed


def test_a_limit_in_figures_is_judged_by_raw_values():
    corrected, raw = (
        [({"waf": 4.0, "time": 10.0}, {"waf": 3.0, "time": time})] * 4 for time in (11.0, 12.0)
    )
    for limit, broken in ((Limit("time", at_most=11.5), True),
                          (Limit("time", at_most_baseline=1.15), False)):  # fmt: skip
        verdict = judge(Objective("o", WAF, (limit,)), corrected, planned=4, raw=raw)
        assert verdict.confirmed is not broken
        assert verdict.limits[0].value == (12.0 if broken else 11.0)


def test_a_limit_in_figures_is_judged_by_the_levels_that_were_declared():
    """A job that was declared by an earlier version, at 5%, ends by that level."""
    times = (17.0, 18.5, 16.0, 21.0, 17.5)
    pairs = [({"waf": 4.0, "time": 10.0}, {"waf": 3.0, "time": time}) for time in times]
    limit = Limit("time", at_most=20.0)
    earlier, now = (
        judge(Objective("o", WAF, (limit,)), pairs, planned=5, levels=LimitLevels.declared(test))
        for test in ({"limit_alpha": 0.05}, {"limit_alpha": 0.05, "limit_alpha_of_figures": 0.025})
    )
    assert 0.025 < now.limits[0].p < 0.05
    assert (earlier.limits[0].standing, now.limits[0].standing) == ("kept", "not shown")
