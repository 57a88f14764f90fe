"""The limits that a job is asked to keep: its objective's own and those given beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from optimizer.objective.limits import require_possible
from optimizer.objective.objective import Limit, Objective
from sampler.common.errors import InputError, noting, refuse_noted
from sampler.workload.metric_units import db_bench_metrics
from sampler.workload.workload import Workload

FIELD = "--limit"


def limited(objective: Objective, added: Sequence[Limit], workload: Workload) -> Objective:
    """The objective with further limits, all of them checked against what is measured.

    Which metrics a benchmark of the user's own gives is seen in its first run.

    Args:
        objective: As its file says.
        added: The limits that were given beside it.
        workload: What is measured.

    Raises:
        InputError: A limit is of a metric that nothing measures, is what a budget is for, or
            contradicts another.
        InputErrors: Several are.
    """
    found: list[InputError] = []
    for number, limit in enumerate(objective.limits, start=1):
        with noting(found):
            _require_measured(limit.metric, workload, f"limit[{number}].metric")
    for limit in added:
        with noting(found):
            _require_measured(limit.metric, workload, FIELD)
    whole = (*objective.limits, *added)
    with noting(found):
        require_possible(whole, field=FIELD if added else "objective.limit")
    refuse_noted(found)
    return replace(objective, limits=whole)


def _require_measured(metric: str, workload: Workload, field: str) -> None:
    if metric == "memory":
        # It follows from the configuration: a budget keeps every draw within it by construction.
        problem = "memory is a budget, not a limit: give --memory, for example --memory 512MiB"
        raise InputError(field, f"{problem}; what a process really took is peak_rss")
    if workload.by_db_bench and metric not in (known := db_bench_metrics(workload)):
        names = ", ".join(name for name in known if name != "memory")
        problem = f"nothing measures {metric!r:.80} of the workload {workload.name}"
        raise InputError(field, f"{problem}; name one of {names}")
