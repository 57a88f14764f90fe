"""How small a change a proof can see: the power of the paired t test, before and after its runs.

Runs come in pairs, baseline and winner beside each other. With a spread s of single runs, the
logarithm of a pair's ratio scatters by about s * sqrt(2), and the test is the one-sided paired t
test of ``confirmation``. J. Cohen, Statistical Power Analysis (1988), section 2.

How many pairs a proof needs to show a change that was asked for follows from the measured noise.
It is planned anew whenever the baseline is measured again, so final when exploration ends: after
that no run of the baseline is made but those of the confirmation, which do not count here.

A limit is kept within a margin of its bound, which is planned from noise before the proof: no
number of noisy runs shows that a configuration which changes nothing keeps ``rate >= 1 baseline``:
its rate is on the bound. So it is a test of non-inferiority. The margin is as wide as the planned
pairs need to show, with the probability ``LIMIT_POWER``, that an unchanged configuration keeps all
limits, and 0 where they need none. Where the baseline itself breaks a bound, the margin is that of
a configuration exactly on it. S. Wellek, Testing Statistical Hypotheses of Equivalence and
Noninferiority (2010), chapter 1.
"""

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import count
from typing import Any

from optimizer.budget.budget import LimitMargin, Plan, SampleSizePlan, divide, explored_runs
from optimizer.objective.objective import Limit, limit_words
from optimizer.trials.problem import Problem
from optimizer.trials.trial import History, Phase, Purpose
from sampler.common.errors import InputError

# One-sided: the probability of calling a configuration better that is not. With it the test
# passes just when the fitness's 95% interval lies above 0.
ALPHA = 0.025
LIMIT_ALPHA = 0.05  # one-sided: the probability of calling a limit kept at its margin
# The same for a limit in figures: single runs are skewed where ratios of two are not, and at 0.05
# a limit on write_p99 was called kept in 8.5% of simulated proofs at the bound.
FIGURE_ALPHA = 0.025
# With which an unchanged configuration keeps all limits: real noise has heavier tails than the
# test assumes, and 80% should be left of it.
LIMIT_POWER = 0.92
LEAST_PAIRS = 3
POWER = 0.8
MOST_PAIRS = 10_000
_LEAST_TOLD = 0.001  # of a p-value: below it a few runs and their distribution tell nothing finer


def smallest_mean(scatter: float, pairs: int, alpha: float = ALPHA) -> float:
    """The smallest mean difference of pairs that passes the test with the probability ``POWER``.

    In the unit of ``scatter``, the standard deviation of the differences; 0 without noise.
    ``alpha``: the one-sided level of the test. There are at least two pairs.
    """
    return _effect(pairs, alpha) * scatter


def smallest_change(spread: float, pairs: int, alpha: float = ALPHA) -> float:
    """The smallest relative change that so many pairs show with the probability ``POWER``.

    A ratio less 1, such as 0.08 for 8%, by the ``spread`` of single runs over their mean; 0
    without noise. It is that of a rise: a fall of as many percent is farther from no change on the
    scale of logarithms, so it is seen surer.
    """
    # Beyond e^700 there is no float: such a change is no longer told apart from any greater one.
    return math.expm1(min(smallest_mean(spread * math.sqrt(2), pairs, alpha), 700.0))


def pairs_for(change: float, spread: float, alpha: float = ALPHA) -> int:
    """The fewest pairs that show a relative change, such as 0.05 for 5%; see ``smallest_change``.

    At least ``LEAST_PAIRS``, at most ``MOST_PAIRS``: more would be needed, but nobody waits for
    them. The change is above 0.
    """
    fewer = range(LEAST_PAIRS, MOST_PAIRS)

    def shown(pairs: int) -> bool:
        return smallest_change(spread, pairs, alpha) <= change

    return LEAST_PAIRS + bisect_left(fewer, True, key=shown)


@lru_cache(maxsize=1024)  # a plan is made before every trial
def _effect(pairs: int, alpha: float) -> float:
    """Mean over standard deviation of the pairs' differences that is seen with ``POWER``."""
    from scipy import optimize, stats

    freedom = pairs - 1
    critical = float(stats.t.isf(alpha, freedom))

    def missing(effect: float) -> float:
        return float(stats.nct.sf(critical, freedom, effect * math.sqrt(pairs))) - POWER

    # Beyond this even two pairs see anything.
    most = (critical + 40) / math.sqrt(pairs) * 4
    return float(optimize.brentq(missing, 0.0, most, xtol=1e-10))


def smallest_margin(
    scatter: float,
    freedom: float,
    pairs: int,
    *,
    power: float = LIMIT_POWER,
    level_runs: int | None = None,
) -> float:
    """How far inside its bound a true mean must lie to be shown to keep it with ``power``.

    By the one-sided t test at ``LIMIT_ALPHA``, or at ``FIGURE_ALPHA`` with ``level_runs``. In the
    unit of ``scatter``, the standard deviation of single differences, which is an estimate of
    ``freedom`` degrees of freedom itself: the power is the mean over what the true scatter may be.
    ``level_runs``: how many runs the level that lies inside was estimated from; None: it is known,
    as that of the runs beside. There are at least two pairs.
    """
    freedom = round(max(freedom, _LEAST_FREEDOM), 1)
    return _distance(pairs, freedom, power, level_runs) * scatter


