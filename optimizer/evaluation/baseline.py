"""The baseline over all hosts: each measures its own, and its trials are compared with that.

Within a host, clocks are corrected for the machine's state and compared with the baseline of that
time; byte counters do not drift. Between hosts every metric but the machine's state is taken
relative to the host's own baseline. A shared machine gets slower and faster over minutes: what its
state during each run explains is taken out first (``machine_effect``).
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from operator import is_
from typing import TypeVar

import numpy as np

from models import Floats
from optimizer.evaluation.machine_effect import MachineEffect, machine_effect
from optimizer.trials.trial import Trial
from sampler.workload.metric_table import MACHINE, TIME_BASED

LEAST_RUNS = 5  # below, a trend cannot be told from noise
_MOST_SMOOTHED = 15  # in a long job half of its runs would be hours, and drift takes minutes
_PERMUTATIONS = 999
_MOST_PERMUTED = 1000  # beyond, the ratio is normal enough, and to shuffle takes a second


def drift_p(values: Floats) -> float | None:
    """Permutation p-value of von Neumann's ratio: mean square of successive differences.

    Small when neighbours in time resemble each other, whatever the shape of the drift. J. von
    Neumann, Annals of Mathematical Statistics 12 (1941). With more than 1,000 runs its normal
    limit, which A. Wald and J. Wolfowitz show for permutations of whatever values (the same
    journal, 14, 1943).

    Values are in the order of measurement. None with fewer than five, or when all are the same.
    """
    if len(values) < LEAST_RUNS or np.ptp(values) == 0:
        return None
    logs = np.log(values) if (values > 0).all() else values
    observed, n = np.square(np.diff(logs)).sum(), len(logs)
    if n > _MOST_PERMUTED:
        from scipy.special import ndtr

        ratio = observed / np.square(logs - logs.mean()).sum()
        return float(ndtr((ratio - 2) / np.sqrt(4 * (n - 2) / (n**2 - 1))))
    shuffled = np.random.default_rng(n).permuted(np.tile(logs, (_PERMUTATIONS, 1)), axis=1)
    at_random = np.square(np.diff(shuffled, axis=1)).sum(axis=1)
    return float((1 + np.count_nonzero(at_random <= observed)) / (_PERMUTATIONS + 1))


def smooth(seconds: Floats, values: Floats) -> Floats:
    """Local linear fit through half of the runs, at most 15, robust against single outliers.

    ``seconds``, when each run began, and ``values`` are of one shape, which the fit has too.
    """
    from statsmodels.nonparametric.smoothers_lowess import lowess

    window = max(LEAST_RUNS, min(len(values) / 2, _MOST_SMOOTHED))
    share = window / len(values)
    fitted = lowess(values, seconds, frac=min(share, 1.0), it=2, return_sorted=False)
    # A fit that leaves the measured range has been carried away by an end point.
    return np.clip(np.asarray(fitted, dtype=np.float64), values.min(), values.max())


# A jump is a quarter, which drift correction does not follow, and six deviations, which chance
# does not reach in any job; between this many runs before it and after it.
_LEAST_JUMP = math.log(1.25)
_JUMP_SPREADS = 6.0
LEAST_SPREAD = 0.01  # counters can repeat to the byte
LEAST_BEFORE, _LEAST_AFTER = 3, 2


def step_variance(logs: Floats) -> tuple[float, int]:
    """Variance from successive differences, which slow drift hardly touches, and their number.

    The largest step is left out: a jump is one, and is judged as such. J. von Neumann, Annals of
    Mathematical Statistics 12 (1941).
    """
    steps = np.sort(np.square(np.diff(logs)))[:-1]
    return (float(steps.mean()) / 2 if len(steps) else 0.0), len(steps)


def is_jump(away: Floats, spread: float) -> bool:
    """Whether logarithms lie on the same side, so far away from the level before them.

    ``spread`` is the standard deviation of single runs.
    """
    least = max(_LEAST_JUMP, _JUMP_SPREADS * spread)
    return bool((away > least).all() or (away < -least).all())


def stepped_levels(values: Floats) -> Floats | None:
    """The median of each stretch between jumps, one value a run; None where nothing jumped.

    Values are in the order of measurement, shape ``(n_runs,)``. Binary segmentation: A. Scott,
    M. Knott, Biometrics 30 (1974).
    """
    if not (values > 0).all():
        return None
    parts = _parts(np.log(values))
    if len(parts) < 2:
        return None
    lengths = [len(part) for part in parts]
    return np.repeat([float(np.exp(np.median(part))) for part in parts], lengths)


def _parts(logs: Floats) -> list[Floats]:
    """Stretches between jumps, in order."""
    n = len(logs)
    if n < LEAST_BEFORE + _LEAST_AFTER:
        return [logs]
    sums = np.cumsum(logs)
    places = np.arange(LEAST_BEFORE, n - _LEAST_AFTER + 1)
    before = sums[places - 1] / places
    after = (sums[-1] - sums[places - 1]) / (n - places)
    # Where to cut leaves the least sum of squares within both parts.
    at = int(places[np.argmax(places * (n - places) * np.square(after - before))])
    spread = max(math.sqrt(step_variance(logs)[0]), LEAST_SPREAD)
    # The first runs after it, and those after it on the whole: a single one that differs is none.
    level = np.median(logs[:at])
    away = np.append(logs[at : at + _LEAST_AFTER], np.median(logs[at:])) - level
    if not is_jump(away, spread):
        return [logs]
    return [*_parts(logs[:at]), *_parts(logs[at:])]


_ALPHA = 0.05
_EVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class MetricNoise:
    """How steady a metric of the baseline is."""

    median: float  # over all its runs
    spread: float | None  # standard deviation over the mean; None with fewer than two runs
    # Probability of so smooth a sequence if order did not matter; None with fewer than five runs.
    drift_p: float | None
    drifting: bool  # whether the metric is a clock and ``drift_p`` is below 0.05, or it jumped
    range: tuple[float, float] | None = None  # least and greatest level over the median, if so


@dataclass(frozen=True)
class HostBaseline:
    """The baseline's runs on one host, summed up: medians, and the noise of each metric.

    Clocks are corrected for the machine's state. ``trials`` are these runs, in the order in which
    they were given; ``jumps`` is whether jumps were looked for.
    """

    metrics: Mapping[str, float]
    noise: Mapping[str, MetricNoise]
    runs: int
    trials: tuple[Trial, ...] = field(repr=False)
    _seconds: Floats = field(repr=False)
    _levels: Mapping[str, Floats] = field(repr=False)
    jumps: bool = False
    machine: MachineEffect = field(default_factory=MachineEffect, repr=False)

    def since_last_jump(self) -> Mapping[str, float]:
        """Raw medians over the runs since ``time`` last jumped and stayed; over all without."""
        since = [run for run in _in_order(self.trials) if run.metrics.get("time", 0.0) > 0]
        levels = stepped_levels(np.array([run.metrics["time"] for run in since]))
        if levels is None:
            since = list(self.trials)
        else:
            since = since[int(np.flatnonzero(np.diff(levels))[-1]) + 1 :]
        return {
            name: float(np.median([run.metrics[name] for run in since])) for name in self.metrics
        }

    def factors(
        self, metrics: Mapping[str, float], measured_at: datetime | None
    ) -> Mapping[str, float]:
        """What takes a run's clocks to the usual state of the machine, and to the median level."""
        found = dict(self.machine.factors(metrics))
        if measured_at is not None and self._levels:
            drift = self.drift_factors(np.array([measured_at.timestamp()]))
            found |= {name: float(each[0]) * found.get(name, 1.0) for name, each in drift.items()}
        return found

    def drift_factors(self, moments: Floats) -> Mapping[str, Floats]:
        """What takes drifting metrics to the median: 1 at NaN, else by seconds since 1970."""
        known = ~np.isnan(moments)
        found = {name: np.ones(len(moments)) for name in self._levels}
        for name, level in self._levels.items():
            passed = np.interp(moments[known], self._seconds, level)
            found[name][known] = self.metrics[name] / passed
        return found


