"""A job that a runner of the user's own measures, and that runner."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from random import Random
from typing import Any

from sqlalchemy import Engine, event

from db.jobs.job_queue import enqueue_job
from db.schema.job_row import JobState
from jobs.external import ExternalJobs, ReportedTrial
from jobs.queue.lifecycle import TOLD, NotAsked
from jobs.specification.named_files import specify
from optimizer.trials.trial import Trial


def submit_external(engine: Engine, **asked: Any) -> int:
    """A job of 12 trials of the default space, unless asked otherwise."""
    given: dict[str, Any] = {"objective": "waf", "strategy": "random", "trials": 12}
    specification = specify(workload="external", **(given | asked))
    job_id, _ = enqueue_job(
        engine, specification.document(), specification.digest(),
        state=JobState.RUNNING, why=TOLD, by_service=False,
    )  # fmt: skip
    return job_id


def waf_of(configuration: Mapping[str, Any], number: int) -> float:
    """The later level 0 is compacted, the less is written; 0.1% noise, by the number alone."""
    trigger = configuration["level0_file_num_compaction_trigger"]
    return (6.0 - trigger / 4) * (1 + Random(number).gauss(0, 0.001))


def measured(trial: Trial) -> ReportedTrial:
    waf = waf_of(trial.configuration, trial.number)
    return ReportedTrial(
        number=trial.number,
        attempt=trial.attempt,
        metrics={"waf": waf},
        host="theirs",
        bench_seconds=1.0,
    )


def run_to_the_end(
    jobs: ExternalJobs,
    job_id: int,
    *,
    count: int = 4,
    told: Callable[[Trial], ReportedTrial] = measured,
) -> list[Trial]:
    """Asks and tells until the job is complete; what was handed out."""
    handed: list[Trial] = []
    for _ in range(1000):
        try:
            asked = jobs.ask(job_id, count)
        except NotAsked:  # another runner had the last of it
            return handed
        handed += asked.trials
        if asked.complete:
            return handed
        for trial in asked.trials:
            jobs.tell(job_id, [told(trial)])
    raise AssertionError("the job does not end")


@contextmanager
def statements(engine: Engine) -> Iterator[list[str]]:
    """The statements that an engine executes meanwhile."""
    seen: list[str] = []

    def note(*arguments: Any) -> None:
        seen.append(arguments[2])

    event.listen(engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        event.remove(engine, "before_cursor_execute", note)
