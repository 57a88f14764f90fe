"""Hosts that measure differently than before, or far noisier than the others: set aside.

Slow drift of a host is measured and taken out (``baseline``). What cannot be is a
jump, after which nobody knows since when the host's trials are wrong, and noise that drowns
every difference. Both are judged by the host's own runs of the baseline.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from models import Floats
from optimizer.evaluation.baseline import LEAST_BEFORE, LEAST_SPREAD, is_jump, step_variance
from optimizer.evaluation.evaluation import Evaluation
from optimizer.trials.trial import History, Purpose, Trial

_NOISE_ALPHA = 0.001
_NOISE_RATIO = 3.0
_NOISE_SPREAD = 0.10  # below, comparisons still work
_LEAST_NOISY = 5
_FAILED_IN_A_ROW = 2
_CONFIRMING = (Purpose.SELECT, Purpose.PROVE)

_Scatters = Mapping[str, tuple[float, int]]  # by host the variance and the number of steps


@dataclass(frozen=True)
class HostOutlier:
    """Why a host is set aside, in one line."""

    why: str
    # The last run of the baseline in line; what was measured after it (None: all) is made again.
    since: int | None


def host_outlier(evaluation: Evaluation, host: str) -> HostOutlier | None:
    """Whether a host is to be set aside; None while it is in line."""
    history = evaluation.history
    runs = _ended(history, host)
    failing = _failing(runs, history) or _never_measured(history, host)
    if failing is not None:
        return failing
    done = [run for run in runs if run.done]
    for metric in (term.metric for term in evaluation.problem.objective.terms):
        numbers, values = _logs(done, metric)
        scatters = _scatters(evaluation, metric)
        if _jumped(values, _typical_spread(scatters), need=2):
            change = 100 * math.expm1(float(np.mean(values[-2:]) - np.median(values[:-2])))
            why = f"its baseline's {metric} jumped by {change:+z.0f}% and stayed there"
            return HostOutlier(why, numbers[-3])
        ratio = _noisier(scatters, host)
        if ratio is not None:
            why = f"its baseline's {metric} scatters {ratio:.1f} times as much as on other hosts"
            return HostOutlier(why, None)
    return None


def suspect(evaluation: Evaluation, host: str) -> bool:
    """Whether the last run of the baseline is out of line, so that another one shall tell.

    Where the one before it is so too, it has told: the host is set aside, or it is the only one,
    and what it measures from then on is compared with what its baseline is from then on.
    """
    history = evaluation.history
    done = [run for run in _ended(history, host) if run.done]
    for metric in (term.metric for term in evaluation.problem.objective.terms):
        (_, values), spread = _logs(done, metric), _typical_spread(_scatters(evaluation, metric))
        if _jumped(values, spread, need=1) and not _jumped(values, spread, need=2):
            return True
    return False


def measured_since(history: History, host: str, since: int | None) -> list[Trial]:
    """What a host explored after a run of its baseline, in the order of proposal."""
    begun = None if since is None else history[since].started_at
    trials = [history[number] for number in history.on_host(host, Purpose.CANDIDATE)]
    ended = [trial for trial in trials if trial.has_outcome]
    return [t for t in ended if begun is None or (t.started_at and t.started_at > begun)]


def confirmed_without_baseline(history: History, host: str) -> list[Trial]:
    """What a host measured to confirm, in order, if no run of the baseline ended well on it."""
    if any(run.done for run in _all_baselines(history, host)):
        return []
    numbers = sorted(n for each in _CONFIRMING for n in history.on_host(host, each))
    return [history[number] for number in numbers if history[number].has_outcome]


def _never_measured(history: History, host: str) -> HostOutlier | None:
    """A host that has come to confirm, and fails at once where others measure the baseline.

    One failure is enough: it has never shown that it can.
    """
    runs = [run for run in _all_baselines(history, host) if run.has_outcome]
    failed = [run for run in runs if run.purpose in _CONFIRMING]
    if not failed or any(run.done for run in runs):
        return None
    others = (other for other in history.hosts if other != host)
    if not any(run.done for other in others for run in _all_baselines(history, other)):
        return None
    return _fails(failed[-1], None)


def _all_baselines(history: History, host: str) -> list[Trial]:
    """The baseline's runs on a host, those of the confirmation included."""
    purposes = (Purpose.BASELINE, *_CONFIRMING)
    found = (history[n] for each in purposes for n in history.on_host(host, each))
    return [run for run in found if run.is_baseline]


def _fails(run: Trial, since: int | None) -> HostOutlier:
    said = (run.failure or "no reason given").splitlines()[-1]
    return HostOutlier(f"the baseline fails on it: {said}", since)


def _ended(history: History, host: str) -> list[Trial]:
    runs = [history[number] for number in history.on_host(host, Purpose.BASELINE)]
    return [run for run in runs if run.has_outcome]


def _logs(runs: Sequence[Trial], metric: str) -> tuple[list[int], Floats]:
    """The numbers of the runs whose metric is above 0, and its logarithms."""
    known = [run for run in runs if run.metrics.get(metric, 0.0) > 0]
    logs = [math.log(run.metrics[metric]) for run in known]
    return [run.number for run in known], np.array(logs)


def _jumped(values: Floats, spread: float, *, need: int) -> bool:
    """Whether the last ``need`` values lie on the same side, far from the median before them."""
    before, last = values[:-need], values[-need:]
    return len(before) >= LEAST_BEFORE and is_jump(last - np.median(before), spread)


def _failing(runs: Sequence[Trial], history: History) -> HostOutlier | None:
    """Where the baseline fails here and is measured elsewhere, the host is to blame."""
    last = runs[-_FAILED_IN_A_ROW:]
    if len(last) < _FAILED_IN_A_ROW or any(run.done for run in last):
        return None
    mine = {run.number for run in runs}
    if not any(history[n].done for n in history.own(Purpose.BASELINE) if n not in mine):
        return None
    good = [run.number for run in runs if run.done]
    return _fails(last[-1], good[-1] if good else None)


def _typical_spread(scatters: _Scatters) -> float:
    """Scatter of single runs within hosts, the same for all: the median over hosts."""
    known = [math.sqrt(square) for square, steps in scatters.values() if steps]
    return max(float(np.median(known)) if known else 0.0, LEAST_SPREAD)


def _scatters(evaluation: Evaluation, metric: str) -> _Scatters:
    history = evaluation.history
    return evaluation.once(
        ("scatters", metric),
        history.changes(Purpose.BASELINE),
        lambda: {
            host: step_variance(
                _logs([run for run in _ended(history, host) if run.done], metric)[1]
            )
            for host in history.hosts
        },
    )


def _noisier(scatters: _Scatters, host: str) -> float | None:
    """How many times the others' scatter, where that is too much to be chance; else None."""
    from scipy import stats

    mine, steps = scatters.get(host, (0.0, 0))
    if steps < _LEAST_NOISY:
        return None
    others = [scatter for other, scatter in scatters.items() if other != host]
    freedom = sum(count for _, count in others)
    if freedom < _LEAST_NOISY:
        return None
    theirs = max(sum(square * count for square, count in others) / freedom, LEAST_SPREAD**2)
    ratio = math.sqrt(mine / theirs)
    p = float(stats.f.sf(mine / theirs, steps, freedom))
    loud = ratio > _NOISE_RATIO and math.sqrt(mine) > _NOISE_SPREAD and p < _NOISE_ALPHA
    return ratio if loud else None
