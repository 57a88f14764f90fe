"""The baseline over all hosts: each measures its own, and its trials are compared with that.

Within a host, clocks are corrected for the machine's state and compared with the baseline of that
time; byte counters do not drift. Between hosts every metric but the machine's state is taken
relative to the host's own baseline.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

import numpy as np

from models import Floats
from optimizer.baseline.host_baseline import HostBaseline, MetricNoise, host_baseline
from optimizer.trials.trial import Trial
from sampler.workload.metric_table import MACHINE

__all__ = ["Baseline", "MetricNoise", "summarise"]

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