def host_baseline(
    trials: Sequence[Trial], before: HostBaseline | None = None, *, jumps: bool = False
) -> HostBaseline:
    """Sums up a host's runs of the baseline that ended well; there is at least one.

    Nobody knows when a given one was measured, so it says nothing about drift. ``before``, what
    was summed up last, is returned where it is of the very same runs. With ``jumps``, where
    a metric jumped and stayed there, its level is the median of that stretch.
    """
    runs = tuple(trials)
    alike = before is not None and before.jumps == jumps and len(runs) == before.runs
    if before is not None and alike and all(map(is_, runs, before.trials)):
        return before
    ordered = _in_order(runs)
    machine = machine_effect(ordered)
    measured = [machine.corrected(run.metrics) for run in ordered]
    names = [name for name in measured[0] if all(name in metrics for metrics in measured)]
    table = {name: np.array([metrics[name] for metrics in measured]) for name in names}
    timed = [i for i, run in enumerate(ordered) if run.started_at]
    seconds = np.array([run.started_at.timestamp() for run in ordered if run.started_at])
    series = {name: values[timed] for name, values in table.items()}
    drift = {name: drift_p(series[name]) if name in TIME_BASED else None for name in names}
    drifting = [name for name, p in drift.items() if p is not None and p < _ALPHA]
    levels = {name: smooth(seconds, series[name]) for name in drifting}
    results = [name for name in names if name not in MACHINE]
    found = {name: stepped_levels(series[name]) for name in results} if jumps else {}
    stepped = {name: level for name, level in found.items() if level is not None}
    levels |= stepped
    medians = {name: float(np.median(values)) for name, values in table.items()}
    noise = {}
    for name, values in table.items():
        median, level = medians[name], levels.get(name)
        if name in stepped:  # the scatter within the stretches is the noise
            values = values[timed] * median / stepped[name]
        mean = float(values.mean())
        # What was learned from these very runs fits them too well: each coefficient costs a run.
        lost = 1 + sum(map(bool, machine.coefficients.get(name, ())))
        known = len(values) > lost and mean
        spread = float(values.std(ddof=lost)) / abs(mean) if known else None
        ends = None
        if level is not None:
            ends = float(level.min() / median), float(level.max() / median)
        noise[name] = MetricNoise(median, spread, drift[name], level is not None, ends)
    return HostBaseline(medians, noise, len(ordered), runs, seconds, levels, jumps, machine)


