"""Which objectives a workload can serve, as far as that is known before it runs."""

from __future__ import annotations

from optimizer.objective.objective import Objective
from optimizer.objective.objective_file import load_objective
from sampler.common.errors import InputError
from sampler.workload.live_keys import why_untold
from sampler.workload.metric_units import OF_WRITES, db_bench_metrics
from sampler.workload.workload import Workload

_OF_PREPARED = ("reading", "paper", "waf", "rate")


def usual_objective(workload: Workload) -> str:
    """The name of the objective where none is asked for.

    ``reading`` for a load that is prepared and gives all that it asks for (so one that overwrites
    a prepared database, which has no latencies of reads, is not among them), else ``paper``; of a
    load that does not give all of that ``waf``, and where it writes nothing ``rate``.
    """
    given = db_bench_metrics(workload)
    usual = ("paper", "waf", "rate") if workload.prepare is None else _OF_PREPARED
    return next(
        name for name in usual if all(t.metric in given for t in load_objective(name).terms)
    )


def require_terms(objective: Objective, workload: Workload) -> None:
    """Refuses what the load cannot give: write amplification without writes, uncounted space.

    Raises:
        InputError: It is asked for; the message names what there is instead.
    """
    untold = why_untold(workload)
    for term in objective.terms:
        if workload.only_reads and term.metric in OF_WRITES:
            raise InputError(
                "--objective",
                f"{objective.name} needs the metric {term.metric}, and the workload "
                f"{workload.name} writes nothing while it is measured; choose "
                "--objective reading, or whole_waf, which holds its preparation",
            )
        if untold and term.metric == "sa":
            raise InputError(
                "--objective",
                f"{objective.name} needs the metric sa, which cannot be told of the workload "
                f"{workload.name}: {untold}; choose an objective without it, such as waf",
            )
