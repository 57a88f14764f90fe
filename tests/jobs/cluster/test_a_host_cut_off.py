"""A host whose cable is pulled in the middle of a trial, for longer than the scheduler waits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.cluster.certificates import make_set
from sampler.bench.outcome import TrialState
from tests.support.cluster.bench_cluster import BenchCluster
from tests.support.cluster.netns_hosts import HostNetwork, host_network, why_impossible
from tests.support.db.stored_trials import trials_of
from tests.support.jobs.service_desk import ServiceProcess, wait_until

TRIALS = 40  # with fewer the second host would not be worth its baseline
_WHY_NOT = why_impossible()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(_WHY_NOT is not None, reason=f"no network of hosts: {_WHY_NOT}"),
]


@pytest.fixture
def network() -> Iterator[HostNetwork]:
    with host_network("a", "b") as made:
        yield made


@pytest.fixture
def cluster(tmp_path: Path, network: HostNetwork) -> Iterator[BenchCluster]:
    certificates = tmp_path / "certificates"
    make_set(certificates, [network.address])
    running = BenchCluster(
        tmp_path, ttl=2.0, seconds=0.02, listen=network.address, certificates=certificates,
        inside=network.inside,
    )  # fmt: skip
    try:
        running.start_scheduler()
        for name in network.names:
            running.start_host(name)
        running.await_hosts()
        yield running
    finally:
        running.close()


def times_said(running: ServiceProcess, event: str) -> int:
    said = [each for each in running.events() if each.get("event") == event]
    return sum(each["host"] == "a" for each in said)


def test_a_host_that_was_cut_off_ends_its_run_and_joins_anew(
    cluster: BenchCluster, network: HostNetwork
):
    url = str(cluster.folder / "jobs.db")
    cluster.hold.touch()
    running = cluster.tune(url, trials=TRIALS, strategy="random")
    victim = next(run for run in cluster.await_runs(2) if run.host == "a")
    assert cluster.scheduler is not None
    scheduler, host = cluster.scheduler, cluster.hosts["a"]
    # On a busy machine it may have been given up and have come back before.
    gone, ready = times_said(scheduler, "host left"), times_said(host, "ready")
    network.cut("a")
    wait_until(
        lambda: times_said(scheduler, "host left") > gone, seconds=30, what="it is given up"
    )
    assert victim in cluster.alive(), "it does not know yet"
    network.join("a")
    wait_until(lambda: victim not in cluster.alive(), seconds=30, what="it has ended its run")
    wait_until(lambda: times_said(host, "ready") > ready, seconds=30, what="it has joined anew")
    cluster.hold.unlink()
    assert running.process.wait(120) in (0, 3), running.log.read_text()[-3000:]
    trials = trials_of(url)
    assert [(t.number, t.state) for t in trials] == [
        (number, TrialState.DONE) for number in range(1, TRIALS + 1)
    ]
    assert [t.attempt for t in trials] != [1] * TRIALS
    assert victim.token not in {run.token for run in cluster.runs("ends")}
    assert {t.host for t in trials} == {"a", "b"}
    assert cluster.alive() == []