def _in_order(runs: Sequence[Trial]) -> list[Trial]:
    """As they were measured; first those of which nobody knows when."""
    return sorted(runs, key=lambda run: (run.started_at or _EVER, run.number))


_Number = TypeVar("_Number", float, Floats)
LEAST_COMPARED = 2  # with a single run a host's level is mostly noise


@dataclass(frozen=True)
class Baseline:
    """The baseline's runs, summed up."""

    metrics: Mapping[str, float]  # medians over all runs of all hosts
    noise: Mapping[str, MetricNoise]  # one for each metric: the scatter within hosts
    runs: int  # how many runs it rests on
    hosts: Mapping[str | None, HostBaseline]  # each host's own, by name (None: nobody said which)

    def corrected(
        self,
        metrics: Mapping[str, float],
        measured_at: datetime | None,
        host: str | None = None,
        *,
        least: int = LEAST_COMPARED,
    ) -> Mapping[str, float]:
        """Metrics as they would have been at the median level of all hosts, in the usual state.

        What ``metrics`` tell of the machine's state corrects its clocks. Where ``measured_at`` is
        None drift is left as it is. Of a host that has fewer than ``least`` runs of the baseline
        nothing is corrected, unless there is only one host's.
        """
        own = self._own(host, least)
        factors = self._factors(own, own.factors(metrics, measured_at), 1.0) if own else {}
        if not factors:
            return metrics
        return {name: value * factors.get(name, 1.0) for name, value in metrics.items()}

    def corrected_trial(self, trial: Trial) -> Mapping[str, float]:
        """A trial's metrics; see ``corrected``."""
        return self.corrected(trial.metrics, trial.started_at, trial.host)

    def corrected_mean(self, runs: Sequence[Trial]) -> Mapping[str, float]:
        """The mean of each metric that all runs have; see ``corrected``."""
        return mean_metrics([self.corrected_trial(run) for run in runs])

    def corrected_of_many(
        self, trials: Sequence[Trial], names: Sequence[str]
    ) -> dict[str, Floats]:
        """The same of many trials at once, to the last digit; NaN where a trial has none."""
        values = {
            name: np.array([trial.metrics.get(name, math.nan) for trial in trials], dtype=float)
            for name in names
        }
        began = [t.started_at.timestamp() if t.started_at else math.nan for t in trials]
        places: defaultdict[str | None, list[int]] = defaultdict(list)
        for place, trial in enumerate(trials):
            places[trial.host].append(place)
        for host, here in places.items():
            own, moments = self._own(host), np.array(began)[here]
            if own is None:
                continue
            found, ones = dict(own.drift_factors(moments)), np.ones(len(here))
            for name in own.machine.coefficients:
                state = [own.machine.factors(trials[place].metrics)[name] for place in here]
                found[name] = found.get(name, ones) * np.array(state)
            for name, factors in self._factors(own, found, ones).items():
                if name in values:
                    values[name][here] *= factors
        return values

    def _own(self, host: str | None, least: int = LEAST_COMPARED) -> HostBaseline | None:
        """What a host's trials are compared with; None: nothing of theirs is corrected."""
        if len(self.hosts) == 1:
            (only,) = self.hosts.values()
            return only
        own = self.hosts.get(host)
        return None if own is None or own.runs < least else own

    def _factors(
        self, own: HostBaseline, within: Mapping[str, _Number], none: _Number
    ) -> Mapping[str, _Number]:
        if len(self.hosts) == 1:
            return within
        return {
            name: within.get(name, none) * self.metrics[name] / level
            for name, level in own.metrics.items()
            if level > 0 and self.metrics.get(name, 0) > 0 and name not in MACHINE
        }

    def present_level(self, host: str | None) -> Mapping[str, float]:
        """What a host measures now: its medians since its last jump; of all where it has none."""
        own = self.hosts.get(host)
        return self.metrics if own is None else own.since_last_jump()


