"""Labels that put each trial into one group a parameter, for the analysis of variance."""

from collections.abc import Collection, Sequence

import numpy as np

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
        values: Length `n_trials`; None or NaN where the parameter was not active.
        special: Numbers that keep their own group.
        quantile_groups: Into how many groups ordinary numbers are cut.
        max_levels: Up to how many ordinary values each keep a group.

    Returns:
        A label a trial; None where the parameter was not active.

    Raises:
        ValueError: If `quantile_groups` is below 2.

    Example:
        >>> from models.importance.groups import group_labels
        >>> group_labels([0, 1, 2, 3, 4], special=[0], quantile_groups=2, max_levels=2)
        ('0', '1 to 2', '1 to 2', '3 to 4', '3 to 4')
    """
    if quantile_groups < 2:
        raise ValueError(f"quantile_groups must be at least 2, not {quantile_groups}")
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
