"""A confirmation at a larger scale than the search: how large it is, and how long it takes.

What is proved is what was measured there: the winner is chosen and judged by runs at that scale
alone, each beside a run of the baseline at the same.
"""

from collections.abc import Mapping
from typing import Any

from optimizer.baseline.baseline import Baseline, summarise
from optimizer.budget.budget import full_seconds
from optimizer.trials.history import History
from optimizer.trials.problem import Problem
from optimizer.trials.trial import Phase, Purpose, Trial
from sampler.workload.workload import Workload


def apart(problem: Problem, trial: Trial) -> bool:
    """Whether a trial measures another load than the search, so that figures do not compare."""
    return problem.confirm is not None and trial.phase is Phase.CONFIRM


def baseline_there(problem: Problem, history: History) -> Baseline | None:
    """The baseline as the confirmation measured it at its own load; None without a run of it."""
    runs = [t for t in history if t.is_baseline and t.done and apart(problem, t)]
    return summarise(runs) if runs else None


def confirming_seconds(problem: Problem, history: History) -> float | None:
    """What one run of the confirmation takes, in seconds of the benchmark.

    As those measured; before the first, the baseline's time as many times as the load is larger.
    What its process spends beside that (start, sleeps) stays the same. A larger load that leaves
    the caches behind takes longer than that: it is an estimate. None before a run of the baseline
    has ended well.
    """
    confirming = [*history.of(Purpose.SELECT), *history.of(Purpose.PROVE)]
    made = [trial for trial in confirming if trial.has_outcome]
    if made:
        return sum(map(full_seconds, made)) / len(made)
    runs = [trial for trial in history.of(Purpose.BASELINE) if trial.done]
    if not runs:
        return None
    more = (problem.confirm or problem.workload).num / problem.workload.num - 1
    seconds = 0.0
    for run in runs:
        grows = run.metrics.get("time", run.bench_seconds)
        grows += run.metrics.get("prepare_seconds", 0.0)
        seconds += full_seconds(run) + more * grows
    return seconds / len(runs)


def where_words(confirm: Workload) -> str:
    """The load of the confirmation in words: ``at scale 8 (800,000 keys)``."""
    return f"at scale {confirm.scale} ({confirm.num:,} keys)"


def confirmation_document(problem: Problem) -> dict[str, Any] | None:
    """As JSON holds it; None where the confirmation measures what the search does."""
    if problem.confirm is None:
        return None
    searched, proved = problem.workload, problem.confirm
    return {
        "scale": proved.scale,
        "num": proved.num,
        "search_scale": searched.scale,
        "search_num": searched.num,
    }


def confirmation_words(document: Mapping[str, Any] | None) -> str | None:
    """One line from such a document: where was searched and where proved; None without one."""
    if document is None:
        return None
    return (
        f"Searched at scale 1/{document['search_scale']} ({document['search_num']:,} keys); "
        f"confirmed at scale 1/{document['scale']} ({document['num']:,} keys), where the baseline "
        "was measured too"
    )
