"""Change points: where the level of a series changes, how striking that is, and by how much.

``detect_changes`` watches many series night after night. False alarms are counted for all series
together. On each night the series that can be tested share one budget evenly, and each alarms at
its share. Expected numbers add up however the series depend on each other, so no assumption about
that is made.
"""

import math
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from models import Floats

CLIP = 2.5  # robust standard deviations; less delays the finding of large changes
LEAST_BEFORE = 3  # values before a change
LEAST_AFTER = 2  # one value that stands out is an outlier, two may be a change
LEAST_VALUES = LEAST_BEFORE + LEAST_AFTER
RESOLUTION = 1e-4  # of logarithms: less would take rounding for a change
_MAD_OF_NORMAL = 1.4826
_MOST_AUTOCORRELATION = 0.8
# Values look less alike after the best cut than they are, by about (first + second * ln n) / n:
# put through two simulated lengths by hand. studies/watch/limits.py shows what is left of it.
AUTOCORRELATION_BIAS = (0.51, 0.887)


@dataclass(frozen=True, eq=False)
class Cuts:
    """The strongest cut of each of several series of one length."""

    length: int  # values of each series, n
    at: NDArray[np.intp]  # shape `(m,)`, int: the values before the change
    t_squared: Floats  # shape `(m,)`, square of the two-sample t there, n - 2 degrees of freedom
    autocorrelation: Floats  # shape `(m,)`, the first around the two levels, corrected for the cut


def clipped(values: Floats) -> tuple[Floats, Floats]:
    """Values, shape `(m, n)`, drawn in to within 2.5 robust standard deviations of their median.

    Less their median, shape `(m, n)`, and the robust standard deviation (1.4826 times the median
    distance from the median, at least `RESOLUTION`), shape `(m, 1)`.
    """
    distance = values - np.median(values, axis=1, keepdims=True)
    spread = _MAD_OF_NORMAL * np.median(np.abs(distance), axis=1, keepdims=True)
    spread = np.maximum(spread, RESOLUTION)
    return np.clip(distance, -CLIP * spread, CLIP * spread), spread


def between_sums(scores: Floats) -> Floats:
    """What a cut at each point takes from the sum of squares, shape `(m, n - 1)`.

    Column j is of the cut with j + 1 values before it. Each row of scores, `(m, n)`, sums to 0.
    """
    n = scores.shape[1]
    before = np.arange(1, n)
    sums = np.cumsum(scores, axis=1)[:, :-1]
    return np.asarray(np.square(sums) * (n / (before * (n - before))))


def strongest_cuts(values: Floats) -> Cuts:
    """The cut of each series that parts it most clearly.

    A series is a row of shape `(m, n)`, in order of time: logarithms of a positive metric. It has
    at least `LEAST_VALUES`.
    """
    n = values.shape[1]
    scores, spread = clipped(values)
    scores = (scores - scores.mean(axis=1, keepdims=True)) / spread
    between = between_sums(scores)[:, LEAST_BEFORE - 1 : n - LEAST_AFTER]
    best = between.argmax(axis=1)
    gain = np.take_along_axis(between, best[:, None], axis=1)[:, 0]
    floor = (n - 2) * np.square(RESOLUTION / spread[:, 0])
    within = np.maximum(np.square(scores).sum(axis=1) - gain, floor)
    at = best + LEAST_BEFORE
    return Cuts(n, at, gain * (n - 2) / within, _autocorrelation(scores, at, within))


def _autocorrelation(scores: Floats, at: NDArray[np.intp], within: Floats) -> Floats:
    n = scores.shape[1]
    old = np.arange(n) < at[:, None]
    sums = np.where(old, scores, 0.0).sum(axis=1)  # that of the rest is its negative
    rest = scores - np.where(old, (sums / at)[:, None], (-sums / (n - at))[:, None])
    products = (rest[:, 1:] * rest[:, :-1]).sum(axis=1)
    constant, growth = AUTOCORRELATION_BIAS
    return np.asarray(products / within + (constant + growth * np.log(n)) / n)


def pooled_autocorrelation(autocorrelation: Floats, lengths: Floats) -> Floats:
    """One autocorrelation, from 0 to 0.8, of series that were measured together.

    Each alone tells too little. They weigh by their lengths; the last axis is one batch.
    """
    mean = np.average(autocorrelation, axis=-1, weights=lengths)
    pooled: Floats = np.clip(mean, 0.0, _MOST_AUTOCORRELATION)
    return pooled


def split_p(t_squared: Floats, length: int, autocorrelation: Floats | float = 0.0) -> Floats:
    """Two-sided p-value of t as if the cut had been chosen before: still to be paid for.

    Neighbours that resemble each other with autocorrelation r tell less: the variance of a mean
    is then (1 + r) / (1 - r) times as large, by which the square of t, `(m,)`, is divided. Each
    series has `length` values.
    """
    from scipy import stats

    shrunk = t_squared * (1 - autocorrelation) / (1 + autocorrelation)
    tail: Floats = stats.t.sf(np.sqrt(shrunk), length - 2)
    return 2 * tail


