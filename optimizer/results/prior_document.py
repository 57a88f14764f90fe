"""What a warm start took along, and how far each job agreed in the end, for result.json."""

from __future__ import annotations

from typing import Any

from models.gaussian_process.one_thread import one_thread
from optimizer.surrogate.coordinates import layout_of
from optimizer.surrogate.learned_shares import learned_of
from optimizer.surrogate.metric_lessons import teaching
from optimizer.trials.history import History
from optimizer.trials.problem import Problem


def prior_document(problem: Problem, history: History) -> list[dict[str, Any]]:
    """One row for each earlier job; empty for a job that took nothing along.

    ``agreement``: metric to a number from 0 (it told nothing) to 1 (its trials were as good as
    the job's own); see ``models.gaussian_process.task_agreement``.
    """
    jobs = problem.prior.jobs
    if not jobs:
        return []
    layout = layout_of(problem.space, problem.searched)
    with one_thread():
        learned = learned_of(problem, history, layout, teaching(history))
    return [
        {
            "job": job.job,
            "workload": job.workload,
            "trials": len(job.trials),
            "of": job.of,
            "agreement": {
                metric: round(float(each.agreement[task]), 3) for metric, each in learned.items()
            },
        }
        for task, job in enumerate(jobs, 1)
    ]
