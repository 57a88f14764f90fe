"""The comparison on simulated metrics, whose truth is known."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from scipy import stats

from jobs.experiments.experiment import MeasuredRun, Sets, Side, order_of_runs, whole_sets
from jobs.experiments.option_drift import DEFAULTS, KEPT, OWN, ChangedValue, Concern
from jobs.experiments.tables import (
    CaseChange,
    compare_cases,
    comparison_sentences,
    load_words,
    require_metrics,
)
from jobs.experiments.upgrade import SIDES, causes, upgrade_sentences
from jobs.results.figures import share_percent
from optimizer.budget.power import smallest_change
from optimizer.objective.objective import Term
from optimizer.objective.objective_file import load_objective
from sampler.common.errors import InputError
from sampler.rocksdb.options_file import CF
from sampler.workload.metric_table import better, shown_in
from sampler.workload.workload import Workload
from sampler.workload.workload_file import load_workload

TERMS = load_objective("paper").terms
SPREADS = {"waf": 0.02, "sa": 0.01, "time": 0.15, "rate": 0.15}
WHAT = {DEFAULTS: "each build's defaults", KEPT: "the old defaults", OWN: "your file"}
DYNAMIC = ChangedValue(
    section=CF, key="level_compaction_dynamic_level_bytes", old="false", new="true",
    concern=Concern.AMPLIFICATION,
)  # fmt: skip


def compared(sets: Sets, cases: Sequence[str], terms: Sequence[Term] = TERMS) -> list[CaseChange]:
    return compare_cases(sets, "old", ["new"], cases, terms)


def run(
    number: int, case: str, side: Side, metrics: Mapping[str, float] | None = None
) -> MeasuredRun:
    """One run; without metrics it has failed."""
    return MeasuredRun(
        round=number, case=case, side=side, started_at="2026-01-01T00:00:00+00:00",
        state="failed" if metrics is None else "done",
        failure="IO error: broken" if metrics is None else None,
        metrics=metrics or {}, seconds=1.0,
    )  # fmt: skip


def simulated(
    rng: np.random.Generator,
    truth: Mapping[str, Mapping[str, float]],
    rounds: int,
    sides: Sequence[Side] = SIDES,
) -> Sets:
    """Runs of a machine that gets 30% slower meanwhile, with noise of SPREADS.

    ``truth``: by case and metric, the ratio of the last side to all others; 1 where none is said.
    """
    runs: list[MeasuredRun] = []
    turns = [*order_of_runs([*truth], sides, rounds=rounds, seed=int(rng.integers(2**31)))]
    for number, case, names in turns:
        for side in names:
            slow = 1 + 0.3 * len(runs) / (len(turns) * len(sides))
            metrics = {
                name: (truth[case].get(name, 1.0) if side == sides[-1] else 1.0)
                * (slow if name == "time" else 1 / slow if name == "rate" else 1.0)
                * float(np.exp(rng.normal(0, spread)))
                for name, spread in SPREADS.items()
            }
            runs.append(run(number, case, side, metrics))
    return whole_sets(runs, sides)


@pytest.mark.slow
def test_the_same_build_twice_is_called_changed_in_at_most_5_of_100_checks():
    """Three cases of four metrics each: without a correction it would be about 4 of 10."""
    rng = np.random.default_rng(20261121)
    checks, alarms = 400, 0
    nothing: dict[str, dict[str, float]] = {DEFAULTS: {}, KEPT: {}, OWN: {}}
    for _ in range(checks):
        answers = compared(simulated(rng, nothing, 5), [*nothing])
        alarms += any(m.significant for each in answers for m in each.metrics.values())
    assert alarms <= stats.binom.ppf(0.999, checks, 0.05)
    assert alarms > 0  # a test that never alarms would not be at 5% either


def test_a_worse_build_is_found_and_told_which_way():
    rng = np.random.default_rng(1)
    pairs = simulated(rng, {DEFAULTS: {"waf": 1.2, "rate": 2.5}}, 9)
    (answer,) = compared(pairs, [DEFAULTS])
    waf, rate = answer.metrics["waf"], answer.metrics["rate"]
    assert waf.worse
    assert waf.change.low < 20 < waf.change.high
    assert rate.significant
    assert not rate.worse
    assert answer.worse
    told = upgrade_sentences([answer], WHAT, {}, [], None)
    assert told[0].startswith(f"WAF +{waf.change.percent:.1f}%")
    assert "with each build's defaults: worse" in told[0]
    assert told[1] == "No default changed, so the cause is the build itself."
    assert "better, p" in told[2]


@pytest.mark.parametrize(
    ("defaults", "kept", "said"),
    [
        (1.3, 1.0, "not significant: the changed defaults are the cause, as far as these pairs"),
        (8.0, 1.08, "but less than a tenth as much: the changed defaults are the cause"),
        (8.0, 0.93, "but less than a tenth as much: the changed defaults are the cause"),
        (1.3, 1.3, "the build itself, not its defaults"),
        (1.6, 1.3, "are part of the cause, the build itself is another"),
        (1.3, 0.7, "the changed defaults reverse the change"),
    ],
)
def test_whether_it_is_the_build_or_its_defaults(defaults: float, kept: float, said: str):
    rng = np.random.default_rng(5)
    pairs = simulated(rng, {DEFAULTS: {"waf": defaults}, KEPT: {"waf": kept}}, 9)
    answers = compared(pairs, [DEFAULTS, KEPT])
    found = causes(pairs, answers[0])
    assert [*found] == ["waf"]
    told = upgrade_sentences(answers, WHAT, found, [DYNAMIC], None)
    assert said in told[1]
    named = "level_compaction_dynamic_level_bytes (false -> true)" in told[1]
    assert named == found["waf"].shown == (defaults != kept)


def test_what_the_pairs_cannot_tell_is_not_told():
    """A change just seen with the new defaults; with the old ones too noisy to say anything."""
    quiet = [(1.0, 1.10), (1.0, 1.11), (1.0, 1.09), (1.0, 1.10), (1.0, 1.105)]
    noisy = [(1.0, 1.4), (1.0, 0.8), (1.0, 1.3), (1.0, 0.75), (1.0, 1.2)]
    runs = []
    for case, values in ((DEFAULTS, quiet), (KEPT, noisy)):
        for number, (old, new) in enumerate(values, start=1):
            runs += [
                run(number, case, "old", {"waf": old}),
                run(number, case, "new", {"waf": new}),
            ]
    pairs = whole_sets(runs, SIDES)
    answers = compared(pairs, [DEFAULTS, KEPT])
    told = upgrade_sentences(answers, WHAT, causes(pairs, answers[0]), [DYNAMIC], None)
    assert told[1].endswith("these pairs cannot separate the build from its defaults.")


def test_bytes_that_are_the_same_in_every_run_have_no_probability_of_zero():
    """What each pair doubles exactly is beyond the t distribution, not beyond all doubt."""
    runs = []
    for number in (1, 2, 3):
        runs.append(run(number, DEFAULTS, "old", {"waf": 0.5}))
        runs.append(run(number, DEFAULTS, "new", {"waf": 1.0}))
    answers = compared(whole_sets(runs, SIDES), [DEFAULTS], TERMS[:1])
    assert answers[0].metrics["waf"].p_holm == 0
    told = upgrade_sentences(answers, WHAT, causes(whole_sets(runs, SIDES), answers[0]), [], None)
    assert told[0].endswith(": worse, p < 0.001.")


def test_with_several_changed_defaults_none_is_called_guilty():
    rng = np.random.default_rng(5)
    pairs = simulated(rng, {DEFAULTS: {"waf": 1.3}, KEPT: {}}, 9)
    answers = compared(pairs, [DEFAULTS, KEPT])
    told = upgrade_sentences(answers, WHAT, causes(pairs, answers[0]), [DYNAMIC, DYNAMIC], None)
    assert told[1].endswith(", not measured one by one.")


def test_where_nothing_is_shown_the_answer_says_what_could_have_been():
    rng = np.random.default_rng(3)
    answers = compared(simulated(rng, {DEFAULTS: {}}, 7), [DEFAULTS])
    (told,) = upgrade_sentences(answers, WHAT, {}, [], None)
    assert told.startswith("No metric changed significantly; the minimum detectable change")
    assert f"TIME {100 * answers[0].metrics['time'].smallest_change:.2g}%" in told


def test_the_change_that_could_have_been_shown_is_shown_in_80_of_100_checks():
    """Of one metric by itself, so that no correction takes part."""
    rng = np.random.default_rng(11)
    spread, pairs, checks = 0.05, 8, 400
    ratio = 1 + smallest_change(spread, pairs)
    seen = 0
    for _ in range(checks):
        runs = []
        for number in range(1, pairs + 1):
            for side, level in (("old", 1.0), ("new", ratio)):
                value = level * float(np.exp(rng.normal(0, spread)))
                runs.append(run(number, DEFAULTS, side, {"waf": value}))
        (answer,) = compared(whole_sets(runs, SIDES), [DEFAULTS], TERMS[:1])
        seen += answer.metrics["waf"].worse
    assert abs(seen / checks - 0.8) < 0.07  # 3.5 standard errors


def test_a_build_that_fails_where_the_old_one_does_not_is_worse():
    fine = {"waf": 1.0}
    runs = []
    for number in (1, 2, 3):
        runs.append(run(number, DEFAULTS, "old", fine))
        runs.append(run(number, DEFAULTS, "new", None if number == 2 else fine))
    (answer,) = compared(whole_sets(runs, SIDES), [DEFAULTS])
    assert (len(answer.failed["new"]), len(answer.failed["old"]), answer.pairs) == (1, 0, 3)
    assert answer.worse
    told = upgrade_sentences([answer], WHAT, {}, [], None)
    assert told[0] == (
        "The new build failed in 1 of 3 runs with each build's defaults, the old build never: "
        "IO error: broken."
    )
    assert "too few pairs succeeded" in told[-1]


@pytest.mark.parametrize(
    ("old", "new", "worse"),
    [(1, 2, False), (1, 5, True), (1, 7, True), (7, 7, False), (2, 1, False)],
)
def test_one_failure_of_the_old_build_does_not_excuse_those_of_the_new(
    old: int, new: int, worse: bool
):
    runs = []
    for number in range(1, 8):
        for side, failing in (("old", old), ("new", new)):
            runs.append(run(number, DEFAULTS, side, None if number <= failing else {"waf": 1.0}))
    (answer,) = compared(whole_sets(runs, SIDES), [DEFAULTS])
    assert [len(answer.failed[side]) for side in SIDES] == [old, new]
    assert answer.fails is answer.worse is worse


COMPARED = [Term(name, better(name) or "min") for name in shown_in("compare")]


def test_what_differs_is_found_with_its_size_and_the_side_that_is_better():
    truth = {"v": {"rate": 2.5, "waf": 1.1}, "w": {}}
    sets = simulated(np.random.default_rng(2), truth, 9, "AB")
    first, second = compare_cases(sets, "A", ["B"], ("v", "w"), COMPARED)
    assert first.metrics["rate"].change.low < 150 < first.metrics["rate"].change.high
    assert (first.better("rate"), first.better("waf"), first.better("sa")) == ("B", "A", None)
    assert [second.better(name) for name in second.metrics] == [None] * 4
    said = comparison_sentences([first, second])
    assert said[0].startswith("v, B against A: better in rate +")
    assert "; worse in waf +" in said[0]
    assert said[0].endswith("; no difference shown in sa, time")
    assert said[1] == "w, B against A: no difference shown in waf, sa, time, rate"


def test_around_a_value_both_are_compared_with_the_middle():
    names = ("as-is", "half", "double")
    sets = simulated(np.random.default_rng(3), {"w": {"waf": 0.5}}, 5, names)
    half, double = compare_cases(sets, "as-is", ["half", "double"], "w", COMPARED)
    assert (half.after, double.after) == ("half", "double")
    assert half.better("waf") is None
    assert double.better("waf") == "double"
    assert double.metrics["waf"].change.percent == pytest.approx(-50, abs=3)


def test_one_that_never_ends_well_is_said():
    runs = [run(n, "w", side, {"waf": 1.0} if side == "A" else None)
            for n in (1, 2, 3) for side in "AB"]  # fmt: skip
    (table,) = compare_cases(whole_sets(runs, "AB"), "A", ["B"], "w", COMPARED)
    assert not table.metrics
    assert comparison_sentences([table]) == [
        "w, B against A: B failed in 3 of 3 runs: IO error: broken",
        "w, B against A: too few rounds succeeded for a comparison",
    ]


def test_metrics_are_those_that_the_loads_have():
    loads = [Workload(name="w")]
    assert require_metrics([], loads) == shown_in("compare")
    assert require_metrics(["write_p50", "waf", "waf"], loads) == ("write_p50", "waf")
    with pytest.raises(InputError, match=r"metrics: there is no 'nix'"):
        require_metrics(["nix"], loads)


def test_percentages_have_two_digits_and_no_exponent():
    shares = (0.0, 0.00004123, 0.0123, 1.84, 123.4)
    assert [share_percent(share) for share in shares] == [
        "0%",
        "0.0041%",
        "1.2%",
        "180%",
        "12000%",
    ]


def test_what_a_load_runs_is_one_line():
    assert load_words(load_workload("mixed-quick")) == (
        "mixed-quick: fillrandom, readrandomwriterandom (num 50,000, 2 threads); keys of 16 B, "
        "values of 1,024 B, settle wait, scale 64, reads 25000, readwritepercent 50"
    )
    assert load_words(load_workload("rocksjava-readrandom")) == (
        "rocksjava-readrandom: readrandom (num 131,072, 32 threads) after fillseq (num 131,072, "
        "1 thread); keys of 16 B, values of 800 B, settle none, scale 64, cache_numshardbits 6, "
        "disable_wal true, reads 4096"
    )
