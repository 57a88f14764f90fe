"""Whether a parameter matters at all, and how well unseen trials are predicted."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from models import Floats
from models.gaussian_process.kernel import Singles, VarianceComponents, covariance
from models.gaussian_process.process import AdditiveProcess, fit_process, standardised
from models.gaussian_process.task_agreement import log_evidence
from models.gaussian_process.variance_components import DAMPED, relearned, settled_components

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
    kernels: Singles, values: Floats, *, seed: int, settings: NDArray[np.intp] | None = None
) -> float | None:
    """R2: the share of the variance of unseen trials, in any unit, that the process explains.

    Over the folds of ``setting_folds``, shares learned anew in each; None of fewer than 10
    settings, or where all values are the same. ``kernels`` are of all parameters; ``settings``
    None: all differ.
    """
    n = len(values)
    fold = setting_folds(np.arange(n) if settings is None else settings, seed=seed)
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