def mean_metrics(runs: Sequence[Mapping[str, float]]) -> Mapping[str, float]:
    """The mean of each metric that all runs have."""
    first, *others = runs
    if not others:
        return first
    names = [name for name in first if all(name in other for other in others)]
    return {name: sum(run[name] for run in runs) / len(runs) for name in names}


def summarise(trials: Iterable[Trial], *, before: Baseline | None = None) -> Baseline:
    """Sums up the baseline's runs that ended well, host by host.

    Of ``before``, a baseline of earlier runs, a host that has no new run keeps what it had.

    Raises:
        ValueError: There is none.
    """
    by_host: defaultdict[str | None, list[Trial]] = defaultdict(list)
    for trial in trials:
        if trial.done:
            by_host[trial.host].append(trial)
    if not by_host:
        raise ValueError("no run of the baseline has succeeded")
    known = before.hosts if before else {}
    # A host alone has always been followed by its drift; one among others may come back after a
    # jump, and what it measured before and after it is compared with the others'.
    several = len(by_host) > 1
    hosts = {
        host: host_baseline(runs, known.get(host), jumps=several) for host, runs in by_host.items()
    }
    if len(hosts) == 1:
        (only,) = hosts.values()
        return Baseline(only.metrics, only.noise, only.runs, hosts)
    first, *others = hosts.values()
    names = [name for name in first.metrics if all(name in own.metrics for own in others)]
    runs = [
        hosts[host].machine.corrected(run.metrics) for host, own in by_host.items() for run in own
    ]
    medians = {name: float(np.median([run[name] for run in runs])) for name in names}
    noise = {
        name: _pooled(medians[name], [(own.noise[name], own.runs) for own in hosts.values()])
        for name in names
    }
    return Baseline(medians, noise, len(runs), hosts)


def _pooled(median: float, noises: Sequence[tuple[MetricNoise, int]]) -> MetricNoise:
    """The noise within hosts, each weighed by its runs; drifting where one host does."""
    known = [(noise.spread, runs - 1) for noise, runs in noises if noise.spread is not None]
    freedom = sum(weight for _, weight in known)
    square = sum(spread**2 * weight for spread, weight in known)
    tested = [noise.drift_p for noise, _ in noises if noise.drift_p is not None]
    ranges = [noise.range for noise, _ in noises if noise.range]
    return MetricNoise(
        median=median,
        spread=math.sqrt(square / freedom) if freedom else None,
        drift_p=min(1.0, min(tested) * len(tested)) if tested else None,  # Bonferroni
        drifting=any(noise.drifting for noise, _ in noises),
        range=(min(low for low, _ in ranges), max(high for _, high in ranges)) if ranges else None,
    )
