"""The models of a job's metrics under every strength of effects that the trials leave possible.

A single process takes the shares of the variance as known, the metrics as unrelated and effects
as smooth. Its intervals held the truth in as few as three of four cases, see
docs/results/explanation_coverage.md. Here the shares are drawn from their posterior, the metrics
err together, and a part of each effect may come in steps.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from models.gaussian_process.component_posterior import drawn_components
from models.gaussian_process.evidence import left_out_residuals
from models.gaussian_process.kernel import KernelInputs, covariance, covariances, kernel_matrices
from models.gaussian_process.process import AdditiveProcess, fit_process, standardised
from models.gaussian_process.variance_components import learn_components
from optimizer.surrogate.coordinates import CubeLayout, Floats
from optimizer.surrogate.training_data import TrainingData

MEMBERS = 24
DRAWS_EACH = 40
DRAWS = MEMBERS * DRAWS_EACH
_ROUGH = 0.5  # of each parameter's variance: effects of options often come in steps
_MOST_ROWS = 120  # of the walk over shares, which takes a Cholesky factor at each of its steps
_MOST_RESIDUAL = 3.0  # standard deviations; one run that went wrong tells no correlation
_LEAN = 5.0  # as many rows speak for unrelated metrics


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Several processes for each metric, each with other shares of the variance."""

    layout: CubeLayout  # what the coordinates stand for
    settings: Mapping[str, KernelInputs]  # by metric, the known settings
    # By metric, ``MEMBERS`` processes over them.
    processes: Mapping[str, tuple[AdditiveProcess, ...]]
    correlation: Floats  # shape ``(n_metrics, n_metrics)``: of what the processes do not know

    def expected(self, points: Floats) -> dict[str, Floats]:
        """The mean of each metric over all members at points, in the unit of the training data."""
        asked = self.layout.settings(points)
        return {
            name: _means(members, self._cross(name, asked)).mean(axis=0)
            for name, members in self.processes.items()
        }

    def drawn(self, points: Floats) -> dict[str, Floats]:
        """The expectation and equally likely values of each metric, shape ``(1 + DRAWS, m)``.

        In the unit of the training data. Values of one row belong together, those of different
        metrics too: where a run is slower than expected its rate is lower, so the doubts about a
        fitness do not cancel.
        """
        asked = self.layout.settings(points)
        kernels, normal = kernel_matrices(asked, asked, rough=_ROUGH), self._normal(len(points))
        found = {}
        for place, (name, members) in enumerate(self.processes.items()):
            cross = self._cross(name, asked)
            among = covariances(kernels, [each.components for each in members])
            rows = [_means(members, cross).mean(axis=0)[None]]
            for number, each in enumerate(members):
                expected, doubt = each.predict_together(cross[number], among[number])
                # The symmetric root: each configuration keeps its normals, whatever the metric.
                rows.append(expected + normal[number, place] @ _root(doubt))
            found[name] = np.vstack(rows)
        return found

    def _cross(self, name: str, asked: KernelInputs) -> Floats:
        kernels = kernel_matrices(asked, self.settings[name], rough=_ROUGH)
        return covariances(kernels, [each.components for each in self.processes[name]])

    def _normal(self, points: int) -> Floats:
        """Shape ``(MEMBERS, n_metrics, DRAWS_EACH, points)``; the same for as many points."""
        shape = (MEMBERS, len(self.processes), DRAWS_EACH, points)
        normal = np.random.default_rng(points).standard_normal(shape)
        return np.asarray(np.einsum("ab,mbdc->madc", _root(self.correlation), normal))


def ensemble_of(layout: CubeLayout, data: TrainingData, *, seed: int) -> Ensemble:
    """Draws the shares of every metric's process, and fits a process to each draw."""
    settings, processes, residuals = {}, {}, {}
    for place, (name, target) in enumerate(data.targets.items()):
        rows = np.flatnonzero(np.isfinite(target))
        values, known = target[rows], layout.settings(data.points[rows])
        kernels = kernel_matrices(known, known, rough=_ROUGH)
        few = np.unique(np.linspace(0, len(rows) - 1, _MOST_ROWS).astype(int))
        scaled, _, _ = standardised(values)
        components = drawn_components(
            kernels[:, few[:, None], few],
            scaled[few],
            learn_components(kernel_matrices(known, known), scaled),
            draws=MEMBERS,
            seed=(seed, place),
        )
        members = tuple(
            fit_process(covariance(kernels, each), values, each) for each in components
        )
        settings[name], processes[name] = known, members
        residuals[name] = np.full(len(target), np.nan)
        residuals[name][rows] = np.mean([left_out_residuals(each) for each in members], axis=0)
    correlation = _correlation(np.array(list(residuals.values())))
    return Ensemble(layout, settings, processes, correlation)


def _means(members: tuple[AdditiveProcess, ...], cross: Floats) -> Floats:
    """What each member expects, shape ``(MEMBERS, m)``."""
    return np.array([each.expected(own) for each, own in zip(members, cross, strict=True)])


def _correlation(residuals: Floats) -> Floats:
    """Of the residuals, shape ``(n_metrics, n_rows)``; leans to none where rows are few."""
    whole = residuals[:, np.isfinite(residuals).all(axis=0)]
    whole = np.clip(whole, -_MOST_RESIDUAL, _MOST_RESIDUAL)
    size = np.sqrt((whole**2).mean(axis=1)) if whole.shape[1] else np.zeros(len(whole))
    scaled = whole / np.where(size > 0, size, 1.0)[:, None]
    found = (scaled @ scaled.T + _LEAN * np.eye(len(whole))) / (whole.shape[1] + _LEAN)
    np.fill_diagonal(found, 1.0)
    return np.asarray(found)


def _root(covariance: Floats) -> Floats:
    """The symmetric root of a covariance that may be singular."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)
