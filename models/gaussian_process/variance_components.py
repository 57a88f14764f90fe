"""Learning how much each parameter matters: the variance shares of an additive process.

Many variance components, few of which are not 0, are learned by multiplicative steps on the
marginal likelihood with an exponential prior on each (a fixed point of its gradient; compare
Zhou, Hu, Qiao, Cong and Zhou, "MM algorithms for variance components models", 2019). Two dozen
steps do here what a quasi-Newton search does, at a fraction of its cost.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from models import Floats
from models.gaussian_process.process import (
    NOTHING,
    PRESENT,
    Singles,
    Tasks,
    VarianceComponents,
    covariance,
    first_agreement,
    learn_agreement,
    log_evidence,
    lower_factor,
    of_all_orders,
    of_sums,
    standardised,
)

_STEPS = 25
_STEPS_TO_SETTLE = 15
DAMPED = 0.5  # the power of Zhou and others, whose steps never make it worse
_SPARSE = 2.0  # the prior's rate: a parameter that explains nothing falls to a share of 0
_LEVEL = 0.5
_REOPENED = 0.1  # of the first guess
_LEAST_NOISE = 1e-4
_LEAST, _MOST = 1e-7, 10.0


def first_guess(parameters: int) -> VarianceComponents:
    """The shares before anything is known: all parameters alike."""
    return VarianceComponents(
        np.full(parameters, 1.0 / parameters), pairs=1.0, level=_LEVEL, noise=0.1
    )


def learn_components(
    kernels: Singles,
    values: Floats,
    start: VarianceComponents | None = None,
    *,
    steps: int = _STEPS,
    tasks: Tasks | None = None,
) -> VarianceComponents:
    """The shares that explain values best, few of them large; see ``relearned``.

    Without a ``start`` all parameters are alike at first.
    """
    components = guess = first_guess(kernels.shape[0])
    if start is not None:  # nothing grows from nothing: what had fallen to 0 gets another chance
        components = replace(
            start,
            parameters=np.maximum(start.parameters, _REOPENED * guess.parameters),
            pairs=max(start.pairs, _REOPENED * guess.pairs),
        )
    return relearned(kernels, values, components, steps=steps, tasks=tasks)


def settled_components(kernels: Singles, values: Floats) -> VarianceComponents:
    """The shares that explain values best, to where they hardly change: slower and surer."""
    return relearned(
        kernels, values, learn_components(kernels, values), steps=_STEPS_TO_SETTLE, power=DAMPED
    )


def relearned(
    kernels: Singles,
    values: Floats,
    components: VarianceComponents,
    *,
    steps: int,
    power: float = 1.0,
    tasks: Tasks | None = None,
) -> VarianceComponents:
    """The shares after so many steps from others; what has fallen to nothing stays there.

    ``power`` is that of each step's factor. Whole steps are quick, but overshoot and swing where
    strong pairs and little noise meet: a pair has three factors, its own and two parameters'.
    Without ``tasks`` all values belong to one.
    """
    kernels = np.ascontiguousarray(kernels)  # or every step copies them
    squared = kernels * kernels
    among = None if tasks is None else (tasks.among(), tasks.noise())
    for _ in range(steps):
        components = _step(kernels, squared, values, components, power, among)
    return components


def _step(
    kernels: Singles,
    squared: Singles,
    values: Floats,
    components: VarianceComponents,
    power: float,
    among: tuple[Floats, Floats] | None,
) -> VarianceComponents:
    from scipy.linalg.lapack import dpotrs

    n, weights = len(values), components.parameters
    # The sizes are named: without its only parameter a model has none.
    flat, flat_squared = (each.reshape(len(weights), n * n) for each in (kernels, squared))
    single = weights.astype(np.float32)
    sums = single @ flat, single**2 @ flat_squared
    known = of_sums(*sums, components).reshape(n, n)
    if among is None:
        known[np.diag_indices(n)] += components.noise
    else:
        known *= among[0]
        known[np.diag_indices(n)] += components.noise * among[1]
    inverse = dpotrs(lower_factor(known), np.eye(n), lower=1)[0]
    fit = inverse @ values
    outer = np.outer(fit, fit)
    if among is None:
        noisy = fit @ fit, np.trace(inverse)
    else:
        noisy = fit**2 @ among[1], np.diag(inverse) @ among[1]
        # What two tasks do not share, they do not teach of each other.
        outer, inverse = outer * among[0], inverse * among[0]
    ones = sums[0].reshape(n, n).astype(np.float64)
    # The derivative by a share: its kernel, and its pairs with all the others.
    more = 1.0 + components.pairs * ones
    sides, own = np.empty((2, n * n, 2), dtype=np.float32)
    for place, each in enumerate((outer, inverse)):
        own[:, place], sides[:, place] = each.ravel(), (each * more).ravel()
    alone = (flat @ sides).astype(np.float64)
    slopes = alone - components.pairs * weights[:, None] * (flat_squared @ own)
    pairs = 0.5 * (ones * ones - sums[1].reshape(n, n))
    strength = _moved(components.pairs, (outer * pairs).sum(), (inverse * pairs).sum(), power)
    return replace(
        components,
        parameters=_moved(weights, slopes[:, 0], slopes[:, 1], power),
        pairs=float(strength),
        noise=max(_LEAST_NOISE, float(_moved(components.noise, *noisy, power, prior=0.0))),
    )


def _moved(
    share: Floats | float, gain: Floats, cost: Floats, power: float, prior: float = _SPARSE
) -> Floats:
    """A share times a power of the ratio of what makes it grow to what makes it shrink."""
    ratio = (np.maximum(gain, 0.0) / np.maximum(cost + 2.0 * prior, 1e-12)) ** power
    return np.clip(np.asarray(share) * ratio, _LEAST, _MOST)


LEAST_ALONE = 8  # values of the present task, to be judged by themselves
_STEPS_AGAIN = 6  # from those of the time before
_Rows = NDArray[np.bool_]
_Together = tuple[VarianceComponents, Floats]


@dataclass(frozen=True, eq=False)
class LearnedComponents:
    """What was learned of one metric."""

    components: VarianceComponents  # of its variance, over all parameters
    agreement: Floats  # shape ``(n_tasks,)``; see ``models.gaussian_process.process.Tasks``
    alone: VarianceComponents  # the shares that the present task's values tell by themselves
    # Shares and agreement that all values tell; None where there are no earlier ones.
    together: _Together | None


def learn_jointly(
    kernels: Singles,
    values: Floats,
    tasks_of: NDArray[np.int64],
    earlier: int,
    before: LearnedComponents | None = None,
) -> LearnedComponents:
    """Shares and agreements; those of the present task alone where earlier ones do harm.

    ``values`` are in any unit, NaN where unknown; ``tasks_of``, shape ``(n,)``, has the task of
    each, 0 for the present one, and there are so many ``earlier`` tasks. Learning begins at what
    was learned ``before``, from fewer values.
    """
    known = np.isfinite(values)
    mine = known & (tasks_of == PRESENT)
    alone = _shares(kernels, values, mine, before.alone if before else None)
    together = before.together if before else None
    if not (known & ~mine).any():
        return LearnedComponents(alone, first_agreement(earlier), alone, together)
    start, agreed = together or (None, first_agreement(earlier))
    together = _together(kernels, values, known, Tasks(tasks_of, agreed), start)
    apart = (together[1][1:] < NOTHING).all() or (
        mine.sum() > LEAST_ALONE
        and _gain(kernels, values, known, Tasks(tasks_of, together[1]), alone, together[0]) < 0
    )
    if apart:
        return LearnedComponents(alone, np.array([1.0] + [0.0] * earlier), alone, together)
    return LearnedComponents(*together, alone, together)


def learn_alone(kernels: Singles, values: Floats) -> LearnedComponents:
    """What one task's values, in any unit and NaN where unknown, tell until it hardly changes."""
    known = np.isfinite(values)
    components = first_guess(len(kernels))
    if known.any():
        scaled, _, _ = standardised(values[known])
        components = settled_components(_within(kernels, known), scaled)
    return LearnedComponents(components, first_agreement(0), components, None)


