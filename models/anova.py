"""One-way analysis of variance: does a metric's mean differ between the groups of a parameter?"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from models import Floats

Value = float | str | None  # a float may be an int or a bool


def group_labels(
    values: Sequence[Value],
    *,
    special: Collection[float] = (),
    quantile_groups: int = 4,
    max_levels: int = 8,
) -> tuple[str | None, ...]:
    """Put the values of one parameter into groups.

    A category, a truth value, or a number with at most `max_levels` ordinary values is grouped by
    its value. Other numbers are cut at their quantiles into groups of about equal size, named by
    the least and the greatest value within. A special value, such as 0 for "choose for me", means
    something else than its neighbours, so it always keeps a group of its own.

    Equal values never part, so with many ties there are fewer groups. The groups depend on the
    order of the numbers only: their logarithms are grouped alike.

    Args:
        values: Length `n_trials`; None or NaN where the parameter was not active, and so is its
            label.
        special: Numbers that keep their own group.
        quantile_groups: Into how many groups ordinary numbers are cut, at least 2. In two groups
            0, 1, 2, 3, 4 are `0`, `1 to 2`, `1 to 2`, `3 to 4`, `3 to 4` where 0 is special.
        max_levels: Up to how many ordinary values each keep a group.
    """
    label: dict[Value, str | None] = {v: str(v) for v in values}
    label.update({v: None for v in label if v is None or v != v})
    numbers = [v for v in values if not (v is None or isinstance(v, str) or v != v)]
    ordinary = [v for v in numbers if v not in special]
    if len(set(ordinary)) > max_levels:
        label.update(_quantile_labels(ordinary, quantile_groups))
    return tuple(label[v] for v in values)


def _quantile_labels(numbers: list[float], groups: int) -> dict[Value, str | None]:
    """Map each number to the name of its quantile group."""
    # Edges are values that occur: rounding of an interpolated one could move a trial.
    shares = np.arange(1, groups) / groups
    edges = np.unique(np.quantile(numbers, shares, method="inverted_cdf"))
    distinct = sorted(set(numbers))
    place = np.searchsorted(edges, distinct, side="left")
    named: dict[Value, str | None] = {}
    for group in np.unique(place):
        members = [v for v, p in zip(distinct, place, strict=True) if p == group]
        named |= dict.fromkeys(members, f"{members[0]} to {members[-1]}")
    return named


@dataclass(frozen=True, eq=False)
class AnovaResult:
    """One analysis; its statistics are None, never NaN, where there is nothing to compare."""

    # Variance between groups over variance within them. None also when it is infinite: nothing
    # varies within the groups, while their means differ (`p` is then 0).
    f: float | None
    p: float | None  # chance of so large an F if all groups had the same mean
    # Share of the variance that groups explain, 0 to 1; rises with their number even by chance.
    eta_squared: float | None
    omega_squared: float | None  # the same, corrected for that; around 0 without effect
    labels: tuple[str, ...]  # the groups compared, in the order of their first trial
    means: Floats  # shape `(n_groups,)`, in the unit of the target
    sizes: NDArray[np.intp]  # shape `(n_groups,)`, trials in each group
    p_holm: float | None = None  # `p` corrected for all questions of a job, where it was


def anova(labels: Sequence[str | None], target: ArrayLike) -> AnovaResult:
    """Compare a metric between groups of trials.

    F and p are SciPy's `f_oneway`; the effect sizes follow from F and its degrees of freedom `b`
    (groups - 1) and `w` (trials - groups):
    `eta^2 = b F / (b F + w)` and `omega^2 = b (F - 1) / (b (F - 1) + trials)`.

    A group with a single trial is left out: it has no variance to judge by, and to merge it with
    another level would claim that the two are alike.

    Statistics are None if fewer than two groups are left, or if the target is constant. A label of
    None, as of `group_labels`, leaves a trial out, and so does a target of NaN.
    """
    members: dict[str, list[float]] = {}
    for label, value in zip(labels, np.asarray(target, np.float64).tolist(), strict=True):
        if label is not None and value == value:
            members.setdefault(label, []).append(value)
    samples = {name: np.array(values) for name, values in members.items() if len(values) > 1}
    sizes = np.array([sample.size for sample in samples.values()], dtype=np.intp)
    f, p = _f_test(list(samples.values()))
    eta = omega = None if f is None else 1.0
    if f is not None and np.isfinite(f):
        n, between = int(sizes.sum()), sizes.size - 1
        eta = between * f / (between * f + n - sizes.size)
        omega = between * (f - 1) / (between * (f - 1) + n)
    return AnovaResult(
        f=None if f == np.inf else f,
        p=p,
        eta_squared=eta,
        omega_squared=omega,
        labels=tuple(samples),
        means=np.array([sample.mean() for sample in samples.values()]),
        sizes=sizes,
    )


def holm(p_values: Sequence[float | None]) -> tuple[float | None, ...]:
    """Correct p-values for having asked many questions at once (Holm, 1979).

    Keeps the chance of even one false alarm among all of them at the level they are judged by.
    Whoever calls it asks about all of a job at once: every ``p_holm`` of a ranking is corrected
    for all parameters and metrics.
    None, where there was nothing to test, does not count and stays None.
    """
    # statsmodels' multipletests has garbage collected each time: a tenth of a ranking's time.
    asked = np.array([p for p in p_values if p is not None])
    order = np.argsort(asked)
    steps = np.maximum.accumulate(asked[order] * np.arange(asked.size, 0, -1)).clip(max=1.0)
    corrected = iter(steps[np.argsort(order)].tolist())
    return tuple(None if p is None else next(corrected) for p in p_values)


def smallest_share(
    trials: int, *, groups: int, alpha: float = 0.05, power: float = 0.8
) -> float | None:
    """The smallest share of the variance that one analysis finds with so much power.

    Of groups of equal size (Cohen, "Statistical power analysis", 1988, chapter 8), before any
    correction for many questions. None of fewer than two trials a group.
    """
    from scipy import optimize, stats

    if trials < 2 * groups:
        return None
    between, within = groups - 1, trials - groups
    least = stats.f.isf(alpha, between, within)

    # statsmodels' FTestAnovaPower ends at a half of the variance, which few draws do not reach.
    def missing(share: float) -> float:
        found = stats.ncf.sf(least, between, within, trials * share / (1.0 - share))
        return float(found - power)

    return float(optimize.brentq(missing, 1e-6, 0.99))


def _f_test(samples: list[Floats]) -> tuple[float, float] | tuple[None, None]:
    """F (maybe infinite) and p, or None where there is nothing to compare."""
    from scipy.stats import f_oneway

    if len(samples) < 2 or np.ptp(np.concatenate(samples)) == 0:
        return None, None
    f, p = f_oneway(*samples)
    # SciPy finds the sum between groups as a difference. Where the means agree, rounding may leave
    # it below zero, and p is NaN then.
    return (float(f), float(p)) if f > 0 else (0.0, 1.0)
