"""What exploration has cost so far, in runs of the benchmark."""

from __future__ import annotations

from optimizer.budget.budget import Plan
from optimizer.trials.history import History
from optimizer.trials.trial import Purpose


def explored_runs(plan: Plan, history: History) -> int:
    """New configurations, and the runs of the baseline beyond the first ones that are planned.

    With several hosts only one's first runs are planned for; those of the others count here.
    """
    baselines = len(history.own(Purpose.BASELINE))
    return len(history.own(Purpose.CANDIDATE)) + max(0, baselines - plan.first)


def explore_left(plan: Plan, history: History) -> int:
    """Exploring runs that are left."""
    return plan.exploring - explored_runs(plan, history)
