"""What each parameter and each pair does to a metric, by an additive process.

The process is a sum over parameters and pairs of them, so its variance over the whole space
parts exactly into theirs: Sobol' indices (Sobol', Math. Comput. Simul. 55, 2001). Nothing is
sampled but the uncertainty: draws of the process given the trials, by Matheron's rule (Wilson and
others, ICML 2020, Eq. 9).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from models import Floats
from models.gaussian_process.process import (
    AdditiveProcess,
    KernelInputs,
    Singles,
    VarianceComponents,
    covariance,
    fit_process,
    kernel_matrices,
    log_evidence,
    standardised,
)
from models.gaussian_process.variance_components import DAMPED, relearned, settled_components

_NOTHING = 1e-4  # a smaller part of all shares is none
_RANK = 1e-6  # of the largest eigenvalue: what the kernel of one parameter has beyond it is lost


@dataclass(frozen=True, eq=False)
class Grid:
    """The settings of one parameter that stand for all of them."""

    settings: KernelInputs  # one column, ``n_settings`` rows
    weight: Floats  # shape ``(n_settings,)``, how often each is drawn; sums to 1


@dataclass(frozen=True, eq=False)
class Effects:
    """Shares of the variance that the settings make, over the whole space; noise is left out."""

    # Shape ``(..., n_parameters)``: what goes away once the parameter is held, pairs included.
    # With pairs these sum to more than 1; all 0 where nothing varies.
    total: Floats
    alone: Floats  # the same shape: without its pairs


def effects_of(process: AdditiveProcess, known: KernelInputs, grids: Sequence[Grid]) -> Effects:
    """The effects in what is expected, shape ``(n_parameters,)``."""
    parts = _Parts(process.components, known, grids)
    found = parts.effects(process.solved[None, :])
    return Effects(found.total[0], found.alone[0])


def drawn_effects(
    process: AdditiveProcess,
    known: KernelInputs,
    grids: Sequence[Grid],
    values: Floats,
    *,
    draws: int,
    seed: int,
) -> Effects:
    """The effects in equally likely processes, shape ``(draws, n_parameters)``.

    The shares are held: how sure they are is what ``matter_p`` asks. ``values`` are what the
    process was fitted to.
    """
    from scipy.linalg import cho_solve

    rng = np.random.default_rng(seed)
    parts = _Parts(process.components, known, grids)
    mains, pairs, at_known = parts.drawn(rng, draws)
    n = len(values)
    level = np.sqrt(process.components.level) * rng.standard_normal((draws, 1))
    noise = np.sqrt(process.components.noise) * rng.standard_normal((draws, n))
    missed = (values - process.mean) / process.spread - at_known - level - noise
    solved = cho_solve((process.factor, True), missed.T, check_finite=False).T
    return parts.effects(solved, mains, pairs)


class _Parts:
    """The parts of a process: those of its parameters that have a share, and their pairs."""

    def __init__(
        self, components: VarianceComponents, known: KernelInputs, grids: Sequence[Grid]
    ) -> None:
        self.count, least = len(grids), _NOTHING * components.parameters.sum()
        self.columns = np.flatnonzero(components.parameters > least)
        self.size = components.parameters[self.columns]
        pairs = combinations(range(len(self.columns)), 2)
        strength = {(i, j): components.pairs * self.size[i] * self.size[j] for i, j in pairs}
        kept = {pair: size for pair, size in strength.items() if size > least}
        self.pairs, self.strength = list(kept), list(kept.values())
        own = [(int(column), grids[int(column)]) for column in self.columns]
        self.weights = [grid.weight for _, grid in own]
        kernels = [_kernels(grid, known, column) for column, grid in own]
        self.cross = [cross for cross, _ in kernels]
        self.features = [_features(among, cross) for cross, among in kernels]

    def drawn(
        self, rng: np.random.Generator, draws: int
    ) -> tuple[list[Floats], list[Floats], Floats]:
        """Draws before the trials are looked at: on the grids, and summed where it is known."""
        mains, pairs = [], []
        total = np.zeros((draws, self.cross[0].shape[1] if self.cross else 0))
        for size, (on_grid, at_known) in zip(self.size, self.features, strict=True):
            normal = np.sqrt(size) * rng.standard_normal((draws, on_grid.shape[1]))
            mains.append(normal @ on_grid.T)
            total += normal @ at_known.T
        for (i, j), strength in zip(self.pairs, self.strength, strict=True):
            (one, one_known), (other, other_known) = self.features[i], self.features[j]
            shape = (draws, one.shape[1], other.shape[1])
            normal = np.sqrt(strength) * rng.standard_normal(shape)
            pairs.append(one @ normal @ other.T)
            total += np.einsum("sna,na->sn", one_known @ normal, other_known)
        return mains, pairs, total

    def effects(
        self, solved: Floats, prior: Sequence[Floats] = (), prior_pairs: Sequence[Floats] = ()
    ) -> Effects:
        """The effects of each row of ``solved``, shape ``(n_rows, n_known)``."""
        rows = len(solved)
        alone, total = np.zeros((rows, self.count)), np.zeros((rows, self.count))
        mains = [
            size * (solved @ cross.T) for size, cross in zip(self.size, self.cross, strict=True)
        ]
        if prior:
            mains = [own + drawn for own, drawn in zip(mains, prior, strict=True)]
        whole = np.zeros(rows)
        for place, ((i, j), strength) in enumerate(zip(self.pairs, self.strength, strict=True)):
            surface = strength * (solved[:, None, :] * self.cross[i]) @ self.cross[j].T
            if prior_pairs:
                surface = surface + prior_pairs[place]
            by_one = surface @ self.weights[j]
            by_other = self.weights[i] @ surface
            mains[i], mains[j] = mains[i] + by_one, mains[j] + by_other
            middle = by_one @ self.weights[i]
            rest = surface - by_one[:, :, None] - by_other[:, None, :] + middle[:, None, None]
            size = rest**2 @ self.weights[j] @ self.weights[i]
            total[:, self.columns[[i, j]]] += size[:, None]
            whole += size
        for column, main, weight in zip(self.columns, mains, self.weights, strict=True):
            alone[:, column] = ((main - (main @ weight)[:, None]) ** 2) @ weight
        total += alone
        whole = whole + alone.sum(axis=1)
        scale = np.where(whole > 0, whole, 1.0)[:, None]
        return Effects(total / scale, alone / scale)


def _kernels(grid: Grid, known: KernelInputs, column: int) -> tuple[Floats, Floats]:
    """The kernel of a parameter between its grid and the known settings, and among the grid."""
    here = known.of(np.array([column]))
    cross, among = (kernel_matrices(grid.settings, each)[0] for each in (here, grid.settings))
    return cross.astype(np.float64), among.astype(np.float64)


def _features(among: Floats, cross: Floats) -> tuple[Floats, Floats]:
    """What the kernel of one parameter is a scalar product of, on its grid and where it is known.

    The kernel is smooth, so the grid tells it everywhere else to a few digits.
    """
    size, axes = np.linalg.eigh(among)
    kept = size > _RANK * size[-1]
    basis = axes[:, kept] / np.sqrt(size[kept])
    return among @ basis, cross.T @ basis


@dataclass(frozen=True, eq=False)
class MainEffect:
    """What the settings of one parameter do, in the mean over all settings of the others."""

    expected: Floats  # shape ``(n_settings,)``, in the metric's unit, against the mean of all
    deviation: Floats  # the same shape: standard deviations
    variance: float  # of ``expected`` over the settings as often as they are drawn


@dataclass(frozen=True, eq=False)
class PairEffect:
    """What two parameters do together beyond what each does alone."""

    columns: tuple[int, int]  # the two
    beyond: Floats  # shape ``(settings of the one, settings of the other)``, in the metric's unit
    variance: float  # of ``beyond``


class MarginalEffects:
    """The effects of a process; those of all parameters and pairs sum to what it expects."""

    def __init__(
        self, process: AdditiveProcess, known: KernelInputs, grids: Sequence[Grid]
    ) -> None:
        """Averages the kernel over each parameter."""
        self.process, self.weights = process, [grid.weight for grid in grids]
        self._kernels = [_kernels(grid, known, column) for column, grid in enumerate(grids)]
        size = process.components.parameters
        parts = list(zip(size, self.weights, self._kernels, strict=True))
        self._mean = np.array([s * (w @ cross) for s, w, (cross, _) in parts])
        self._mean_of_mean = np.array([s * (w @ among @ w) for s, w, (_, among) in parts])

    def main(self, column: int) -> MainEffect:
        """The effect of one parameter."""
        components, weight = self.process.components, self.weights[column]
        size = components.parameters[column]
        # The level and all that the other parameters do is the same at every setting of this one.
        others = self._mean.sum(axis=0) - self._mean[column]
        rest = float(self._mean_of_mean.sum() - self._mean_of_mean[column])
        cross, among = self._kernels[column]
        cross = size * cross * (1.0 + components.pairs * others)
        among = size * among * (1.0 + components.pairs * rest)
        cross = cross - weight @ cross
        among = among - weight @ among
        among = among - (among @ weight)[:, None]
        process = self.process
        reached = process.reached(cross)
        left = np.diag(among) - np.einsum("ng,ng->g", reached, reached)
        expected = process.spread * (cross @ process.solved)
        deviation = process.spread * np.sqrt(np.maximum(left, 0.0))
        return MainEffect(expected, deviation, float(weight @ expected**2))

    def pair(self, one: int, other: int) -> PairEffect:
        """What a pair does beyond the effects of its two parameters."""
        components = self.process.components
        strength = components.pairs * components.parameters[one] * components.parameters[other]
        cross, across = self._kernels[one][0], self._kernels[other][0]
        surface = strength * (self.process.solved * cross) @ across.T
        a, b = self.weights[one], self.weights[other]
        by_one, by_other = surface @ b, a @ surface
        beyond = surface - by_one[:, None] - by_other[None, :] + a @ surface @ b
        beyond = self.process.spread * beyond
        return PairEffect((one, other), beyond, float(a @ beyond**2 @ b))

    def pairs(self) -> list[PairEffect]:
        """All pairs, the strongest first."""
        found = [self.pair(i, j) for i, j in combinations(range(len(self.weights)), 2)]
        return sorted(found, key=lambda each: -each.variance)


_STEPS_WITHOUT = 10
_AT_A_TIME = 2
_UNLIKELY = 1.0  # a smaller likelihood ratio has a p-value above 0.15
_FOLDS = 5
LEAST_JUDGED = 10  # fewer trials are not worth parting


def log_likelihood(kernels: Singles, values: Floats, components: VarianceComponents) -> float:
    """The logarithm of the values' density, less a constant."""
    return log_evidence(covariance(kernels, components), components.noise, values)


