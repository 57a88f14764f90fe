"""Whether the noise of the baseline leaves anything to be proven."""

from __future__ import annotations

from collections.abc import Sequence

from jobs.doctor.finding import Finding, Level, figure, graded, percent
from jobs.doctor.noise import MetricScatter, Noise
from optimizer.baseline.baseline import CLOCKS
from optimizer.trials.trial import Trial

# With 7 pairs, what a job of 90 trials has, such a spread of single runs hides every change below
# 9%, 20% and 43% (power); gains that tuning finds are often of the first two sizes.
SPREAD_NOTE, SPREAD_WARNING, SPREAD_PROBLEM = 0.05, 0.10, 0.20
LEAST_RUNS = 2


def judge_noise(noise: Noise) -> list[Finding]:
    """One finding a metric that the machine is judged by."""
    return [_metric(name, noise.metrics[name], noise.runs) for name in noise.judged]


def judge_failures(trials: Sequence[Trial]) -> list[Finding]:
    """The runs that did not end well; nothing where all did."""
    failed = [trial for trial in trials if not trial.done]
    if not failed:
        return []
    reasons = " / ".join(dict.fromkeys(_line(trial) for trial in failed))
    found = f"{len(failed)} of {len(trials)} runs of the baseline ended badly: {reasons}"
    advice = "mend that first: `rocktune bench` runs the baseline once and shows what it says"
    return [Finding("baseline runs", Level.PROBLEM, found, advice)]


def not_measured(why: str) -> Finding:
    """Noise that could not be measured on this machine as it is."""
    found = f"not measured: {why}"
    return Finding("noise", Level.NOTE, found, "mend that, and run `rocktune doctor` again")


def _metric(name: str, scatter: MetricScatter, runs: int) -> Finding:
    noise, check = scatter.noise, f"noise of {name}"
    if noise.spread is None:
        return Finding(check, Level.OK, f"no spread: the mean of {runs} runs is 0")
    found = (
        f"spread {percent(noise.spread)}, median {figure(noise.median)}, "
        f"{figure(scatter.low)} to {figure(scatter.high)} in {runs} runs"
    )
    level = graded(noise.spread, note=SPREAD_NOTE, warning=SPREAD_WARNING, problem=SPREAD_PROBLEM)
    advice = "" if level is Level.OK else _mend(name)
    if noise.drifting:
        found += f", drifting (p = {noise.drift_p:.2g})"
        level = Level.NOTE if level is Level.OK else level
        advice = f"{advice or _mend(name)}; a job corrects clocks for drift that it sees"
    return Finding(check, level, found, advice)


def _mend(name: str) -> str:
    if name in CLOCKS:
        return "see to the findings above, then try a longer workload (rocktune workloads)"
    return "try a longer workload (rocktune workloads): byte counters scatter less over more data"


def _line(trial: Trial) -> str:
    return (trial.failure or trial.state.value).splitlines()[-1]
