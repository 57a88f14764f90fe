"""What the machine's state did to a run's clocks, learned from repeats and taken out of every run.

A trial may tell how much of the processors others used and how fast the machine was (``MACHINE``).
Runs of one configuration on one host differ by noise alone, so they show how much of it that
explains (control variates).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optimizer.trials.trial import Trial
from sampler.workload.metric_units import MACHINE
from sampler.workload.tree_reads import READS

CLOCKS = ("time", "rate", "load_time", *READS)
_SECONDS = ("time", "load_time")  # the other clocks are operations per second
_LEAST_FREEDOM = 4  # repeats beyond the first run of each configuration
# Before the repeats are seen: the state explains nothing with this probability, else any of these
# shares of the noise. Below 0.7, chance would too often pass for a cause where repeats are few.
_NOTHING = 0.7
_SHARES = np.array([0.0, 0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95])
_PRIOR = np.array([_NOTHING, *[(1 - _NOTHING) / (len(_SHARES) - 1)] * (len(_SHARES) - 1)])
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MachineEffect:
    """How a host's clocks depend on the machine's state; see ``machine_effect``."""

    # By clock, the change of its logarithm per unit of each of ``MACHINE`` (a share of the
    # processors, the logarithm of the speed); a clock of which nothing is learned is left out.
    coefficients: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    usual: tuple[float, ...] = ()  # the mean state
    # Least and greatest state; a run beyond is corrected as if it were there.
    seen: tuple[tuple[float, float], ...] = ()
    # Of each run: the state, shape ``(n, 2)``, usual where unknown; the clocks' logarithms; and a
    # number that those share that measured the same.
    states: Floats = field(default_factory=lambda: np.empty((0, len(MACHINE))), repr=False)
    logs: Mapping[str, Floats] = field(default_factory=dict, repr=False)
    groups: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64), repr=False)

    def factors(self, metrics: Mapping[str, float]) -> Mapping[str, float]:
        """What takes each clock of a run to the usual state; nothing for what is not learned.

        A state that the run does not tell counts as usual.
        """
        if not self.coefficients:
            return {}
        here = zip(_state(metrics), self.usual, self.seen, strict=True)
        away = [0.0 if math.isnan(x) else min(max(x, a), b) - mean for x, mean, (a, b) in here]
        return {
            name: math.exp(-sum(b * x for b, x in zip(slopes, away, strict=True)))
            for name, slopes in self.coefficients.items()
        }

    def corrected(self, metrics: Mapping[str, float]) -> Mapping[str, float]:
        """A run's metrics as they would have been in the usual state."""
        factors = self.factors(metrics)
        return {n: v * factors.get(n, 1.0) for n, v in metrics.items()} if factors else metrics

    @property
    def freedom(self) -> int:
        """How many repeats there are, beyond the first run of each configuration."""
        return len(self.groups) - len(np.unique(self.groups))

    @cached_property
    def squares(self) -> Mapping[str, Floats]:
        """By clock: the repeats' sums of squares, raw and corrected by what the others teach."""
        found = {name: np.zeros(2) for name in self.logs}
        for place, group in enumerate(self.groups):
            others = np.arange(len(self.groups)) != place
            beside = others & (self.groups == group)
            if not beside.any():
                continue
            known = self.states[others]
            here = np.clip(self.states[place], known.min(axis=0), known.max(axis=0))
            away = here - self.states[beside].mean(axis=0)
            weight = beside.sum() / (beside.sum() + 1)
            for name, logs in self.logs.items():
                slopes = _learned(name, known, logs[others], self.groups[others])
                raw = float(logs[place] - logs[beside].mean())
                found[name] += weight * np.square([raw, raw - float(away @ slopes)])
        return found


def machine_effect(runs: Sequence[Trial]) -> MachineEffect:
    """Learns from whole runs on one host how its clocks depend on the machine's state.

    Only runs of the same configuration are compared. With few repeats, or where the state explains
    nothing, nothing is corrected.
    """
    states = np.array([_state(run.metrics) for run in runs]).reshape(-1, len(MACHINE))
    known = ~np.isnan(states)
    if not known.any():
        return MachineEffect()
    states[:, ~known.any(axis=0)] = 0.0
    usual = tuple(np.nanmean(states, axis=0).tolist())
    states = np.where(np.isnan(states), usual, states)
    seen = tuple(zip(states.min(axis=0).tolist(), states.max(axis=0).tolist(), strict=True))
    groups = np.unique([run.digest for run in runs], return_inverse=True)[1]
    table = {name: np.array([run.metrics.get(name, 0.0) for run in runs]) for name in CLOCKS}
    logs = {name: np.log(values) for name, values in table.items() if (values > 0).all()}
    slopes = {name: _learned(name, states, values, groups) for name, values in logs.items()}
    learned = {name: tuple(found.tolist()) for name, found in slopes.items() if found.any()}
    return MachineEffect(learned, usual, seen, states, logs, groups)


