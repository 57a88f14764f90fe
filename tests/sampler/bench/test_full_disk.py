"""The real db_bench on a disk that is full: the trial says which, and leaves nothing running."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sampler.bench.db_bench import DbBench
from sampler.bench.installed import find_db_bench, probe
from sampler.bench.outcome import Outcome, TrialState
from sampler.bench.runner import LocalRunner
from sampler.bench.settings import Settings
from tests.support.sampler.bench_processes import bench_children
from tests.support.sampler.real_runs import tiny_plan
from tests.support.sampler.small_disk import SmallDisk, made_or_skipped, small_disk
from tests.support.sampler.watching import gone

pytestmark = pytest.mark.db_bench
# Takes the disk just before it measures, but for what is given back.
WRAPPER = """#!/bin/sh
case "$*" in *--num=2000*)
    cat /dev/zero > '{disk}/filler' 2> /dev/null
    truncate -s -{left} '{disk}/filler' ;;
esac
exec db_bench "$@"
"""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    # A trial is not begun with less than 256 MiB and four times its load.
    yield from made_or_skipped(small_disk(tmp_path / "disk", 272 * 2**20))


def measured(disk: SmallDisk, tmp_path: Path, settings: Settings, left: int) -> Outcome:
    program = tmp_path / "db_bench"
    program.write_text(WRAPPER.format(disk=disk.folder, left=left))
    program.chmod(0o755)
    installed = probe(find_db_bench(str(program)))
    return LocalRunner(DbBench(installed, tiny_plan(installed)), settings).run({})


@pytest.mark.parametrize("left", [0, 2**20], ids=["as it opens", "while it loads"])
def test_its_trial_names_the_disk_and_nothing_is_left(
    left: int,
    disk: SmallDisk,
    tmp_path: Path,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
):
    bench = disk.folder / "bench"
    monkeypatch.setenv("ROCKTUNE_BENCH_DIR", str(bench))  # the mark of what is started
    there = settings.model_copy(update={"bench_dir": bench})
    assert there.free_bytes == 0, "db_bench itself finds it full"
    outcome = measured(disk, tmp_path, there, left)
    assert (outcome.state, outcome.metrics) == (TrialState.FAILED, {})
    assert outcome.failure == "stopped: the disk of the bench folder was nearly full"
    assert outcome.by_host, "and is no fault of the configuration"
    assert all(gone(child.pid) for child in bench_children({"here": bench}))
    assert list(bench.iterdir()) == []
    disk.free()
    (tmp_path / "db_bench").write_text('#!/bin/sh\nexec db_bench "$@"\n')
    installed = probe(find_db_bench(str(tmp_path / "db_bench")))
    again = LocalRunner(DbBench(installed, tiny_plan(installed)), there).run({})
    assert again.state is TrialState.DONE, again.failure
