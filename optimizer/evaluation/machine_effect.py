"""What the machine's state did to a run's clocks, learned from repeats and taken out of every run.

A trial may tell how much of the processors others used and how fast the machine was (``MACHINE``).
Runs of one configuration on one host differ by noise alone, so they show how much of it that
explains (control variates).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from models import Floats
from optimizer.trials.trial import Trial
from sampler.workload.metric_table import MACHINE, METRICS, READS, TIME_BASED

# Reads of the settled tree are made when the run's state has been measured: it is not theirs.
_CORRECTED = tuple(name for name in TIME_BASED if name not in READS)
# So many repeats are predicted by the others, each in turn: by then the noise is known.
_MOST_LEFT_OUT = 500
_LEAST_FREEDOM = 4  # repeats beyond the first run of each configuration
# Before the repeats are seen: the state explains nothing with this probability, else any of these
# shares of the noise. Below 0.7, chance would too often pass for a cause where repeats are few.
_NOTHING = 0.7
_SHARES = np.array([0.0, 0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95])
_PRIOR = np.array([_NOTHING, *[(1 - _NOTHING) / (len(_SHARES) - 1)] * (len(_SHARES) - 1)])


@dataclass(frozen=True, eq=False)
class MachineEffect:
    """How a host's clocks depend on the machine's state; see ``machine_effect``."""

    # By clock, the change of its logarithm per unit of each of ``MACHINE`` (a share of the
    # processors, the logarithm of the speed); a clock of which nothing is learned is left out.
    coefficients: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    usual: tuple[float, ...] = ()  # the median: few busy runs do not move it
    # Least and greatest state; a run beyond is corrected as if it were there.
    seen: tuple[tuple[float, float], ...] = ()

    def away(self, metrics: Mapping[str, float]) -> list[float]:
        """How far a run's state is from the usual one; 0 where the run does not tell it."""
        here = zip(_state(metrics), self.usual, self.seen, strict=True)
        return [0.0 if math.isnan(x) else min(max(x, a), b) - mid for x, mid, (a, b) in here]

    def factors(self, metrics: Mapping[str, float]) -> Mapping[str, float]:
        """What takes each clock of a run to the usual state; nothing for what is not learned.

        A state that the run does not tell counts as usual.
        """
        if not self.coefficients:
            return {}
        away = self.away(metrics)
        return {
            name: math.exp(-sum(b * x for b, x in zip(slopes, away, strict=True)))
            for name, slopes in self.coefficients.items()
        }

    def corrected(self, metrics: Mapping[str, float]) -> Mapping[str, float]:
        """A run's metrics as they would have been in the usual state."""
        factors = self.factors(metrics)
        return {n: v * factors.get(n, 1.0) for n, v in metrics.items()} if factors else metrics


class _Table(NamedTuple):
    states: Floats  # shape ``(n, 2)``, usual where unknown
    logs: Mapping[str, Floats]  # the clocks' logarithms, each of shape ``(n,)``
    groups: NDArray[np.int64]  # a number that those share that measured the same

    def at(self, places: NDArray[Any]) -> "_Table":
        """Some of the runs."""
        logs = {name: values[places] for name, values in self.logs.items()}
        return _Table(self.states[places], logs, self.groups[places])

    def repeats(self) -> "_Table":
        """The runs that are not alone in their group: the others teach nothing."""
        return self.at(np.bincount(self.groups)[self.groups] > 1)

    @property
    def freedom(self) -> int:
        """How many repeats there are, beyond the first run of each configuration."""
        return len(self.groups) - len(np.unique(self.groups))


def _table_of(runs: Sequence[Trial]) -> _Table | None:
    told = [run for run in runs if not all(map(math.isnan, _state(run.metrics)))]
    if not told:
        return None
    states = np.array([_state(run.metrics) for run in told])
    states[:, np.isnan(states).all(axis=0)] = 0.0
    states = np.where(np.isnan(states), np.nanmedian(states, axis=0), states)
    table = {name: np.array([run.metrics.get(name, 0.0) for run in told]) for name in _CORRECTED}
    logs = {name: np.log(values) for name, values in table.items() if (values > 0).all()}
    return _Table(states, logs, np.unique([run.digest for run in told], return_inverse=True)[1])


def machine_effect(runs: Sequence[Trial]) -> MachineEffect:
    """Learns from whole runs on one host how its clocks depend on the machine's state.

    Only runs of the same configuration are compared. With few repeats, or where the state explains
    nothing, nothing is corrected.
    """
    table = _table_of(runs)
    if table is None:
        return MachineEffect()
    slopes = {name: found.tolist() for name, found in _slopes(table.repeats()).items()}
    least, most = table.states.min(axis=0).tolist(), table.states.max(axis=0).tolist()
    return MachineEffect(
        coefficients={name: tuple(found) for name, found in slopes.items() if any(found)},
        usual=tuple(np.median(table.states, axis=0).tolist()),
        seen=tuple(zip(least, most, strict=True)),
    )