def _state(metrics: Mapping[str, float]) -> tuple[float, ...]:
    """The machine's state during a run, in the order of ``MACHINE``; NaN where unknown."""
    others, speed = (metrics.get(name, math.nan) for name in MACHINE)
    return others, math.log(speed) if 0 < speed < math.inf else math.nan


def _learned(name: str, states: Floats, logs: Floats, groups: NDArray[np.int64]) -> Floats:
    """A clock's coefficients, 0 where of the wrong sign: no busy or slow machine helps a run."""
    slower = np.array([1.0, -1.0]) * (1.0 if name in _SECONDS else -1.0)
    table = np.column_stack([states * slower, logs])
    same = groups[:, None] == groups
    table = table - same @ table / same.sum(axis=1, keepdims=True)
    x, y, freedom = table[:, :-1], table[:, -1], len(groups) - len(np.unique(groups))
    used = np.abs(x).max(axis=0, initial=0.0) > 1e-9  # beyond rounding
    while used.any() and freedom >= _LEAST_FREEDOM:
        found = np.zeros(len(slower))
        found[used] = _shrunk(x[:, used], y, freedom)
        if (found >= 0).all():
            return found * slower
        used &= found >= 0
    return np.zeros(len(slower))


def _shrunk(x: Floats, y: Floats, freedom: int) -> Floats:
    """Ridge regression averaged over its strength, each weighed by its marginal likelihood.

    All 0 where it is likelier than not that ``x``, shape ``(n, k)``, says nothing of ``y``. In
    closed form by the singular values of ``x``; the variance of the noise is integrated out
    (D. MacKay, Neural Computation 4, 1992; J. Hoeting et al., Statistical Science 14, 1999).
    """
    scale = np.sqrt(np.square(x).sum(axis=0) / freedom)
    u, sizes, vt = np.linalg.svd(x / scale, full_matrices=False)
    along, total = u.T @ y, float(y @ y)
    rest = max(total - float(along @ along), 1e-12 * total)
    if not rest:
        return np.zeros(len(scale))
    prior = (_SHARES / (1 - _SHARES) / len(scale))[:, None]
    grown = 1 + prior * np.square(sizes)
    errors = rest + (np.square(along) / grown).sum(axis=1)
    likely = -0.5 * np.log(grown).sum(axis=1) - freedom / 2 * np.log(errors)
    weights = _PRIOR * np.exp(likely - likely.max())
    weights /= weights.sum()
    if weights[0] > 0.5:
        return np.zeros(len(scale))
    shrunk = (weights[:, None] * prior * sizes / grown).sum(axis=0)
    return np.asarray(vt.T @ (shrunk * along) / scale)


def machine_document(effects: Mapping[str | None, MachineEffect]) -> dict[str, Any] | None:
    """As JSON holds it, from the effect of each host; None where no run tells the state.

    ``noise``: by clock the standard deviation of the repeats' logarithms, raw, and corrected by
    what the other repeats teach.
    """
    known = {host: effect for host, effect in effects.items() if effect.logs}
    noise = {}
    for name in CLOCKS:
        having = [effect for effect in known.values() if name in effect.logs and effect.freedom]
        if having:
            squares = np.sum([[*each.squares[name], each.freedom] for each in having], axis=0)
            spread = np.sqrt(squares[:2] / squares[2]).tolist()
            noise[name] = dict(zip(("raw", "corrected"), spread, strict=True))
    hosts = [
        {
            "name": host,
            "usual": dict(zip(MACHINE, effect.usual, strict=True)),
            "coefficients": {
                name: dict(zip(MACHINE, slopes, strict=True))
                for name, slopes in effect.coefficients.items()
            },
        }
        for host, effect in known.items()
    ]
    repeats = sum(effect.freedom for effect in known.values())
    return {"repeats": repeats, "noise": noise, "hosts": hosts} if known else None


def machine_words(document: Mapping[str, Any] | None) -> str | None:
    """One line from such a document; None without one."""
    if document is None:
        return None
    corrected = {name for host in document["hosts"] for name in host["coefficients"]}
    told = [
        f"{name} {100 * noise['raw']:.1f}% -> {100 * noise['corrected']:.1f}%"
        for name, noise in document["noise"].items()
        if name in corrected
    ]
    if told:
        return f"Noise of {', '.join(told)} after correction for what else ran"
    nothing = "No correction for what else ran: nothing to learn from"
    return f"{nothing} {document['repeats']} repeats"
