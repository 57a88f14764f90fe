"""Whole jobs over real hosts: spread, one trial at a time on each, right whatever breaks."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path

import pytest

from optimizer.trials.trial import Trial
from sampler.bench.outcome import TrialState
from tests.support.cluster.bench_cluster import BenchCluster, bench_cluster, result_of
from tests.support.db.stored_trials import trials_of
from tests.support.jobs.service_desk import ServiceProcess, wait_until

pytestmark = pytest.mark.slow

TRIALS, MANY = 40, 64  # with fewer a second, or a third, host would not be worth its baseline


def db_of(cluster: BenchCluster) -> str:
    return str(cluster.folder / "jobs.db")


def tune(cluster: BenchCluster, *, trials: int = TRIALS, resume: bool = False) -> ServiceProcess:
    return cluster.tune(db_of(cluster), trials=trials, resume=resume, strategy="random")


def ends_well(running: ServiceProcess) -> None:
    status = running.process.wait(120)
    assert status in (0, 3), running.log.read_text()[-3000:]


def whole(cluster: BenchCluster, count: int = TRIALS) -> list[Trial]:
    """The job's trials, none lost and none twice; nothing is left running."""
    trials = trials_of(db_of(cluster))
    assert [t.number for t in trials] == list(range(1, count + 1))
    assert {t.state for t in trials} == {TrialState.DONE}
    ended = {run.token for run in cluster.runs("ends")}
    assert len(ended) == len(cluster.runs("ends"))
    assert cluster.alive() == []
    return trials


def one_at_a_time(cluster: BenchCluster) -> bool:
    """Whether no host ever began a run before its last one had ended, or was killed."""
    lines = (cluster.folder / "record").read_text().splitlines()
    busy: dict[str, str] = {}
    for word, host, pid, _ in (line.split() for line in lines):
        if word == "begins" and host in busy and Path(f"/proc/{busy[host]}").exists():
            return False
        busy[host] = pid
        if word == "ends":
            busy.pop(host)
    return True


def test_a_job_is_spread_over_all_hosts_one_trial_at_a_time_on_each(cluster: BenchCluster):
    ends_well(tune(cluster))
    trials = whole(cluster)
    assert set(Counter(t.host for t in trials)) == {"a", "b"}
    assert len(cluster.runs()) == TRIALS
    assert one_at_a_time(cluster)
    assert set(result_of(cluster)["environment"]["hosts"]) == {"a", "b"}  # type: ignore[index]


def test_a_host_may_come_during_a_job_and_another_go(cluster: BenchCluster):
    cluster.hold.touch()
    running = tune(cluster, trials=MANY)
    cluster.await_runs(2)
    cluster.start_host("c")
    assert {run.host for run in cluster.await_runs(3)} == {"a", "b", "c"}
    assert cluster.hosts["a"].stop() == 0
    assert {run.host for run in cluster.alive()} == {"b", "c"}
    cluster.hold.unlink()
    ends_well(running)
    assert {t.host for t in whole(cluster, MANY)} == {"b", "c"}


def test_one_job_outlives_its_hosts_its_controller_and_its_scheduler(cluster: BenchCluster):
    """One after the other, each in the middle of trials; the proof does each many times."""
    cluster.hold.touch()
    running = tune(cluster)
    victim = next(run for run in cluster.await_runs(2) if run.host == "a")
    cluster.hosts["a"].kill()
    wait_until(lambda: victim not in cluster.alive(), seconds=20, what="its run has ended, too")
    cluster.start_host("a")
    cluster.await_runs(3)

    running.kill()
    in_flight = cluster.alive()
    assert len(in_flight) == 2, "the hosts go on"
    cluster.hold.unlink()
    wait_until(lambda: not cluster.alive(), seconds=20, what="they have ended meanwhile")
    cluster.hold.touch()
    running = tune(cluster, resume=True)
    cluster.await_runs(5)
    assert {run.token for run in in_flight} <= {run.token for run in cluster.runs("ends")}
    found = [t for t in trials_of(db_of(cluster)) if t.state is TrialState.DONE]
    assert len(found) >= 2, "what had ended meanwhile was found"

    cluster.scheduler.kill()
    wait_until(lambda: not cluster.alive(), seconds=60, what="its hosts have ended what they ran")
    cluster.start_scheduler()
    begun = len(cluster.await_runs(7))

    os.kill(cluster.hosts["a"].process.pid, signal.SIGSTOP)
    cluster.hold.unlink()
    ends_well(running)
    os.kill(cluster.hosts["a"].process.pid, signal.SIGCONT)
    wait_until(lambda: not cluster.alive(), seconds=20, what="nothing is left running")
    trials = trials_of(db_of(cluster))
    assert [t.number for t in trials] == list(range(1, TRIALS + 1))
    assert {t.state for t in trials} == {TrialState.DONE}
    # One with the host, two with the scheduler, one with the host that hung: nothing else.
    assert sum(t.attempt - 1 for t in trials) == 4
    assert begun == 7
    said = " ".join(running.log.read_text().split())
    assert "gets no trials" not in said, "no host is to blame for its scheduler"