def _squares(table: _Table) -> Mapping[str, Floats]:
    """By clock: the repeats' sums of squares, raw and corrected by what the others teach."""
    found = {name: np.zeros(2) for name in table.logs}
    every = np.arange(len(table.groups))
    some = every[:: len(every) // _MOST_LEFT_OUT + 1]
    for place in some:
        others = every != place
        beside, rest = others & (table.groups == table.groups[place]), table.at(others)
        here = np.clip(table.states[place], rest.states.min(axis=0), rest.states.max(axis=0))
        away = here - table.states[beside].mean(axis=0)
        weight = beside.sum() / (beside.sum() + 1) * len(every) / len(some)
        for name, slopes in _slopes(rest).items():
            raw = float(table.logs[name][place] - table.logs[name][beside].mean())
            found[name] += weight * np.square([raw, raw - float(away @ slopes)])
    return found


def _state(metrics: Mapping[str, float]) -> tuple[float, ...]:
    """The machine's state during a run, in the order of ``MACHINE``; NaN where unknown."""
    others, speed = (metrics.get(name, math.nan) for name in MACHINE)
    return others, math.log(speed) if 0 < speed < math.inf else math.nan


def _slopes(table: _Table) -> Mapping[str, Floats]:
    """Each clock's coefficients; of the wrong sign none: no busy or slow machine helps a run."""
    groups, freedom = np.unique(table.groups, return_inverse=True)[1], table.freedom
    counts = np.bincount(groups)

    def centred(values: Floats) -> Floats:
        return values - (np.bincount(groups, values) / counts)[groups]

    states = np.column_stack([centred(column) for column in table.states.T])
    varies = np.abs(states).max(axis=0, initial=0.0) > 1e-9  # beyond rounding
    slopes = {name: np.zeros(len(MACHINE)) for name in table.logs}
    for name in slopes if freedom >= _LEAST_FREEDOM else ():
        slower = np.array([1.0, -1.0]) * (1.0 if METRICS[name].better == "min" else -1.0)
        x, y, used = states * slower, centred(table.logs[name]), varies.copy()
        while used.any():
            found = np.zeros(len(slower))
            found[used] = _shrunk(x[:, used], y, freedom)
            if (found >= 0).all():
                slopes[name] = found * slower
                break
            used &= found >= 0
    return slopes


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


def machine_document(hosts: Mapping[str | None, Sequence[Trial]]) -> dict[str, Any] | None:
    """What each host's whole runs teach, as JSON holds it; None where none tells the state.

    ``noise``: by clock the standard deviation of the repeats' logarithms, raw, and corrected by
    what the other repeats teach. ``effects_of`` reads the rest back.
    """
    tables = {host: table for host, runs in hosts.items() if (table := _table_of(runs))}
    if not tables:
        return None
    totals: dict[str, Floats] = {}
    for table in (each.repeats() for each in tables.values()):
        for name, squares in _squares(table).items():
            more = np.array([*squares, table.freedom])
            totals[name] = totals.get(name, 0.0) + more
    spreads = {
        n: np.sqrt(total[:2] / total[2]).tolist() for n, total in totals.items() if total[2]
    }
    effects = {host: machine_effect(hosts[host]) for host in tables}
    return {
        "repeats": sum(table.freedom for table in tables.values()),
        "noise": {n: dict(zip(("raw", "corrected"), s, strict=True)) for n, s in spreads.items()},
        "hosts": [
            {
                "name": host,
                "usual": dict(zip(MACHINE, effect.usual, strict=True)),
                "seen": {
                    name: list(ends) for name, ends in zip(MACHINE, effect.seen, strict=True)
                },
                "coefficients": {
                    clock: dict(zip(MACHINE, slopes, strict=True))
                    for clock, slopes in effect.coefficients.items()
                },
            }
            for host, effect in effects.items()
        ],
    }


def effects_of(document: Mapping[str, Any] | None) -> dict[str | None, MachineEffect]:
    """The effect of each host, to the last digit, from such a document; none without one."""
    return {
        host["name"]: MachineEffect(
            {clock: tuple(s[n] for n in MACHINE) for clock, s in host["coefficients"].items()},
            tuple(host["usual"][name] for name in MACHINE),
            tuple((host["seen"][name][0], host["seen"][name][1]) for name in MACHINE),
        )
        for host in (document["hosts"] if document else ())
    }


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
        return f"Noise, corrected for the host's load and speed: {', '.join(told)}"
    nothing = "No correction for the host's load and speed: no effect could be learned from"
    return f"{nothing} {document['repeats']} repeats beyond the first run"
