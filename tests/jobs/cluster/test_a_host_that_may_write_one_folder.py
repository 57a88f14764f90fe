"""A bench host as its unit and its pod confine it: around its bench folder all is read-only."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cli.launched import executed
from tests.support.cluster.bench_cluster import bench_cluster
from tests.support.sampler.small_disk import SmallDisk, made_or_skipped, small_disk

pytestmark = pytest.mark.slow


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    yield from made_or_skipped(small_disk(tmp_path / "srv", 64 * 2**20))


def test_measures_all_the_same(tmp_path: Path, disk: SmallDisk):
    bench = disk.folder / "rocktune"
    bench.mkdir()
    subprocess.run(["mount", "--bind", str(bench), str(bench)], check=True)
    subprocess.run(["mount", "-o", "remount,bind,ro", str(disk.folder)], check=True)
    with pytest.raises(OSError, match="Read-only"):
        (disk.folder / "host").mkdir()
    # A start writes nothing elsewhere, either.
    with bench_cluster(tmp_path, launch=executed) as cluster:
        lock = tmp_path / "lock"
        cluster.start_host("a", ROCKTUNE_BENCH_DIR=str(bench), ROCKTUNE_LOCK=str(lock))
        cluster.await_hosts("a")
        running = cluster.tune(str(tmp_path / "jobs.db"), trials=12, strategy="random")
        assert running.process.wait(120) in (0, 3), running.log.read_text()[-3000:]
    assert {run.host for run in cluster.runs("ends")} == {"a"}
    assert [path.name for path in bench.iterdir()] == ["host"]