# Of a scatter of fewer degrees of freedom hardly anything is known: the distance for it would be
# several times as long.
_LEAST_FREEDOM = 2.0
_QUANTILES = 40  # of what is estimated over what is true, each as likely


@lru_cache(maxsize=1024)
def _distance(pairs: int, freedom: float, power: float, level_runs: int | None) -> float:
    """``smallest_margin`` over the scatter."""
    import numpy as np
    from scipy import optimize, special  # scipy.stats takes a second to load

    critical = -special.stdtrit(pairs - 1, FIGURE_ALPHA if level_runs is not None else LIMIT_ALPHA)
    levels = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
    ratios = np.sqrt(special.chdtri(freedom, 1 - levels) / freedom * pairs)
    off = special.ndtri(levels[:, None]) * math.sqrt(pairs / level_runs) if level_runs else 0.0

    def missing(distance: float) -> float:
        effects = np.minimum(distance * ratios + off, 20.0)  # beyond it any test passes
        return 1 - float(np.mean(special.nctdtr(pairs - 1, effects, critical))) - power

    return float(optimize.brentq(missing, 0.0, 1000.0, xtol=1e-8))


def p_figure(p: float | None) -> str:
    """A p-value in a table: ``0.012``, and ``<0.001`` for every smaller one; ``n/a`` for none.

    Never 0: values that are the same in every run of a side have a p-value of 0 by arithmetic, but
    no test is that sure.
    """
    if p is None:
        return "n/a"
    return f"<{_LEAST_TOLD:g}" if p < _LEAST_TOLD else f"{p:.3f}"


def p_words(p: float | None) -> str:
    """A p-value in a sentence: ``p = 0.012``, ``p < 0.001`` or ``p unknown``; see ``p_figure``."""
    if p is None:
        return "p unknown"
    return f"p < {_LEAST_TOLD:g}" if p < _LEAST_TOLD else f"p = {p_figure(p)}"


_FIX = "write a change such as 5%, or of one metric, such as rate=5%"
MOST_DETECTED = 10.0  # a tenfold rise needs no planning


def parse_detect(text: str, *, field: str = "detect") -> tuple[float, str | None]:
    """Reads ``5%``, ``5`` or ``rate=5%``: the change as a ratio (0.05), and the metric or None.

    A bare number is in percent. One below 1 is refused: 0.05 may be meant as a ratio.

    Raises:
        InputError: It is no change, or it can be meant in two ways; about ``field``.
    """
    name, equals, given = text.rpartition("=")
    metric, given = name.strip(), given.strip()
    if equals and not metric:
        raise InputError(field, f"{text!r} names no metric; {_FIX}")
    try:
        percent = float(given.removesuffix("%"))
    except ValueError:
        raise InputError(field, f"{text!r} is not a change in percent; {_FIX}") from None
    if not given.endswith("%") and 0 < percent < 1:
        problem = f"{given} may mean {percent:g}% or {100 * percent:g}%; write it with the %"
        raise InputError(field, problem)
    if not 0 < percent <= 100 * MOST_DETECTED:
        limits = f"above 0%, up to {100 * MOST_DETECTED:g}%"
        raise InputError(field, f"{text!r} is out of range; write a change {limits}")
    return percent / 100, metric or None


def sample_size_words(planned: Mapping[str, Any]) -> str:
    """One line on ``SampleSizePlan.document``; a warning where the budget holds too little."""
    spread = f"{planned['metric']} {percent_words(planned['noise'])}"
    noise = f"noise of {planned['runs']} baseline runs: {spread}"
    most = "more than " if planned["trials"] is None else ""
    needed = f"{most}{planned['needed']} pairs ({noise})"
    takes = f"detecting a change of {planned['change']:g}% takes {needed}"
    if planned["needed"] <= planned["pairs"]:
        return f"{takes}; {planned['pairs']} are planned"
    held = f"{planned['pairs']}, which detect {percent_words(planned['smallest_change'])}"
    enough = "" if planned["trials"] is None else f"; {planned['trials']} trials are enough"
    return f"warning: {takes}, but the budget has {held}{enough}"


def percent_words(value: float) -> str:
    """A change in percent, as short as it is certain."""
    return f"{value:.2g}%" if value < 10 else f"{value:,.0f}%"


FIRST_BASELINES = 5  # fewer runs say nearly nothing of the noise
LEAST_TRIALS_TO_DETECT = 24


