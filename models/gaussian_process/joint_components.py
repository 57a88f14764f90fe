"""Shares of a metric's variance from the present task's values and those of earlier tasks."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.gaussian_process.kernel import Floats, Singles, VarianceComponents, covariance
from models.gaussian_process.process import standardised
from models.gaussian_process.task_agreement import (
    NOTHING,
    PRESENT,
    Tasks,
    first_agreement,
    learn_agreement,
    log_evidence,
)
from models.gaussian_process.variance_components import (
    first_guess,
    learn_components,
    settled_components,
)

LEAST_ALONE = 8  # values of the present task, to be judged by themselves
_STEPS_AGAIN = 6  # from those of the time before
_Rows = NDArray[np.bool_]
_Together = tuple[VarianceComponents, Floats]


@dataclass(frozen=True, eq=False)
class LearnedComponents:
    """What was learned of one metric."""

    components: VarianceComponents  # of its variance, over all parameters
    agreement: Floats  # shape ``(n_tasks,)``; see ``models.gaussian_process.task_agreement.Tasks``
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

    Args:
        kernels: Of all values.
        values: In any unit, NaN where unknown.
        tasks_of: Shape ``(n,)``: the task of each value, 0 for the present one.
        earlier: How many earlier tasks there are.
        before: What was learned from fewer values; learning begins there.
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
    without = log_evidence(
        covariance(_within(kernels, mine), alone), alone.noise, own, tasks.at(mine)
    )
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
