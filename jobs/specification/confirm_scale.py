"""A confirmation at a larger scale than the search (`--confirm-scale`): what is asked for."""

from __future__ import annotations

from dataclasses import replace

from sampler.common.errors import InputError
from sampler.workload.workload import Workload


def confirm_load(
    workload: Workload, confirm_scale: int | None, scale: int | None
) -> Workload | None:
    """The load that confirms; None where it is the search's.

    Args:
        workload: As it is written.
        confirm_scale: What is asked for.
        scale: What the search measures at; None: the workload's own.
    """
    if confirm_scale is None:
        return None
    # The number of keys belongs to the scale of the search, whoever named that.
    searched = replace(workload, scale=workload.scale if scale is None else scale)
    return searched.at_scale(confirm_scale)


def require_larger(confirm_scale: int | None, workload: Workload, scale: int | None) -> None:
    """Refuses a scale that is no larger one, and a load that cannot be made larger.

    Raises:
        InputError: It is so.
    """
    if confirm_scale is None:
        return
    if not workload.by_db_bench:
        raise InputError(
            "--confirm-scale", "only a load of db_bench can be made larger; leave it out"
        )
    searched = workload.scale if scale is None else scale
    if not 1 <= confirm_scale < searched:
        least = "write one from 1 to" if searched > 1 else "nothing is larger than"
        raise InputError(
            "--confirm-scale",
            f"{confirm_scale} is no larger scale than that of the search, 1/{searched}; "
            f"{least} {max(searched - 1, 1)}",
        )
