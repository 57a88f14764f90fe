"""Finished jobs of one host, made of real runs of a default."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
from sqlalchemy import Engine, insert

from db.connection.engine import writing
from db.jobs.job_store import JobStore
from db.schema.job_row import JobState
from db.schema.tables import trial
from db.trials.trial_rows import proposal
from optimizer.evaluation.baseline import summarise
from tests.support.api.stored_job import remember
from tests.support.jobs.batch_nights import ASKED, ENVIRONMENT, FIRST
from tests.support.jobs.recorded_nights import Planted, recorded_runs

SPEED = {"machine_speed": 1.25, "others_cpu": 0.02}


def host_baselines(planted: Planted, *, jobs: int = 24, seed: int = 1) -> list[dict[str, Any]]:
    """Of each job the baseline of a host as result.json has it: ten real runs, drawn anew."""
    rng, real = np.random.default_rng(seed), recorded_runs()
    found = []
    for job in range(jobs):
        drawn = [
            replace(real[place], number=number, started_at=FIRST + timedelta(minutes=number))
            for number, place in enumerate(rng.integers(len(real), size=10), 1)
        ]
        own = summarise(drawn)
        factors = planted.metrics if job >= planted.since else {}
        metrics = {**own.metrics, **{n: v * rng.normal(1, 0.01) for n, v in SPEED.items()}}
        metrics = {name: value * factors.get(name, 1.0) for name, value in metrics.items()}
        spread = {
            name: noise.spread * factors.get(f"noise of {name}", 1.0)
            for name, noise in own.noise.items()
            if noise.spread is not None
        }
        found.append({"metrics": metrics, "runs": own.runs, "spread": spread})
    return found


def keep_host_jobs(
    engine: Engine,
    baselines: Sequence[Mapping[str, Any]],
    *,
    host: str = "bench-1",
    environment: Mapping[str, Any] = ENVIRONMENT,
) -> list[int]:
    """The numbers of the jobs."""
    store, numbers = JobStore(engine), []
    for baseline in baselines:
        number = store.create_job(ASKED, "digest")
        own = {"name": host, "trials": 12, "baseline": dict(baseline), "set_aside": None}
        store.save_environment(number, environment)
        store.save_result(number, {"schema": 1, "hosts": [own]})
        store.set_state(number, JobState.DONE)
        numbers.append(number)
    return numbers


def keep_set_aside(engine: Engine, why: str, *, state: JobState, since: int | None = 1) -> int:
    """The number of a job that does without `bench-1`, whose run ``since`` is the last in line."""
    store, run = JobStore(engine), recorded_runs()[0]
    number = store.create_job(ASKED, "digest")
    body = {"hosts": {"bench-1": why}, "since": {"bench-1": since}}
    with writing(engine) as connection:
        row = {**proposal(run), "job_id": number, "lease_epoch": 1}
        connection.execute(insert(trial).values(row))
    with writing(engine) as connection:
        remember(connection, number, "hosts_set_aside", body)
    store.set_state(number, state)
    return number
