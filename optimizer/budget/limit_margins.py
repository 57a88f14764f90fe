"""How far beyond its bound a limit still counts as kept: planned from noise, before the proof.

No number of noisy runs shows that a configuration which changes nothing keeps ``rate >= 1
baseline``: its rate is on the bound. So a limit is judged by a test of non-inferiority: what is
shown is that the metric is within a margin of the bound. The margin is as wide as the planned
pairs need to show, with the probability ``LIMIT_POWER``, that an unchanged configuration keeps all
limits, and 0 where they need none. Where the baseline itself breaks a bound, the margin is that of
a configuration exactly on it. S. Wellek, Testing Statistical Hypotheses of Equivalence and
Noninferiority (2010), chapter 1.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from optimizer.budget.budget import LimitMargin, Plan
from optimizer.budget.power import LIMIT_POWER, smallest_margin
from optimizer.budget.sample_size import percent_words, spread_of
from optimizer.objective.limits import limit_words
from optimizer.objective.objective import Limit
from optimizer.trials.history import History
from optimizer.trials.problem import Problem
from optimizer.trials.trial import Purpose

_STEP = 1000  # margins are whole tenths of a percent, so that what is told is what is tested
_MOST_SHARE = 0.999  # of a bound from below


def with_limit_margins(problem: Problem, plan: Plan, history: History) -> Plan:
    """The plan with a margin for each bound of the limits; the same where there is none.

    By the runs of the baseline that end before the confirmation begins, so it is final then.
    """
    bounds = [bound for limit in problem.objective.limits for bound in limit.bounds]
    if not bounds:
        return plan
    by_host: defaultdict[str | None, list[Mapping[str, float]]] = defaultdict(list)
    for run in (history[number] for number in history.own(Purpose.BASELINE)):
        if run.done:
            by_host[run.host].append(run.metrics)
    # All of them are to be kept at once.
    power = 1 - (1 - LIMIT_POWER) / len(bounds)
    margins = []
    for bound in bounds:
        series = [
            [m[bound.metric] for m in runs if bound.metric in m] for runs in by_host.values()
        ]
        # A larger load has another level, which nobody knows yet.
        margins.append(
            margin_of(bound, series, plan.pairs, power, leveled=problem.confirm is None)
        )
    return replace(plan, margins=tuple(margins))


def margin_of(
    bound: Limit, series: Sequence[Sequence[float]], pairs: int, power: float, *, leveled: bool
) -> LimitMargin:
    """From the baseline's values by host, each in the order of measurement."""
    words, runs = limit_words(bound), sum(map(len, series))
    repeated = [values for values in series if len(values) > 1]
    if bound.beside_baseline:
        # Pairs do not feel drift, nor what lies between hosts.
        spread, steps = spread_of(*repeated), sum(len(values) - 1 for values in repeated)
        # Of the mean square successive difference (J. von Neumann, 1941).
        freedom = 2 * steps**2 / (3 * steps - 1) if steps else 0.0
        scatter = (spread or 0.0) * math.sqrt(2)
        inside = _inside(bound, 1.0)
    else:
        spread, freedom = _spread_within(repeated)
        scatter, level = spread or 0.0, np.mean([v for values in series for v in values] or [0.0])
        inside = _inside(bound, float(level)) if leveled else 0.0
    if spread is None or inside is None:
        return LimitMargin(words, 0.0, spread, runs)
    known = None if bound.beside_baseline else runs
    needed = (
        smallest_margin(scatter, freedom, pairs, power=power, level_runs=known) if scatter else 0.0
    )
    beyond = max(0.0, needed - max(0.0, inside))
    share = min(-math.expm1(-beyond), _MOST_SHARE) if bound.is_floor else math.expm1(beyond)
    return LimitMargin(words, math.ceil(share * _STEP - 1e-9) / _STEP, spread, runs)


def _inside(bound: Limit, level: float) -> float | None:
    """How far a level is inside the bound, as a logarithm; None where there is no ratio.

    ``level`` is 1 for a bound that is a multiple of the baseline.
    """
    multiple = bound.at_least_baseline or bound.at_most_baseline
    figure = multiple or (bound.at_least if bound.is_floor else bound.at_most)
    if figure <= 0:
        return None
    if level <= 0:
        return -math.inf if bound.is_floor else math.inf
    return math.log(level / figure) * (1 if bound.is_floor else -1)


def _spread_within(series: Sequence[Sequence[float]]) -> tuple[float | None, float]:
    """Standard deviation of single runs on a host, of their logarithms, and its freedom.

    Of their shares of the mean where a value is not above 0; None where it is unknown.
    """
    squares, freedom = 0.0, 0
    for values in map(np.asarray, series):
        positive = bool((values > 0).all())
        scaled = np.log(values) if positive else values / (abs(values.mean()) or 1.0)
        squares += float(np.square(scaled - scaled.mean()).sum())
        freedom += len(values) - 1
    return (math.sqrt(squares / freedom), float(freedom)) if freedom else (None, 0.0)


def margin_words(plan: Plan) -> str:
    """How the limits will be judged, in one line; empty without limits."""
    told = [
        f"{each.limit} {_margin_told(each)}"
        + ("" if each.spread is None else f" (noise of {each.runs} baseline runs: "
           f"{percent_words(100 * each.spread)})")
        for each in plan.margins
    ]  # fmt: skip
    return f"limits as {plan.pairs} pairs can show them: {'; '.join(told)}" if told else ""


def _margin_told(margin: LimitMargin) -> str:
    if margin.spread is None:
        return "without a margin (noise unknown)"
    return f"within a margin of {100 * margin.share:.1f}%" if margin.share else "without a margin"