def _together(
    kernels: Singles, values: Floats, known: _Rows, tasks: Tasks, start: VarianceComponents | None
) -> _Together:
    """The shares and the agreement by all values; those of tasks that agree teach the shares."""
    components = _shares(kernels, values, known & tasks.told(), start, tasks)
    scaled, _, _ = standardised(values[known])
    level = covariance(_within(kernels, known), components)
    return components, learn_agreement(level, components.noise, scaled, tasks.at(known))


def _gain(
    kernels: Singles,
    values: Floats,
    known: _Rows,
    tasks: Tasks,
    alone: VarianceComponents,
    components: VarianceComponents,
) -> float:
    """How much likelier the task's own values are with the earlier ones than without: a logarithm.

    An agreement supposes that tasks have their shares in common. Of one in which nothing matters
    that is not so, and then this tells.
    """
    told = known & tasks.told()
    scaled, _, spread = standardised(values[told])
    level = covariance(_within(kernels, told), components)
    these = tasks.at(told)
    old = these.of != PRESENT
    both = log_evidence(level, components.noise, scaled, these)
    before = log_evidence(level[np.ix_(old, old)], components.noise, scaled[old], these.at(old))
    mine = known & (tasks.of == PRESENT)
    own, _, own_spread = standardised(values[mine])
    without = log_evidence(covariance(_within(kernels, mine), alone), alone.noise, own)
    return both - before - without - int(mine.sum()) * float(np.log(spread / own_spread))


def _shares(
    kernels: Singles,
    values: Floats,
    rows: _Rows,
    start: VarianceComponents | None,
    tasks: Tasks | None = None,
) -> VarianceComponents:
    """The shares that some of the values tell."""
    if not rows.any():
        return first_guess(len(kernels)) if start is None else start
    scaled, _, _ = standardised(values[rows])
    several = tasks.at(rows) if tasks is not None else None
    steps = {} if start is None else {"steps": _STEPS_AGAIN}
    return learn_components(_within(kernels, rows), scaled, start, tasks=several, **steps)


