"""Ctrl-C while the scheduler is gone: one line, and the job can be resumed."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.support.cluster.bench_cluster import bench_cluster
from tests.support.jobs.service_desk import wait_until

pytestmark = pytest.mark.slow

WAITS = "the scheduler"


def test_says_so_in_words(tmp_path: Path):
    with bench_cluster(tmp_path, "a") as cluster:
        cluster.hold.touch()
        running = cluster.tune(str(tmp_path / "jobs.db"), trials=12, strategy="random")
        wait_until(cluster.runs, seconds=60, what="a run")
        assert cluster.scheduler is not None
        cluster.scheduler.kill()
        wait_until(lambda: WAITS in running.log.read_text(), seconds=60, what=WAITS)
        running.process.send_signal(signal.SIGINT)
        assert running.process.wait(60) == 130
        told = running.log.read_text()
        assert "Continue with the same command and --resume" in told
        assert "Traceback" not in told and "Error" not in told
