"""Disks of bench hosts: one that fills as a run prints its result; one of a single folder."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sampler.bench.outcome import TrialState
from tests.support.cli.launched import executed
from tests.support.cluster.bench_cluster import BenchCluster, bench_cluster
from tests.support.db.stored_trials import trials_of
from tests.support.sampler.small_disk import SmallDisk, made_or_skipped, small_disk

pytestmark = pytest.mark.slow

TRIALS = 40  # with fewer the second host would not be worth its baseline
# On host `a`, once: something fills the disk and the run ends at once, before anybody has looked.
_FILLS = """\
if test "$BENCH_HOST" = a && ! test -e {folder}/filled; then
  touch {folder}/filled
  cat /dev/zero > {disk}/filler 2> /dev/null
fi
"""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    yield from made_or_skipped(small_disk(tmp_path / "a" / "disk", 72 * 2**20))


def test_a_trial_whose_disk_fills_is_measured_elsewhere(tmp_path: Path, disk: SmallDisk):
    with bench_cluster(tmp_path, "b") as cluster:
        cluster.start_host("a", ROCKTUNE_BENCH_DIR=str(disk.folder / "bench"))
        cluster.await_hosts("a")
        running = cluster.tune(str(tmp_path / "jobs.db"), trials=TRIALS, strategy="random")
        fills(cluster, disk)
        assert running.process.wait(120) in (0, 3), running.log.read_text()[-3000:]
        trials = trials_of(str(tmp_path / "jobs.db"))
        assert (disk.folder / "filler").stat().st_size > 0
        assert {t.state for t in trials} == {TrialState.DONE}
        assert {t.host for t in trials if t.attempt > 1} == {"b"}
        assert "host a gets no trials" in running.log.read_text()


def fills(cluster: BenchCluster, disk: SmallDisk) -> None:
    """Puts it before the printing of the benchmark's program."""
    program = cluster.workload().parent / "bench.sh"
    first, printing = program.read_text().split("printf", 1)
    fill = _FILLS.format(folder=cluster.folder, disk=disk.folder)
    program.write_text(f"{first}{fill}printf{printing}")


def test_a_host_that_may_write_one_folder_measures_all_the_same(tmp_path: Path, disk: SmallDisk):
    """As its unit and its pod confine it: around its bench folder all is read-only."""
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
