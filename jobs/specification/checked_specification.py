"""A specification that is checked as a whole, wherever its documents come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from jobs.specification.confirm_scale import require_larger
from jobs.specification.hosts_asked import require_build, require_kind
from jobs.specification.limits_asked import limited
from jobs.specification.measured_metrics import require_terms
from jobs.specification.numbers_asked import DEFAULT_TRIALS, wrong_budget, wrong_scale_or_seed
from jobs.specification.search_asked import (
    require_cutoff,
    require_detectable,
    require_heeded,
    require_learning,
    require_samples,
)
from jobs.specification.specification import Specification
from jobs.specification.start_from import require_sizes, require_starts
from jobs.specification.warm_start_text import WarmStart
from optimizer.objective.objective import Limit, Objective
from optimizer.objective.objective_file import limit_document, objective_from_document
from optimizer.strategies.registry import DEFAULT_STRATEGY, find_strategy
from optimizer.trials.problem import SearchSettings
from sampler.bench.builds import DEFAULT_BUILD
from sampler.common.errors import InputError, noting, refuse_noted
from sampler.options.normal_form import read_user_options
from sampler.space.space_file import space_from_document
from sampler.workload.workload import Workload
from sampler.workload.workload_file import workload_from_document


class Asked(TypedDict, total=False):
    """What may be asked for beside documents and baseline; see ``specification_of``."""

    limits: Sequence[Limit]
    strategy: str
    trials: int | None
    minutes: float | None
    memory: int | None
    scale: int | None
    seed: int
    search: SearchSettings | None
    host_kind: str | None
    start_from: Sequence[Mapping[str, Any]] | None
    warm_start: WarmStart
    confirm_scale: int | None
    drop_unknown: bool


def specification_of(
    *,
    workload: Mapping[str, Any],
    space: Mapping[str, Any],
    objective: Mapping[str, Any],
    shipped_space: bool,
    limits: Sequence[Limit] = (),
    strategy: str = DEFAULT_STRATEGY,
    baseline: str | None = None,
    baseline_options: str | None = None,
    trials: int | None = None,
    minutes: float | None = None,
    memory: int | None = None,
    scale: int | None = None,
    seed: int = 1,
    search: SearchSettings | None = None,
    db_bench: str | None = None,
    host_kind: str | None = None,
    start_from: Sequence[Mapping[str, Any]] | None = None,
    warm_start: WarmStart = None,
    confirm_scale: int | None = None,
    drop_unknown: bool = False,
) -> Specification:
    """Checks all that is asked for, wherever the documents come from; no file is read.

    Args:
        workload: A document as its TOML file would hold it.
        space: The same.
        objective: The same.
        shipped_space: Whether the space came with Rocktune.
        limits: Added to those of the objective.
        strategy: A strategy's name.
        baseline: ``library`` or ``db_bench``; None for the space's own.
        baseline_options: The text of an OPTIONS file instead.
        trials: Runs of the benchmark in all, at least 12; None with ``minutes``, or for
            the default.
        minutes: Time instead of trials.
        memory: Budget in bytes; None for the baseline's.
        scale: Overrides the workload's scale.
        seed: Everything random comes from it.
        search: How the search behaves; None for the defaults.
        db_bench: A build's name, or the path of a program; None for the host's own.
        host_kind: The kind of hosts that it is for; None for any.
        start_from: Where the search begins; None for where the strategy usually does.
        warm_start: ``auto``, or the number of an earlier job; None for none.
        confirm_scale: The scale of the confirmation, below that of the search; None: the same.
        drop_unknown: Whether options of the file that the RocksDB does not know are left out
            while measuring, instead of refused.

    Raises:
        InputError: Something is wrong; the message names it and the mend.
        InputErrors: Several things are.
    """
    found: list[InputError] = []
    if trials is None and minutes is None:
        trials = DEFAULT_TRIALS
    found += wrong_budget(trials, minutes)
    found += wrong_scale_or_seed(scale, seed)
    search = search or SearchSettings()
    with noting(found):
        require_cutoff(search)
    with noting(found):
        chosen = find_strategy(strategy)
        require_heeded(search, chosen, strategy)
        require_learning(warm_start, chosen, strategy)
    if start_from is not None:
        with noting(found):
            start_from = require_starts(start_from)
    with noting(found):
        require_samples(search, trials)
    load: Workload | None = None
    with noting(found):
        load = workload_from_document(workload)
    with noting(found):
        space_from_document(space)
    goal: Objective | None = None
    with noting(found):
        goal = objective_from_document(objective)
        require_detectable(search, goal, trials)
    if load is not None and start_from is not None:
        with noting(found):
            require_sizes(start_from, load)
    if load is not None and goal is not None:
        with noting(found):
            require_terms(goal, load)
            whole = limited(goal, limits, load)
            if limits:
                rows = [limit_document(limit) for limit in whole.limits]
                objective = {**objective, "limit": rows}
    if baseline_options is not None:
        with noting(found):
            read_user_options(baseline_options, name="--baseline")
    with noting(found):
        require_build(db_bench, workload)
    with noting(found):
        require_kind(host_kind)
    if load is not None:
        with noting(found):
            require_larger(confirm_scale, load, scale)
    refuse_noted(found)
    return Specification(
        workload=workload,
        space=space,
        objective=objective,
        shipped_space=shipped_space,
        strategy=strategy,
        baseline=baseline,
        baseline_options=baseline_options,
        trials=trials,
        minutes=minutes,
        memory=memory,
        scale=scale,
        seed=seed,
        search=search.document(),
        # The one in use has a name, too: the same job has the same digest either way.
        db_bench=None if db_bench == DEFAULT_BUILD else db_bench,
        host_kind=host_kind,
        start_from=start_from,
        warm_start=warm_start,
        confirm_scale=confirm_scale,
        drop_unknown=drop_unknown,
    )
