"""How small a change a proof can see: the power of the paired t test, before and after its runs.

Runs come in pairs, baseline and winner beside each other. With a spread s of single runs, the
logarithm of a pair's ratio scatters by about s * sqrt(2), and the test is the one-sided paired t
test of ``confirmation``. J. Cohen, Statistical Power Analysis (1988), section 2.
"""

import math
from bisect import bisect_left
from functools import lru_cache

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
    ``alpha``: the one-sided level of the test.

    Raises:
        ValueError: A negative scatter, or fewer than 2 pairs.
    """
    if scatter < 0 or pairs < 2:
        raise ValueError(f"scatter {scatter}, pairs {pairs}")
    return _effect(pairs, alpha) * scatter


def smallest_change(spread: float, pairs: int, alpha: float = ALPHA) -> float:
    """The smallest relative change that so many pairs show with the probability ``POWER``.

    A ratio less 1, such as 0.08 for 8%, by the ``spread`` of single runs over their mean; 0
    without noise. It is that of a rise: a fall of as many percent is farther from no change on the
    scale of logarithms, so it is seen surer.

    Raises:
        ValueError: A negative spread, or fewer than 2 pairs.
    """
    # Beyond e^700 there is no float: such a change is no longer told apart from any greater one.
    return math.expm1(min(smallest_mean(spread * math.sqrt(2), pairs, alpha), 700.0))


def pairs_for(change: float, spread: float, alpha: float = ALPHA) -> int:
    """The fewest pairs that show a relative change, such as 0.05 for 5%; see ``smallest_change``.

    At least ``LEAST_PAIRS``, at most ``MOST_PAIRS``: more would be needed, but nobody waits for
    them.

    Raises:
        ValueError: A change that is not above 0, or a negative spread.
    """
    if change <= 0:
        raise ValueError(f"a change must be above 0, not {change}")
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
    as that of the runs beside.

    Raises:
        ValueError: A negative scatter, no freedom, or fewer than 2 pairs.
    """
    if scatter < 0 or freedom <= 0 or pairs < 2:
        raise ValueError(f"scatter {scatter}, freedom {freedom}, pairs {pairs}")
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
