"""The table on simulated runs, whose truth is known."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from jobs.experiments.experiment import MeasuredRun, Sets, order_of_runs, whole_sets
from jobs.experiments.tables import (
    compare_cases,
    comparison_sentences,
    load_words,
    require_metrics,
)
from jobs.results.figures import share_percent
from optimizer.objective.objective import Term
from sampler.common.errors import InputError
from sampler.workload.metric_table import better, shown_in
from sampler.workload.workload import Workload
from sampler.workload.workload_file import load_workload

TERMS = [Term(name, better(name) or "min") for name in shown_in("compare")]

SPREADS = {"rate": 0.1, "waf": 0.01, "sa": 0.01}
Ratios = Mapping[tuple[str, str], Mapping[str, float]]


def simulated(
    rng: np.random.Generator,
    ratios: Ratios,
    subjects: Sequence[str],
    workloads: Sequence[str],
    *,
    rounds: int,
    failing: str = "",
) -> Sets:
    """A machine that gets 40% slower on the way; ``ratios``: by workload and subject."""
    runs: list[MeasuredRun] = []
    seed = int(rng.integers(2**31))
    turns = [*order_of_runs(workloads, subjects, rounds=rounds, seed=seed)]
    for number, workload, names in turns:
        for name in names:
            slow = 1 + 0.4 * len(runs) / (len(turns) * len(subjects))
            truth = ratios.get((workload, name), {})
            metrics = {
                metric: truth.get(metric, 1.0)
                * (1 / slow if metric == "rate" else 1.0)
                * float(np.exp(rng.normal(0, spread)))
                for metric, spread in SPREADS.items()
            }
            bad = name == failing
            runs.append(
                MeasuredRun(round=number, case=workload, side=name, started_at="",
                    state="failed" if bad else "done", failure="IO error: broken" if bad else None,
                    metrics={} if bad else metrics, seconds=1.0)
            )  # fmt: skip
    return whole_sets(runs, subjects)


def test_what_differs_is_found_with_its_size_and_the_side_that_is_better():
    rng = np.random.default_rng(2)
    truth = {("v", "B"): {"rate": 1.8, "waf": 1.1}}
    sets = simulated(rng, truth, "AB", ("v", "w"), rounds=9)
    first, second = compare_cases(sets, "A", ["B"], ("v", "w"), TERMS)
    assert first.metrics["rate"].change.low < 80 < first.metrics["rate"].change.high
    assert (first.better("rate"), first.better("waf"), first.better("sa")) == ("B", "A", None)
    assert [second.better(name) for name in second.metrics] == [None] * 3
    said = comparison_sentences([first, second])
    assert said[0].startswith("v, B against A: better in rate +")
    assert "; worse in waf +" in said[0]
    assert said[0].endswith("; no difference shown in sa")
    assert said[1] == "w, B against A: no difference shown in waf, sa, rate"


def test_around_a_value_both_are_compared_with_the_middle():
    rng = np.random.default_rng(3)
    names = ("as-is", "half", "double")
    sets = simulated(rng, {("w", "double"): {"waf": 0.5}}, names, "w", rounds=5)
    half, double = compare_cases(sets, "as-is", ["half", "double"], "w", TERMS)
    assert (half.after, double.after) == ("half", "double")
    assert half.better("waf") is None
    assert double.better("waf") == "double"
    assert double.metrics["waf"].change.percent == pytest.approx(-50, abs=3)


def test_one_that_never_ends_well_is_said():
    sets = simulated(np.random.default_rng(4), {}, "AB", "w", rounds=3, failing="B")
    (table,) = compare_cases(sets, "A", ["B"], "w", TERMS)
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