def matter_p(kernels: Singles, values: Floats, components: VarianceComponents) -> Floats:
    """The p-value of no effect of each parameter: alone, and in all its pairs.

    By the likelihood ratio of the process with and without the parameter, the others learned
    again. A share cannot be below 0, so half of the mass is at 0 (Self and Liang, J. Am. Stat.
    Assoc. 82, 1987, case 5). Where the trials are does not matter to a likelihood, so trials of a
    search may teach, which an analysis of variance would mistake.

    Learning the others again takes nearly all of the time, and raises the p-value with nearly
    every step, so it ends as soon as that is above 0.15. The shape is ``(n_parameters,)``; where
    a parameter has no share its p-value is 1.
    """
    from scipy import stats

    found = np.ones(len(components.parameters))
    # Both sides get as many steps more.
    more = relearned(kernels, values, components, steps=_STEPS_WITHOUT, power=DAMPED)
    whole = log_likelihood(kernels, values, more)
    for place in np.flatnonzero(components.parameters > 1e-4 * components.parameters.sum()):
        rest = np.delete(kernels, place, axis=0)
        others = replace(components, parameters=np.delete(components.parameters, place))
        for _ in range(_STEPS_WITHOUT // _AT_A_TIME):
            others = relearned(rest, values, others, steps=_AT_A_TIME, power=DAMPED)
            ratio = 2.0 * (whole - log_likelihood(rest, values, others))
            if ratio < _UNLIKELY:
                break
        if ratio > 0:
            found[place] = 0.5 * stats.chi2.sf(ratio, 1)
    return found


def left_out_residuals(process: AdditiveProcess) -> Floats:
    """How far each value lies from what all others make expected, in standard deviations.

    In closed form: Rasmussen and Williams, "Gaussian processes for machine learning", 2006, Eq.
    5.12.
    """
    from scipy.linalg import cho_solve

    inverse = cho_solve((process.factor, True), np.eye(len(process.solved)), check_finite=False)
    return np.asarray(process.solved / np.sqrt(np.diag(inverse)))


def setting_folds(settings: NDArray[np.intp], *, seed: int) -> NDArray[np.intp] | None:
    """In which of five folds each value is held out; None of fewer than 10 settings.

    ``settings``, shape ``(n,)``: which setting each value was measured at. Values of one setting
    are in the same fold, or each would be predicted from the others.
    """
    different, of = np.unique(settings, return_inverse=True)
    if len(different) < LEAST_JUDGED:
        return None
    order = np.random.default_rng(seed).permutation(len(different))
    return np.asarray((order % _FOLDS)[of], dtype=np.intp)


def unseen_r2(
    kernels: Singles, values: Floats, settings: NDArray[np.intp], *, seed: int
) -> float | None:
    """R2: the share of the variance of unseen trials, in any unit, that the process explains.

    Over the folds of ``setting_folds``, shares learned anew in each; None of fewer than 10
    settings, or where all values are the same. ``kernels`` are of all parameters.
    """
    n = len(values)
    fold = setting_folds(settings, seed=seed)
    if fold is None or np.ptp(values) == 0:
        return None
    predicted = np.empty(n)
    for number in range(_FOLDS):
        seen, unseen = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        among = kernels[:, seen[:, None], seen]
        scaled, _, _ = standardised(values[seen])
        components = settled_components(among, scaled)
        process = fit_process(covariance(among, components), values[seen], components)
        cross = covariance(kernels[:, unseen[:, None], seen], components)
        predicted[unseen], _ = process.predict(cross)
    return float(1.0 - ((values - predicted) ** 2).sum() / ((values - values.mean()) ** 2).sum())
