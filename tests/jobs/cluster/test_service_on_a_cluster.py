"""The service's worker over real hosts: restarted, cancelled, and what it shows of them."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine

from db.jobs.job_queue import enqueue_job
from db.jobs.job_store import JobStore
from db.leases import read_hosts
from db.schema.job_row import JobState
from jobs.queue.lifecycle import WAITS, cancel_stored
from sampler.bench.outcome import TrialState
from tests.support.cluster.bench_cluster import BenchCluster
from tests.support.jobs.instant import codec_job
from tests.support.jobs.service_desk import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.one_database]

TRIALS = 400  # more than will be made


def submitted(engine: Engine, cluster: BenchCluster, **more: str) -> int:
    specification = codec_job(cluster.folder, cluster.workload(), trials=TRIALS, **more)
    job, _ = enqueue_job(engine, specification.document(), specification.digest(), why=WAITS)
    return job


def test_a_worker_that_is_restarted_finds_its_trials_and_cancelling_ends_them(
    database: Engine, database_url: str, cluster: BenchCluster
):
    job, store = submitted(database, cluster), JobStore(database)
    cluster.hold.touch()
    first = cluster.worker(database_url)
    cluster.await_runs(2)
    assert first.stop() == 0
    assert len(cluster.alive()) == 2, "the hosts go on"
    cluster.worker(database_url)
    wait_until(
        lambda: {h.name for h in read_hosts(database) if h.job_id == job} == {"a", "b"},
        seconds=60, what="the hosts are shown with what they do",
    )  # fmt: skip
    cluster.hold.unlink()
    cluster.await_runs(4)
    trials = {t.number: t for t in store.trials(job)}
    assert (trials[1].state, trials[1].attempt) == (TrialState.DONE, 1), "nothing was run twice"

    cluster.hold.touch()
    wait_until(lambda: len(cluster.alive()) == 2, seconds=60, what="both measure")
    cancel_stored(database, job)
    wait_until(lambda: not cluster.alive(), seconds=30, what="nothing runs")
    wait_until(
        lambda: TrialState.RUNNING not in {t.state for t in store.trials(job)},
        seconds=30, what="they are kept as lost",
    )  # fmt: skip
    assert store.job(job).state is JobState.CANCELLED


def test_a_job_that_waits_for_a_host_can_be_cancelled(
    database: Engine, database_url: str, cluster: BenchCluster
):
    job = submitted(database, cluster, host_kind="nvme")
    worker = cluster.worker(database_url)
    worker.await_said("waiting")
    cancel_stored(database, job)
    worker.await_said("job stopped")
    assert worker.stop() == 0