def test_a_host_that_keeps_going_away_does_not_use_up_the_attempts(cluster: BenchCluster):
    cluster.hold.touch()
    running = tune(cluster)

    def on_a() -> list[int]:
        return [run.pid for run in cluster.alive() if run.host == "a"]

    def said() -> str:
        return " ".join(running.log.read_text().split())

    for times in (1, 2, 3):
        wait_until(on_a, seconds=60, what=f"host a measures before it goes the time {times}")
        cluster.hosts["a"].kill()
        wait_until(lambda: not on_a(), seconds=20, what="its run has ended, too")
        cluster.start_host("a")
    told = "host a gets no trials for 30 s: it disconnected 3 times in a row"
    wait_until(lambda: told in said(), seconds=30, what="it gets no trials")
    cluster.await_hosts("a")
    cluster.hold.unlink()
    ends_well(running)
    trials = whole(cluster)
    assert sum(trial.attempt - 1 for trial in trials) == 3
    assert said().count("gets no trials") == 1


def test_a_host_that_began_anew_while_no_controller_was_there_is_not_waited_for(
    cluster: BenchCluster,
):
    cluster.hold.touch()
    running = tune(cluster)
    cluster.await_runs(2)
    running.kill()
    cluster.hosts["a"].kill()
    cluster.start_host("a")
    cluster.await_hosts("a")
    cluster.hold.unlink()
    ends_well(tune(cluster, resume=True))
    assert sum(trial.attempt - 1 for trial in whole(cluster)) == 1


def test_an_interrupted_job_leaves_nothing_running(cluster: BenchCluster):
    cluster.hold.touch()
    running = tune(cluster)
    cluster.await_runs(2)
    running.process.send_signal(signal.SIGINT)
    assert running.process.wait(60) == 130
    wait_until(lambda: not cluster.alive(), seconds=20, what="both runs have ended")
    cluster.hold.unlink()
    ends_well(tune(cluster, resume=True))
    whole(cluster)


def test_hosts_that_do_not_fit_are_left_alone_and_waited_for(tmp_path: Path):
    with bench_cluster(tmp_path, "a") as cluster:
        other = cluster.start_host("a", ROCKTUNE_LOCK=str(tmp_path / "another"))
        cluster.start_host("full", kind="nvme", ROCKTUNE_FREE_BYTES=str(2**60))
        running = cluster.tune(db_of(cluster), trials=12, strategy="random", host_kind="nvme")
        wait_until(
            lambda: "host of kind nvme" in running.log.read_text()
            and "full: its disk has" in running.log.read_text(),
            seconds=60, what="it says what it waits for, and why that one is of no use",
        )  # fmt: skip
        cluster.start_host("fast", kind="nvme")
        ends_well(running)
        assert {t.host for t in trials_of(db_of(cluster))} == {"fast"}
        assert "another host is named 'a'" in other.log.read_text()


def test_a_benchmark_that_is_missing_on_every_host_is_one_clear_error(cluster: BenchCluster):
    running = cluster.tune(db_of(cluster), trials=12)
    (cluster.folder / "bench.sh").unlink()
    assert running.process.wait(60) == 2
    assert "hosts: no host can measure this" in running.log.read_text()


def test_interrupted_without_a_scheduler_it_says_so_in_words(cluster: BenchCluster):
    cluster.hold.touch()
    running = tune(cluster)
    cluster.await_runs(1)
    cluster.scheduler.kill()
    waits = "the scheduler"
    wait_until(lambda: waits in running.log.read_text(), seconds=60, what=waits)
    running.process.send_signal(signal.SIGINT)
    assert running.process.wait(60) == 130
    told = running.log.read_text()
    assert "Continue with the same command and --resume" in told
    assert "Traceback" not in told and "Error" not in told
