"""Shares of a metric's variance from the present task's values and those of earlier tasks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.gaussian_process.kernel import Floats, Shares, Singles, covariance
from models.gaussian_process.process import standardised
from models.gaussian_process.task_agreement import (
    NOTHING,
    PRESENT,
    Tasks,
    first_agreement,
    learn_agreement,
    log_evidence,
)
from models.gaussian_process.variance_components import first_guess, learn_shares

LEAST_ALONE = 8  # values of the present task, to be judged by themselves
_STEPS_AGAIN = 6  # from those of the time before
_Rows = NDArray[np.bool_]
_Together = tuple[Shares, Floats]


@dataclass(frozen=True, eq=False)
class Learned:
    """What was learned of one metric.

    Attributes:
        shares: Of its variance, over all parameters.
        agreement: Shape ``(n_tasks,)``; see ``models.gaussian_process.task_agreement.Tasks``.
        alone: The shares that the present task's values tell by themselves.
        together: Shares and agreement that all values tell; None where there are no earlier ones.
    """

    shares: Shares
    agreement: Floats
    alone: Shares
    together: _Together | None


def learn_jointly(
    alike: Singles,
    values: Floats,
    tasks_of: NDArray[np.int64],
    earlier: int,
    before: Learned | None = None,
) -> Learned:
    """Shares and agreements; those of the present task alone where earlier ones do harm.

    Args:
        alike: Shape ``(n_parameters, n, n)``, of ``likeness``.
        values: Shape ``(n,)``, NaN where unknown.
        tasks_of: Shape ``(n,)``: the task of each value, 0 for the present one.
        earlier: How many earlier tasks there are.
        before: What was learned from fewer values; learning begins there.
    """
    known = np.isfinite(values)
    mine = known & (tasks_of == PRESENT)
    alone = _shares(alike, values, mine, before.alone if before else None)
    together = before.together if before else None
    if not (known & ~mine).any():
        return Learned(alone, first_agreement(earlier), alone, together)
    start, agreed = together or (None, first_agreement(earlier))
    together = _together(alike, values, known, Tasks(tasks_of, agreed), start)
    apart = (together[1][1:] < NOTHING).all() or (
        mine.sum() > LEAST_ALONE
        and _gain(alike, values, known, Tasks(tasks_of, together[1]), alone, together[0]) < 0
    )
    if apart:
        return Learned(alone, np.array([1.0] + [0.0] * earlier), alone, together)
    return Learned(*together, alone, together)


def _together(
    alike: Singles, values: Floats, known: _Rows, tasks: Tasks, start: Shares | None
) -> _Together:
    """The shares and the agreement by all values; those of tasks that agree teach the shares."""
    shares = _shares(alike, values, known & tasks.told(), start, tasks)
    scaled, _, _ = standardised(values[known])
    level = covariance(_within(alike, known), shares)
    return shares, learn_agreement(level, shares.noise, scaled, tasks.at(known))


def _gain(
    alike: Singles, values: Floats, known: _Rows, tasks: Tasks, alone: Shares, shares: Shares
) -> float:
    """How much likelier the task's own values are with the earlier ones than without: a logarithm.

    An agreement supposes that tasks have their shares in common. Of one in which nothing matters
    that is not so, and then this tells.
    """
    told = known & tasks.told()
    scaled, _, spread = standardised(values[told])
    level = covariance(_within(alike, told), shares)
    these = tasks.at(told)
    old = these.of != PRESENT
    both = log_evidence(level, shares.noise, scaled, these)
    before = log_evidence(level[np.ix_(old, old)], shares.noise, scaled[old], these.at(old))
    mine = known & (tasks.of == PRESENT)
    own, _, own_spread = standardised(values[mine])
    without = log_evidence(
        covariance(_within(alike, mine), alone), alone.noise, own, tasks.at(mine)
    )
    return both - before - without - int(mine.sum()) * float(np.log(spread / own_spread))


def _shares(
    alike: Singles,
    values: Floats,
    rows: _Rows,
    start: Shares | None,
    tasks: Tasks | None = None,
) -> Shares:
    """The shares that some of the values tell."""
    if not rows.any():
        return first_guess(len(alike)) if start is None else start
    scaled, _, _ = standardised(values[rows])
    several = tasks.at(rows) if tasks is not None else None
    steps = {} if start is None else {"steps": _STEPS_AGAIN}
    return learn_shares(_within(alike, rows), scaled, start, tasks=several, **steps)


def _within(alike: Singles, rows: _Rows) -> Singles:
    return alike if rows.all() else alike[:, rows][:, :, rows]