def _within(kernels: Singles, rows: _Rows) -> Singles:
    return kernels if rows.all() else kernels[:, rows][:, :, rows]


_MEDIAN_OF_ALL = 0.4  # of the variance: the prior medians of all parameters together
_SPREAD = 2.5  # standard deviation of the logarithm: most do next to nothing, some nearly all
_PAIRS, _PAIRS_SPREAD = 1.0, 1.0
_NOISE, _NOISE_SPREAD = 0.1, 1.5
_TOGETHER, _TOGETHER_SPREAD = 0.1, 1.5
_BURN_IN = 30  # sweeps over all shares
_BETWEEN = 3  # sweeps from one kept draw to the next
_STEP = 1.0  # of a proposal, on the logarithm; its tails are long


def drawn_components(
    kernels: Singles, values: Floats, start: VarianceComponents, *, draws: int, seed: Sequence[int]
) -> list[VarianceComponents]:
    """Equally likely shares; the walk begins at ``start``, those that explain the values best.

    Which do is not known, least of all from a few dozen trials, and intervals that take them as
    known are too narrow. So they are drawn from their posterior by a Metropolis walk, one share at
    a time, on the logarithm (Neal, "Monte Carlo implementation of Gaussian process models", 1997,
    section 3). The prior there is normal and wide: most do next to nothing, a few nearly all.
    """
    walk = _Walk(kernels, values, start, np.random.default_rng(list(seed)))
    for _ in range(_BURN_IN):
        walk.sweep()
    found = []
    for _ in range(draws):
        for _ in range(_BETWEEN):
            walk.sweep()
        found.append(walk.components())
    return found


class _Walk:
    """A Markov chain over the logarithms of all shares, of the pairs' strength and the noise."""

    def __init__(
        self, kernels: Singles, values: Floats, start: VarianceComponents, rng: np.random.Generator
    ) -> None:
        count = len(kernels)
        # Each matrix by columns, as LAPACK takes it: else every factor begins with a copy.
        self._alike = np.ascontiguousarray(kernels.swapaxes(1, 2), np.float64).swapaxes(1, 2)
        self._squared = self._alike**2
        self._values, self._rng, self._start = values, rng, start
        self._mean = np.log(
            np.append(np.full(count, _MEDIAN_OF_ALL / max(count, 1)), [_PAIRS, _TOGETHER, _NOISE])
        )
        self._spread = np.append(
            np.full(count, _SPREAD), [_PAIRS_SPREAD, _TOGETHER_SPREAD, _NOISE_SPREAD]
        )
        least = self._mean - 2.0 * self._spread
        at = np.log(np.append(start.parameters, [start.pairs, _TOGETHER, start.noise]) + 1e-12)
        self._at = np.maximum(at, least)
        weights = np.exp(self._at[:-3])
        self._ones = np.asfortranarray(np.tensordot(weights, self._alike, axes=1))
        self._squares = np.asfortranarray(np.tensordot(weights**2, self._squared, axes=1))
        self._density = self._log_density(self._at, self._ones, self._squares)

    def components(self) -> VarianceComponents:
        """Where the walk is."""
        known = np.exp(self._at)
        return replace(
            self._start,
            parameters=known[:-3],
            pairs=float(known[-3]),
            together=float(known[-2]),
            noise=self._noise(self._at),
        )

    def sweep(self) -> None:
        """One proposal for each share."""
        steps = np.clip(_STEP * self._rng.standard_t(2, len(self._at)), -6.0, 6.0)
        luck = np.log(self._rng.random(len(self._at)))
        for place in range(len(self._at)):
            at = self._at.copy()
            at[place] += steps[place]
            ones, squares = self._ones, self._squares
            if place < len(self._alike):
                before, after = np.exp(self._at[place]), np.exp(at[place])
                ones = ones + (after - before) * self._alike[place]
                squares = squares + (after**2 - before**2) * self._squared[place]
            density = self._log_density(at, ones, squares)
            if density - self._density > luck[place]:
                self._at, self._ones, self._squares, self._density = at, ones, squares, density

    def _noise(self, at: Floats) -> float:
        return max(_LEAST_NOISE, float(np.exp(at[-1])))

    def _log_density(self, at: Floats, ones: Floats, squares: Floats) -> float:
        from scipy.linalg.lapack import dtrtrs

        prior = -0.5 * float((((at - self._mean) / self._spread) ** 2).sum())
        known = ones * ones
        known -= squares
        known *= 0.5 * np.exp(at[-3])
        known += self._start.level + ones
        known += np.exp(at[-2]) * of_all_orders(ones, float(np.exp(at[:-3]).sum()))
        np.einsum("ii->i", known)[:] += self._noise(at)
        factor = lower_factor(known)
        reached, _ = dtrtrs(factor, self._values, lower=1)
        return prior - 0.5 * float(reached @ reached) - float(np.log(factor.diagonal()).sum())
