"""A confirmation at a larger scale than the search (`--confirm-scale`): what is asked for."""

from __future__ import annotations

from dataclasses import replace

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
