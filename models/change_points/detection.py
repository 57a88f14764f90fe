"""Many series watched night after night: which level has changed, and which night stands out.

False alarms are counted for all series together. On each night the series that can be tested
share one budget evenly, and each alarms at its share. Expected numbers add up however the series
depend on each other, so no assumption about that is made.
"""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from models import Floats
from models.change_points.change_point import (
    LEAST_VALUES,
    MOST_LENGTH,
    RESOLUTION,
    Cuts,
    Size,
    chance,
    clipped,
    cuts_within,
    pooled_autocorrelation,
    size_of,
    split_p,
    strongest_cuts,
)

Nights = NDArray[np.intp]

PER_100_NIGHTS = 1.0  # false alarms of a whole batch


@dataclass(frozen=True)
class Alarm:
    """A change of level."""

    series: int  # whose, the row's number
    since: int  # the first night of the new level, the column's number
    since_low: int  # since_low, since_high: 95% interval of that night
    since_high: int
    reported: int  # the night on which it was found; it is never moved later
    p: float  # how often a series without change is so striking on one night
    by_chance: float  # so striking alarms in 100 nights of the whole batch if nothing changed
    size: Size  # with all nights up to the next change


@dataclass(frozen=True)
class Outlier:
    """One night that stands out and that no change explains, so far."""

    series: int  # series, night: which
    night: int
    distance: float  # from the median of the nights before, in the units of the values
    p: float  # two-sided, of so far a night among normal ones


@dataclass(frozen=True, eq=False)
class DetectedChanges:
    """What became of all series."""

    alarms: tuple[Alarm, ...]  # in the order of their report, then of the series
    outliers: tuple[Outlier, ...]  # likewise
    autocorrelation: Floats  # shape `(nights,)`, pooled: what each night was judged with
    tested: Nights  # shape `(nights,)`, how many series could be tested


@dataclass
class _Row:
    """One series as it is walked through: where its level began, and what was found."""

    values: Floats
    begins: int = 0
    found: list[Alarm] = field(default_factory=list)
    outliers: list[Outlier] = field(default_factory=list)

    def nights(self, until: int) -> Nights:
        """The measured nights of the level, up to and with one of them."""
        here = np.isfinite(self.values[self.begins : until + 1])
        return (np.flatnonzero(here) + self.begins)[-MOST_LENGTH:]


def detect_changes(values: Floats, *, per_100_nights: float = PER_100_NIGHTS) -> DetectedChanges:
    """Walks through the nights, judging each by itself and those before it alone.

    After a change a series starts anew with the first night of the new level.

    Args:
        values: Shape `(series, nights)`, in order of time, logarithms of a positive metric; NaN
            where a night lacks one.
        per_100_nights: False alarms of all series together that are borne in 100 nights.

    Raises:
        ValueError: The values are no table, or the rate is not positive.
    """
    if values.ndim != 2:
        raise ValueError(f"values must have 2 dimensions (series, nights), not {values.ndim}")
    if not per_100_nights > 0:
        raise ValueError(f"per_100_nights must be above 0, not {per_100_nights}")
    rows = [_Row(each) for each in values]
    nights = values.shape[1]
    autocorrelation, tested = np.zeros(nights), np.zeros(nights, dtype=np.intp)
    for night in range(nights):
        groups = _ready(rows, night)
        if not groups:
            continue
        # Shape `(m, n)` each: the values of the series of one length.
        tables = [np.stack([rows[number].values[at] for number, at in each]) for each in groups]
        cuts = list(map(strongest_cuts, tables))
        tested[night] = sum(map(len, groups))
        autocorrelation[night] = _pooled(cuts)
        share = per_100_nights / (100 * tested[night])
        for group, table, cut in zip(groups, tables, cuts, strict=True):
            p = chance(split_p(cut.t_squared, cut.length, autocorrelation[night]), cut.length)
            alone = outlier_p(table)
            for place, (number, at) in enumerate(group):
                row = rows[number]
                if p[place] <= share:
                    known = float(p[place]), int(tested[night]), float(autocorrelation[night])
                    row.found.append(_alarm(number, row, at, int(cut.at[place]), *known))
                    row.begins = row.found[-1].since
                elif alone[place] <= share:
                    before = float(np.median(table[place, :-1]))
                    distance = float(row.values[night]) - before
                    row.outliers.append(Outlier(number, night, distance, float(alone[place])))
    alarms = [alarm for row in rows for alarm in _sized(row, autocorrelation)]
    return DetectedChanges(
        tuple(sorted(alarms, key=lambda a: (a.reported, a.series))),
        tuple(sorted(_unexplained(rows), key=lambda o: (o.night, o.series))),
        autocorrelation,
        tested,
    )


def outlier_p(values: Floats) -> Floats:
    """Two-sided p-value of the last value of each series as one more of those before it, `(m,)`.

    Values have the shape `(m, n)`, n at least three.
    """
    from scipy import stats

    k = values.shape[1] - 1
    before, _ = clipped(values[:, :-1])
    far = values[:, -1] - np.median(values[:, :-1], axis=1) - before.mean(axis=1)
    deviation = np.maximum(before.std(axis=1, ddof=1), RESOLUTION)
    p: Floats = 2 * stats.t.sf(np.abs(far) / (deviation * np.sqrt(1 + 1 / k)), k - 1)
    return p


def _ready(rows: list[_Row], night: int) -> list[list[tuple[int, Nights]]]:
    """The series that can be tested on a night, each with its nights, by how many those are."""
    by_length: dict[int, list[tuple[int, Nights]]] = {}
    for number, row in enumerate(rows):
        if np.isfinite(row.values[night]) and len(at := row.nights(night)) >= LEAST_VALUES:
            by_length.setdefault(len(at), []).append((number, at))
    return [group for _, group in sorted(by_length.items())]


def _pooled(cuts: list[Cuts]) -> float:
    found = np.concatenate([each.autocorrelation for each in cuts])
    lengths = np.repeat([float(each.length) for each in cuts], [len(each.at) for each in cuts])
    return float(pooled_autocorrelation(found, lengths))


def _alarm(
    number: int, row: _Row, at: Nights, cut: int, p: float, of: int, autocorrelation: float
) -> Alarm:
    low, high = cuts_within(row.values[at], autocorrelation=autocorrelation)
    return Alarm(
        series=number,
        since=int(at[cut]),
        since_low=int(at[low]),
        since_high=int(at[high]),
        reported=int(at[-1]),
        p=p,
        by_chance=100 * p * of,
        size=size_of(row.values[at[:cut]], row.values[at[cut:]], autocorrelation=autocorrelation),
    )


def _sized(row: _Row, autocorrelation: Floats) -> list[Alarm]:
    """The alarms with their size by all nights between the changes before and after."""
    edges = [0, *(alarm.since for alarm in row.found), len(row.values)]
    sized = []
    for alarm, first, last in zip(row.found, edges, edges[2:], strict=False):
        old, new = row.values[first : alarm.since], row.values[alarm.since : last]
        size = size_of(
            old[np.isfinite(old)][-MOST_LENGTH:],
            new[np.isfinite(new)][:MOST_LENGTH],
            autocorrelation=float(autocorrelation[alarm.reported]),
        )
        sized.append(replace(alarm, size=size))
    return sized


def _unexplained(rows: list[_Row]) -> list[Outlier]:
    """Outlier nights but those that a change has explained since."""
    return [
        each
        for row in rows
        for each in row.outliers
        if not any(a.since <= each.night <= a.reported for a in row.found)
    ]