MOST_LENGTH = 100  # a series looks back so far
# Logarithm of the looks: of 1, 1/n, 1/n^2, 1/n^3, l, l/n, l/n^2, where l = -log10 q.
COEFFICIENTS = (0.041, -6.416, 94.29, -311.314, 0.313, 3.133, -23.096)
FITTED_FROM, _FITTED_TO = 1.5, 8.0
# The clip leaves few values only few ways of being extreme, and the tail has steps, up to this.
STEPS_UNTIL, _LOOKS_AT_STEPS = 7, 15.0


def chance(p: Floats, length: int) -> Floats:
    """The probability of so strong a cut, or a stronger one, on one night of a steady series.

    At most 1, in the shape of `p`, which is from `split_p`. The newest value counts in `length`,
    which is within `LEAST_VALUES` and `MOST_LENGTH`.
    """
    level = -np.log10(np.maximum(p, np.finfo(float).tiny))
    if length <= STEPS_UNTIL:
        looks = np.full(np.shape(level), _LOOKS_AT_STEPS)
    else:
        level = np.clip(level, FITTED_FROM, _FITTED_TO)
        looks = np.exp(features(length, level) @ COEFFICIENTS)
    found: Floats = np.minimum(p * looks, 1.0)
    return found


def features(length: int | Floats, level: Floats) -> Floats:
    """What the logarithm of the looks is a sum of, one axis of 7 more than `level` has.

    That is -log10 of the p-value; the length of the series is one number, or one for each level.
    """
    u = np.broadcast_to(1.0 / np.asarray(length, dtype=np.float64), np.shape(level))
    one = np.ones(np.shape(level))
    return np.stack([one, u, u**2, u**3, level, level * u, level * u**2], axis=-1)


CONFIDENCE = 0.95
# Around the true date the log likelihood walks down on both sides, and its highest point on either
# side, above the true date's, is exponential with mean 1 (a Brownian motion with drift). So it is
# within x of the highest with probability (1 - exp(-x))^2.
_LIKELIHOOD_DROP = -math.log(1 - math.sqrt(CONFIDENCE))


@dataclass(frozen=True)
class Size:
    """A change of level, in the units of the values."""

    change: float  # new level less old one
    # low, high: its 95% interval. A change is reported when it looks large, so just after its
    # report it is over-estimated on average; more nights mend that.
    low: float
    high: float
    before: int  # before, after: values on either side
    after: int


def size_of(before: Floats, after: Floats, *, autocorrelation: float = 0.0) -> Size:
    """The difference of two levels, single outliers drawn in to 2.5 robust deviations.

    The autocorrelation of neighbours widens the interval. There are at least three values, some on
    each side.
    """
    from scipy import stats

    free = len(before) + len(after) - 2
    middles = float(np.median(before)), float(np.median(after))
    rests = before - middles[0], after - middles[1]
    # Two medians were taken out, which makes the rests of few values smaller than they are.
    lost = math.sqrt((free + 2) / free)
    reach = CLIP * max(
        _MAD_OF_NORMAL * lost * float(np.median(np.abs(np.concatenate(rests)))), RESOLUTION
    )
    rests = np.clip(rests[0], -reach, reach), np.clip(rests[1], -reach, reach)
    change = middles[1] + float(rests[1].mean()) - middles[0] - float(rests[0].mean())
    squares = sum(float(np.square(each - each.mean()).sum()) for each in rests)
    variance = max(squares / free, RESOLUTION**2) * (1 / len(before) + 1 / len(after))
    error = math.sqrt(variance * (1 + autocorrelation) / (1 - autocorrelation))
    half = float(stats.t.ppf((1 + CONFIDENCE) / 2, free)) * error
    return Size(change, change - half, change + half, len(before), len(after))


def cuts_within(values: Floats, *, autocorrelation: float = 0.0) -> tuple[int, int]:
    """The 95% interval of the cut: the first and last one that fit nearly as well as the best.

    Both as numbers of values before the change. The autocorrelation of neighbours widens it.
    """
    n = len(values)
    scores, spread = clipped(values[None, :])
    scores = (scores - scores.mean()) / spread
    legal = slice(LEAST_BEFORE - 1, n - LEAST_AFTER)
    between = between_sums(scores)[0, legal]
    floor = (n - 2) * (RESOLUTION / float(spread[0, 0])) ** 2
    within = np.maximum(float(np.square(scores).sum()) - between, floor)
    drop = n / 2 * np.log(within / within.min()) * (1 - autocorrelation) / (1 + autocorrelation)
    fitting = np.flatnonzero(drop <= _LIKELIHOOD_DROP)
    return int(fitting[0]) + LEAST_BEFORE, int(fitting[-1]) + LEAST_BEFORE


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
        per_100_nights: False alarms of all series together that are borne in 100 nights, above 0.
    """
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
