"""The comparison on simulated metrics, whose truth is known."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from scipy import stats

from jobs.experiments.experiment import MeasuredRun, Sets, Side, order_of_runs, whole_sets
from jobs.experiments.option_drift import DEFAULTS, KEPT, OWN, ChangedValue, Concern
from jobs.experiments.tables import CaseChange, compare_cases
from jobs.experiments.upgrade import SIDES, causes, is_worse, upgrade_sentences
from optimizer.budget.power import smallest_change
from optimizer.objective.objective import Term
from optimizer.objective.objective_file import load_objective
from sampler.rocksdb.options_file import CF

TERMS = load_objective("paper").terms
SPREADS = {"waf": 0.02, "sa": 0.01, "time": 0.15, "rate": 0.15}
WHAT = {DEFAULTS: "each build's defaults", KEPT: "the old defaults", OWN: "your file"}
DYNAMIC = ChangedValue(
    section=CF, key="level_compaction_dynamic_level_bytes", old="false", new="true",
    concern=Concern.AMPLIFICATION,
)  # fmt: skip


def whole_pairs(runs: list[MeasuredRun]) -> Sets:
    return whole_sets(runs, SIDES)


def compared(sets: Sets, cases: list[str], terms: Sequence[Term]) -> list[CaseChange]:
    return compare_cases(sets, "old", ["new"], cases, terms)


def failed(answer: CaseChange) -> tuple[int, int]:
    return len(answer.failed["old"]), len(answer.failed["new"])


def run(number: int, case: str, side: Side, metrics: Mapping[str, float], state: str = "done"):
    return MeasuredRun(
        round=number, case=case, side=side, started_at="2026-01-01T00:00:00+00:00", state=state,
        failure=None if state == "done" else "IO error: broken", metrics=metrics, seconds=1.0,
    )  # fmt: skip


def simulated(
    rng: np.random.Generator,
    ratios: Mapping[str, Mapping[str, float]],
    *,
    pairs: int,
    drift: float = 0.3,
) -> Sets:
    """Runs of a machine that drifts by ``drift`` over the check, with noise of SPREADS.

    ``ratios``: the truth, new over old, by case and metric; 1 where nothing is said.
    """
    runs = []
    for number, case, sides in order_of_runs(
        [*ratios], SIDES, rounds=pairs, seed=int(rng.integers(2**31))
    ):
        for side in sides:
            slow = 1 + drift * len(runs) / (2 * pairs * len(ratios))
            metrics = {
                name: (ratios[case].get(name, 1.0) if side == "new" else 1.0)
                * (slow if name == "time" else 1 / slow if name == "rate" else 1.0)
                * float(np.exp(rng.normal(0, spread)))
                for name, spread in SPREADS.items()
            }
            runs.append(run(number, case, side, metrics))
    return whole_pairs(runs)


@pytest.mark.slow
def test_the_same_build_twice_is_called_changed_in_at_most_5_of_100_checks():
    """Three cases of four metrics each: without a correction it would be about 4 of 10."""
    rng = np.random.default_rng(20261121)
    checks, alarms = 400, 0
    nothing: dict[str, dict[str, float]] = {DEFAULTS: {}, KEPT: {}, OWN: {}}
    for _ in range(checks):
        answers = compared(simulated(rng, nothing, pairs=5), [*nothing], TERMS)
        alarms += any(m.significant for each in answers for m in each.metrics.values())
    assert alarms <= stats.binom.ppf(0.999, checks, 0.05)
    assert alarms > 0  # a test that never alarms would not be at 5% either


def test_a_worse_build_is_found_and_told_which_way():
    rng = np.random.default_rng(1)
    pairs = simulated(rng, {DEFAULTS: {"waf": 1.2, "rate": 2.5}}, pairs=9)
    (answer,) = compared(pairs, [DEFAULTS], TERMS)
    waf, rate = answer.metrics["waf"], answer.metrics["rate"]
    assert waf.worse
    assert waf.change.low < 20 < waf.change.high
    assert rate.significant
    assert not rate.worse
    assert answer.worse
    assert is_worse([answer], None)
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
    pairs = simulated(rng, {DEFAULTS: {"waf": defaults}, KEPT: {"waf": kept}}, pairs=9)
    answers = compared(pairs, [DEFAULTS, KEPT], TERMS)
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
    pairs = whole_pairs(runs)
    answers = compared(pairs, [DEFAULTS, KEPT], TERMS)
    told = upgrade_sentences(answers, WHAT, causes(pairs, answers[0]), [DYNAMIC], None)
    assert told[1].endswith("these pairs cannot separate the build from its defaults.")


def test_bytes_that_are_the_same_in_every_run_have_no_probability_of_zero():
    """What each pair doubles exactly is beyond the t distribution, not beyond all doubt."""
    runs = []
    for number in (1, 2, 3):
        runs.append(run(number, DEFAULTS, "old", {"waf": 0.5}))
        runs.append(run(number, DEFAULTS, "new", {"waf": 1.0}))
    answers = compared(whole_pairs(runs), [DEFAULTS], TERMS[:1])
    assert answers[0].metrics["waf"].p_holm == 0
    told = upgrade_sentences(answers, WHAT, causes(whole_pairs(runs), answers[0]), [], None)
    assert told[0].endswith(": worse, p < 0.001.")


def test_with_several_changed_defaults_none_is_called_guilty():
    rng = np.random.default_rng(5)
    pairs = simulated(rng, {DEFAULTS: {"waf": 1.3}, KEPT: {}}, pairs=9)
    answers = compared(pairs, [DEFAULTS, KEPT], TERMS)
    told = upgrade_sentences(answers, WHAT, causes(pairs, answers[0]), [DYNAMIC, DYNAMIC], None)
    assert told[1].endswith(", not measured one by one.")


def test_where_nothing_is_shown_the_answer_says_what_could_have_been():
    rng = np.random.default_rng(3)
    answers = compared(simulated(rng, {DEFAULTS: {}}, pairs=7), [DEFAULTS], TERMS)
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
                runs.append(run(number, DEFAULTS, side, {"waf": value}))  # type: ignore[arg-type]
        (answer,) = compared(whole_pairs(runs), [DEFAULTS], TERMS[:1])
        seen += answer.metrics["waf"].worse
    assert abs(seen / checks - 0.8) < 0.07  # 3.5 standard errors


def test_a_build_that_fails_where_the_old_one_does_not_is_worse():
    fine = {"waf": 1.0}
    runs = []
    for number in (1, 2, 3):
        runs.append(run(number, DEFAULTS, "old", fine))
        runs.append(run(number, DEFAULTS, "new", {}, state="failed" if number == 2 else "done"))
    (answer,) = compared(whole_pairs(runs), [DEFAULTS], TERMS)
    assert (failed(answer), answer.pairs) == ((0, 1), 3)
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
            state = "failed" if number <= failing else "done"
            metrics = {"waf": 1.0} if state == "done" else {}
            runs.append(run(number, DEFAULTS, side, metrics, state=state))  # type: ignore[arg-type]
    (answer,) = compared(whole_pairs(runs), [DEFAULTS], TERMS)
    assert failed(answer) == (old, new)
    assert answer.fails is answer.worse is worse


def test_only_neighbours_are_a_pair():
    """The half that an interruption left is measured again with its partner."""
    metrics = {"waf": 1.0}
    left = run(1, DEFAULTS, "old", {"waf": 9.0})
    runs = [
        left,
        run(1, DEFAULTS, "new", metrics),
        run(2, DEFAULTS, "new", {"waf": 7.0}),
        run(2, DEFAULTS, "old", metrics),
        run(3, DEFAULTS, "old", {"waf": 8.0}),  # interrupted here
        run(3, DEFAULTS, "old", metrics),
        run(3, DEFAULTS, "new", metrics),
    ]
    pairs = whole_pairs(runs)
    assert [*pairs] == [(1, DEFAULTS), (2, DEFAULTS), (3, DEFAULTS)]
    assert pairs[1, DEFAULTS]["old"] is left
    assert [pairs[2, DEFAULTS][side].side for side in SIDES] == ["old", "new"]
    assert pairs[3, DEFAULTS]["old"].metrics == metrics


def test_which_build_goes_first_is_drawn_and_the_same_again():
    order = [*order_of_runs([DEFAULTS, KEPT], SIDES, rounds=200, seed=4)]
    assert order == [*order_of_runs([DEFAULTS, KEPT], SIDES, rounds=200, seed=4)]
    assert order != [*order_of_runs([DEFAULTS, KEPT], SIDES, rounds=200, seed=5)]
    first = [sides[0] for _, _, sides in order]
    assert 150 < first.count("old") < 250
    assert 60 < sum(name == KEPT for _, name, _ in order[::2]) < 140