def with_planned_pairs(problem: Problem, plan: Plan, history: History) -> Plan:
    """The plan with as many pairs as the change that ``problem`` asks for needs; else the same.

    The noise is estimated, not known: about half of all jobs will see a little more of it than was
    planned for. What the proof could show in the end is in the result (``power``). The plan
    without it has at least ``LEAST_TRIALS_TO_DETECT`` trials.
    """
    if problem.search.detect is None:
        return plan
    plan = replace(
        plan, first=FIRST_BASELINES, exploring=plan.exploring + plan.first - FIRST_BASELINES
    )
    out = {trial.number for trial in history.unfinished()}
    ended = [n for n in history.own(Purpose.BASELINE, Phase.BASELINE) if n not in out]
    if len(ended) < FIRST_BASELINES:
        return plan
    # Those that ended first: with several hosts more come in while the first one draws.
    first = sorted(sorted(ended, key=lambda n: _ended_at(history, n))[:FIRST_BASELINES])
    at_first = _detection(problem, plan, history, first)
    newest = _detection(problem, plan, history, history.own(Purpose.BASELINE))
    if newest is None:
        return plan
    # Draws are laid out once, by the first plan; a noisier baseline only ends them sooner.
    laid_out = _with_pairs(plan, at_first.pairs) if at_first else plan
    room = plan.exploring + plan.sides * plan.pairs - explored_runs(plan, history)
    least = at_first.pairs if at_first else plan.pairs
    pairs = min(max(least, newest.pairs), room // plan.sides)
    return replace(
        _with_pairs(plan, pairs),
        laid_out=laid_out.exploring,
        detection=replace(newest, pairs=pairs),
    )


def most_pairs(trials: int, *, starts: bool = False) -> int:
    """How many pairs a budget holds when half of it confirms; ``starts`` as for ``divide``."""
    usual = divide(trials, starts=starts)
    return max(usual.pairs, (trials // 2 - usual.select_runs) // usual.sides)


@lru_cache(maxsize=64)  # a plan is made before every trial
def trials_for(pairs: int, beyond: int = LEAST_TRIALS_TO_DETECT, *, starts: bool = False) -> int:
    """The smallest budget, of at least ``beyond`` trials, that holds so many pairs."""
    # More than divide() gives to any job take at least four trials each.
    least = beyond if pairs <= divide(MOST_PAIRS).pairs else max(beyond, 4 * pairs)
    return next(n for n in count(least) if most_pairs(n, starts=starts) >= pairs)


def spread_of(*series: Sequence[float]) -> float | None:
    """Standard deviation of single runs, as pairs of neighbours feel it; None where it is unknown.

    Half the mean square successive difference of the logarithms: slow drift, which pairs do not
    feel either, hardly counts, and neither does what lies between hosts, for a pair is measured on
    one. Each series is of one host, in the order of measurement. J. von Neumann, Annals of
    Mathematical Statistics 12 (1941).
    """
    import numpy as np

    squares: list[float] = []
    for values in (np.array(each, dtype=np.float64) for each in series if len(each) > 1):
        level = abs(float(values.mean())) or 1.0
        steps = np.diff(np.log(values) if (values > 0).all() else values / level)
        squares += np.square(steps).tolist()
    return math.sqrt(float(np.mean(squares)) / 2) if squares else None


def _detection(
    problem: Problem, plan: Plan, history: History, numbers: Sequence[int]
) -> SampleSizePlan | None:
    """From runs of the baseline on this bench; None where they do not tell the noise."""
    change, asked = problem.search.detect, problem.search.detect_metric
    assert change is not None
    runs = [history[number] for number in numbers if history[number].done]
    spreads: dict[str, float] = {}
    for name in [asked] if asked else [term.metric for term in problem.objective.terms]:
        by_host: defaultdict[str | None, list[float]] = defaultdict(list)
        for run in runs:
            if name in run.metrics:
                by_host[run.host].append(run.metrics[name])
        spread = spread_of(*by_host.values())
        if spread is not None:
            spreads[name] = spread
    if not spreads:
        return None
    starts = plan.sides > 2
    noisiest = max(spreads, key=spreads.__getitem__)
    needed = pairs_for(change, spreads[noisiest])
    pairs = min(max(needed, plan.pairs), most_pairs(plan.trials, starts=starts))
    return SampleSizePlan(
        change=change,
        metric=noisiest,
        spread=spreads[noisiest],
        runs=len(runs),
        level=POWER,
        needed=needed,
        pairs=pairs,
        smallest_change=smallest_change(spreads[noisiest], pairs),
        trials=trials_for(needed, plan.trials, starts=starts) if needed < MOST_PAIRS else None,
    )


def _ended_at(history: History, number: int) -> tuple[float, int]:
    at = history[number].finished_at
    return at.timestamp() if at else 0.0, number


def _with_pairs(plan: Plan, pairs: int) -> Plan:
    return replace(plan, pairs=pairs, exploring=plan.exploring + plan.sides * (plan.pairs - pairs))


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
    import numpy as np

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
    figure = bound.figure
    if figure <= 0:
        return None
    if level <= 0:
        return -math.inf if bound.is_floor else math.inf
    return math.log(level / figure) * (1 if bound.is_floor else -1)


def _spread_within(series: Sequence[Sequence[float]]) -> tuple[float | None, float]:
    """Standard deviation of single runs on a host, of their logarithms, and its freedom.

    Of their shares of the mean where a value is not above 0; None where it is unknown.
    """
    import numpy as np

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
