"""How far earlier tasks agree with the present one: a covariance between tasks.

All tasks have the kernel over settings in common; how much of it two of them share is one number
a task (Bonilla, Chai and Williams, "Multi-task Gaussian process prediction", NIPS 2007, Eq. 2,
with a covariance of tasks that has one common factor). An agreement of 1 makes an earlier task's
values as good as the present one's own, apart from noise; 0 makes them tell nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from models import Floats
from models.gaussian_process.process import lower_factor

PRESENT = 0
FIRST_GUESS = 0.8  # before the present task has values of its own
NOTHING = 0.15  # an agreement below it is none
# Equally likely beforehand but for the lowest: of tasks that were chosen for their likeness few
# have nothing in common.
_GRID = np.array([0.0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99])
_CHANCE = np.array([0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
_NOISIER = 1.5  # of an earlier task's value: another day, another state of the machine


@dataclass(frozen=True, eq=False)
class Tasks:
    """Which task each value belongs to, and how far each task agrees with the present one."""

    of: NDArray[np.int64]  # shape ``(n,)``: 0 for the present task, 1, 2, ... for earlier ones
    agreement: Floats  # shape ``(n_tasks,)``, from 0 to 1; that of the present task is 1

    def among(self) -> Floats:
        """What the covariance over settings is multiplied by, shape ``(n, n)``."""
        rows = self.agreement[self.of]
        own = (1.0 - rows**2)[:, None] * (self.of[:, None] == self.of[None, :])
        return np.asarray(rows[:, None] * rows[None, :] + own)

    def with_present(self) -> Floats:
        """The same between the present task and each value, shape ``(n,)``."""
        return np.asarray(self.agreement[self.of])

    def noise(self) -> Floats:
        """How many times the noise of a value of the present task each has, shape ``(n,)``."""
        return np.where(self.of == PRESENT, 1.0, _NOISIER)

    def told(self) -> NDArray[np.bool_]:
        """The values that tell anything of the present task, shape ``(n,)``."""
        return np.asarray(self.agreement[self.of] >= NOTHING)

    def at(self, rows: NDArray[np.bool_]) -> Tasks:
        """Those of some of the values."""
        return replace(self, of=self.of[rows])


def first_agreement(earlier: int) -> Floats:
    """The agreement of so many earlier tasks, and of the present one, before anything is known."""
    return np.array([1.0] + [FIRST_GUESS] * earlier)


def learn_agreement(known: Floats, noise: float, values: Floats, tasks: Tasks) -> Floats:
    """How far each earlier task agrees, by the marginal likelihood of all values, ``(n_tasks,)``.

    Each in turn, the others as they are: the mean over a grid, weighed by the likelihood. See
    ``log_evidence``; learning begins at the agreement of ``tasks``.
    """
    if not (tasks.of == PRESENT).any():
        return tasks.agreement
    for task in range(1, len(tasks.agreement)):
        if (tasks.of == task).any():
            given = [_with(tasks, task, value) for value in _GRID]
            scores = np.array([log_evidence(known, noise, values, each) for each in given])
            weights = _CHANCE * np.exp(scores - scores.max())
            tasks = _with(tasks, task, float(weights @ _GRID / weights.sum()))
    return tasks.agreement


def _with(tasks: Tasks, task: int, value: float) -> Tasks:
    changed = tasks.agreement.copy()
    changed[task] = value
    return replace(tasks, agreement=changed)


def log_evidence(known: Floats, noise: float, values: Floats, tasks: Tasks | None = None) -> float:
    """The logarithm of the marginal likelihood of values, but for a constant for each of them.

    ``known`` is the covariance over settings without noise, ``(n, n)``. Without tasks all values
    are of one.
    """
    from scipy.linalg import cho_solve

    covariance = known * (1.0 if tasks is None else tasks.among())
    covariance[np.diag_indices(len(values))] += noise * (1.0 if tasks is None else tasks.noise())
    factor = lower_factor(covariance)
    fit = values @ cho_solve((factor, True), values, check_finite=False)
    return float(-0.5 * fit - np.log(np.diag(factor)).sum())
