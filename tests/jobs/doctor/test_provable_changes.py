"""From runs of one configuration to the smallest change that can be proven."""

import json
import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from jobs.doctor.examination import Diagnosis, Fitness
from jobs.doctor.findings import Finding, Severity
from jobs.doctor.noise import judge_failures, judge_noise, noise_of, not_measured
from optimizer.budget.budget import divide
from optimizer.budget.power import pairs_for, smallest_change
from optimizer.trials.trial import Phase, Purpose, Trial
from sampler.bench.outcome import TrialState

BEGAN = datetime(2026, 11, 21, tzinfo=UTC)
RATE = [100, 112, 95, 103, 99, 108, 91, 104, 97, 101]  # spread 6.2%


def runs(failure: str | None = None, **metrics: Sequence[float]) -> list[Trial]:
    """A run of the baseline for each value; ``failure``: all of them ended with it."""
    return [
        Trial(
            number=number,
            phase=Phase.BASELINE,
            purpose=Purpose.BASELINE,
            seed=number,
            configuration={},
            digest="",
            subject=1,
            state=TrialState.FAILED if failure else TrialState.DONE,
            metrics={} if failure else dict(zip(metrics, values, strict=True)),
            failure=failure,
            started_at=BEGAN + timedelta(seconds=10 * number),
        )
        for number, values in enumerate(zip(*metrics.values(), strict=True), 1)
    ]


def test_scatter_of_a_metric():
    noise = noise_of(runs(rate=RATE))
    spread = float(np.std(RATE, ddof=1) / np.mean(RATE))
    found = noise.metrics["rate"]
    assert noise.runs == 10
    assert (found.noise.median, found.low, found.high) == (100.5, 91, 112)
    assert found.noise.spread == pytest.approx(spread)
    # Tables of the chi-squared distribution: 9 degrees of freedom, 2.700 and 19.023.
    assert found.spread_low == pytest.approx(spread * math.sqrt(9 / 19.023), rel=1e-4)
    assert found.spread_high == pytest.approx(spread * math.sqrt(9 / 2.700), rel=1e-4)


def test_what_budgets_can_prove():
    noise = noise_of(runs(rate=RATE, waf=[2.0] * 10), (90, 400))
    spread = noise.metrics["rate"].noise.spread
    assert [(p.trials, p.pairs) for p in noise.provable] == [(90, 7), (400, 8)]
    for provable in noise.provable:
        pairs = divide(provable.trials).pairs
        assert provable.change == {"rate": smallest_change(spread, pairs), "waf": 0.0}
    assert noise.pairs_needed["rate"] == {c: pairs_for(c, spread) for c in (0.05, 0.01)}
    assert noise.pairs_needed["waf"] == {0.05: 3, 0.01: 3}


def test_a_change_that_can_be_proven_is_proven_as_often_as_said():
    """Simulated: eight pairs of runs that scatter like the baseline's, one of each pair better."""
    from scipy import stats

    noise = noise_of(runs(rate=RATE), (400,))
    spread, change = noise.metrics["rate"].noise.spread, noise.provable[0].change["rate"]
    generator = np.random.default_rng(7)
    shape = (4000, noise.provable[0].pairs)
    logs = generator.normal(0, spread, shape) - generator.normal(0, spread, shape)
    proven = stats.ttest_1samp(logs + math.log1p(change), 0, axis=1, alternative="greater")
    assert np.mean(proven.pvalue < 0.025) == pytest.approx(0.8, abs=0.03)


def test_other_metrics_are_told_and_not_judged():
    noise = noise_of(runs(time=[1, 2, 3], write_p99=[1, 10, 100]))
    assert noise.judged == ("time",)
    assert set(noise.metrics) == {"time", "write_p99"}
    assert set(noise.pairs_needed) == {"time"}


def test_of_a_benchmark_of_ones_own_all_metrics_are_judged():
    trials = runs(waf=[1, 1.1], mine=[5, 6])
    assert noise_of(trials, judged=()).judged == ("waf", "mine")
    assert noise_of(runs(mine=[5, 6])).judged == ("mine",)


@pytest.mark.parametrize(
    ("factor", "level"), [(0.75, "ok"), (0.85, "note"), (1.7, "warning"), (3.4, "problem")]
)
def test_levels_of_noise(factor: float, level: str):
    times = [100 + factor * (value - 101) for value in RATE]
    spread = 100 * np.std(times, ddof=1) / np.mean(times)
    (finding,) = judge_noise(noise_of(runs(time=times)))
    assert (finding.check, finding.level) == ("noise of time", level)
    assert float(finding.found.split("%")[0].removeprefix("spread ")) == pytest.approx(
        spread, rel=0.02
    )


def test_a_drift_is_told():
    times = [1 + 0.002 * n for n in range(10)]
    (finding,) = judge_noise(noise_of(runs(time=times)))
    assert finding.level is Severity.NOTE
    assert "drifting (p = 0.001)" in finding.found
    steady = judge_noise(noise_of(runs(waf=times)))
    assert [f.level for f in steady] == ["ok"]  # byte counters do not drift


def test_a_metric_that_is_always_0_has_no_spread():
    noise = noise_of(runs(time=[0.0] * 6))
    assert noise.pairs_needed == {}
    assert judge_noise(noise)[0].found == "no spread: the mean of 6 runs is 0"


def test_runs_that_failed():
    assert judge_failures(runs(time=[1, 2])) == []
    failed = runs("Corruption: x\nfull", time=[1, 2])
    (finding,) = judge_failures([*runs(time=[1]), *failed])
    assert finding.level is Severity.PROBLEM
    assert finding.found == "2 of 3 runs of the baseline failed: full"


@pytest.mark.parametrize(
    ("worst", "fitness"),
    [("ok", "fit"), ("note", "fit"), ("warning", "fit with care"), ("problem", "not fit")],
)
def test_the_sum(worst: str, fitness: str):
    findings = (Finding("a", Severity.OK, "b"), Finding("c", Severity(worst), "d", "e"))
    diagnosis = Diagnosis(machine={}, workload="w", findings=findings, noise=None)
    assert diagnosis.fitness is Fitness(fitness)
    assert sum(diagnosis.count(level) for level in Severity) == 2


def test_the_document_is_json():
    diagnosis = Diagnosis(
        machine={"cores": 2},
        workload="w",
        findings=(not_measured("no disk"),),
        noise=noise_of(runs(rate=RATE)),
    )
    document = json.loads(json.dumps(diagnosis.document(), allow_nan=False))
    assert document["findings"][0]["level"] == "note"
    assert document["fitness"] == "fit"
    assert document["noise"]["provable"][0]["trials"] == 90
    assert document["noise"]["pairs_needed"]["rate"].keys() == {"0.05", "0.01"}
    assert document["noise"]["metrics"]["rate"]["noise"]["median"] == 100.5


def test_a_machine_is_not_judged_by_the_conditions_of_runs():
    noise = noise_of(runs(own=RATE, others_cpu=[0.1] * 5 + [0.5] * 5), judged=())
    assert noise.judged == ("own",)
    assert noise.metrics["others_cpu"].high == 0.5  # told among the others
