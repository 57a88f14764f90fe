"""A run ends when its work has ended, by whatever it says of that, and counts all of it.

db_bench's own wait begins with a sleep of 5 s, so these runs go side by side.
"""

import math
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from sampler.bench import process
from sampler.bench.installed import InstalledDbBench
from sampler.bench.outcome import Ending, Outcome, TrialState, unrest
from sampler.bench.output import RocksdbLog, parse_log, parse_output
from sampler.bench.runner import LocalRunner
from sampler.bench.settings import Settings
from sampler.space.space import Configuration
from tests.support.sampler.real_runs import Keeping, Kept, ended, tiny_plan

pytestmark = pytest.mark.db_bench
COUNTERS = ("flush.write.bytes", "compact.write.bytes", "bytes.written", "wal.bytes")
# After these loads db_bench 7.8.3 waits for compactions for ever (RocksDB issue 9275).
NEVER_ENDING = {
    "level0_file_num_compaction_trigger": 3, "universal_size_ratio": 49,
    "universal_min_merge_width": 3, "universal_max_merge_width": 45,
    "write_buffer_size": 20 * 2**20, "max_background_jobs": 12,
}  # fmt: skip
SMALL = 8 * 2**20
CONFIGURATIONS: Mapping[str, tuple[str, Configuration]] = {
    "leveled": ("default", {"write_buffer_size": SMALL}),
    "zstd, dynamic levels": (
        "default",
        {
            "write_buffer_size": SMALL,
            "compression_type": "zstd",
            "level_compaction_dynamic_level_bytes": True,
            "max_background_jobs": 4,
        },
    ),
    "universal": ("universal", {"write_buffer_size": 16 * 2**20, "num_levels": 5}),
    "blobs": ("blob", {"enable_blob_files": True, "write_buffer_size": SMALL}),
}


@dataclass(frozen=True)
class WaitingOn(Keeping):
    """After it was seen at rest db_bench waits in its own way, and prints its figures again."""

    def prepare(self, configuration: Configuration, folder: Path) -> list[str]:
        argv = super().prepare(configuration, folder)
        return [
            each.replace("stats,sstables", "waitforcompaction,stats,sstables") for each in argv
        ]


@dataclass(frozen=True)
class WithoutDumps(Keeping):
    """RocksDB dumps no counters, which used to be waited for."""

    def prepare(self, configuration: Configuration, folder: Path) -> list[str]:
        argv = super().prepare(configuration, folder)
        options = folder / "OPTIONS.ini"
        text = options.read_text()
        assert "stats_dump_period_sec=1\n" in text
        options.write_text(text.replace("stats_dump_period_sec=1\n", "stats_dump_period_sec=0\n"))
        return argv


@dataclass(frozen=True)
class Hasty(Keeping):
    """It never asks whether compactions are under way, and they take seconds to write."""

    def prepare(self, configuration: Configuration, folder: Path) -> list[str]:
        argv = super().prepare(configuration, folder)
        return [*argv, f"--rate_limiter_bytes_per_sec={4 * 2**20}"]

    def settled(self, folder: Path) -> bool:
        del folder
        return True


@dataclass(frozen=True)
class Unread(Keeping):
    """The last lines of the LOG are not written before the database is closed."""

    def settled(self, folder: Path) -> bool:
        del folder
        return False


def run_one(benchmark: Keeping, configuration: Configuration, folder: Path) -> Kept:
    settings = Settings(bench_dir=folder / "bench", lock=folder / "lock", free_bytes=0)
    outcome = LocalRunner(benchmark, settings).run(configuration)
    return replace(benchmark.kept[0], outcome=outcome)


@dataclass(frozen=True)
class Finished:
    waited: Mapping[str, Kept]
    ended: Mapping[str, Kept]
    never_ending: Kept


@pytest.fixture(scope="module")
def finished(installed: InstalledDbBench, tmp_path_factory: pytest.TempPathFactory) -> Finished:
    load = {"num": 10_000, "settle": "wait", "timeout_seconds": 60}
    with (
        pytest.MonkeyPatch.context() as changed,
        ThreadPoolExecutor(2 * len(CONFIGURATIONS) + 1) as side_by_side,
    ):
        # Then only a process of which nothing runs is at rest.
        changed.setattr(process, "RESTLESS_SECONDS", math.inf)
        waited, ended = (
            {
                name: side_by_side.submit(
                    run_one,
                    kind(installed, tiny_plan(installed, space, **load)),
                    configuration,
                    tmp_path_factory.mktemp("rest"),
                )
                for name, (space, configuration) in CONFIGURATIONS.items()
            }
            for kind in (WaitingOn, WithoutDumps)
        )
        hanging = tiny_plan(installed, "universal", **{**load, "num": 30_000})
        never = side_by_side.submit(
            run_one,
            Keeping(installed, hanging),
            {**hanging.space.fixed, **NEVER_ENDING},
            tmp_path_factory.mktemp("never"),
        )
        return Finished(
            {name: run.result() for name, run in waited.items()},
            {name: run.result() for name, run in ended.items()},
            never.result(),
        )


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_run_ends_by_its_rest_alone_and_waits_for_no_dump(name: str, finished: Finished):
    kept = finished.ended[name]
    assert (kept.outcome.state, kept.outcome.failure) == (TrialState.DONE, None)
    assert (kept.ended.ending, kept.ended.status) == (Ending.EXIT, 0)
    assert kept.ended.rested_at is not None
    assert "DUMPING STATS" not in kept.log and "waitforcompaction" not in kept.stdout


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_nothing_happens_after_it_was_seen_at_rest(name: str, finished: Finished):
    kept = finished.waited[name]
    assert kept.outcome.state is TrialState.DONE and "waitforcompaction" in kept.stdout
    log = parse_log(kept.log)
    assert kept.ended.rested_at is not None and log.work_ended is not None
    assert log.work_ended < kept.ended.rested_at and log.working == 0
    assert log.closed is not None and log.closed > kept.ended.rested_at + 5


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_counters_and_live_bytes_are_whole(name: str, finished: Finished):
    for kept in (finished.waited[name], finished.ended[name]):
        final = parse_output(kept.stdout)
        assert final.live_bytes == sum(kept.live_files.values())
        assert final.tickers["bytes.written"] > 10_000 * 1040
    # What was dumped while db_bench waited is what it printed after it.
    kept = finished.waited[name]
    dumped, final = parse_log(kept.log).tickers, parse_output(kept.stdout).tickers
    assert {n: dumped[n] for n in COUNTERS} == {n: final[n] for n in COUNTERS}


def test_a_load_for_which_db_bench_never_ends_is_measured_and_ends(finished: Finished):
    kept = finished.never_ending
    assert (kept.ended.ending, kept.outcome.state) == (Ending.EXIT, TrialState.DONE)
    metrics = kept.outcome.metrics
    assert metrics["lsm_bytes"] == sum(kept.live_files.values())
    assert kept.outcome.counters["bytes.written"] == 30_000 * 1056
    assert 0.9 < metrics["waf"] < 20


def test_where_the_log_is_not_written_the_threads_tell(
    installed: InstalledDbBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(process, "RESTLESS_SECONDS", math.inf)
    unread = Unread(installed, tiny_plan(installed, num=10_000, settle="wait"))
    kept = run_one(unread, {"write_buffer_size": SMALL}, tmp_path)
    assert (kept.outcome.state, kept.ended.ending) == (TrialState.DONE, Ending.EXIT)
    assert kept.ended.rested_at is not None


def test_a_run_that_worked_on_after_it_seemed_at_rest_counts_for_nothing(
    installed: InstalledDbBench, settings: Settings, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(process, "RESTLESS_SECONDS", 0.0)
    plan = tiny_plan(installed, num=10_000, settle="wait")
    runner = LocalRunner(Hasty(installed, plan), settings)
    runner.start({"write_buffer_size": SMALL, "compression_type": "zstd"})
    outcome: Outcome | None = None
    while outcome is None:
        outcome = runner.wait(1.0)
    assert outcome.state is TrialState.LOST and not outcome.metrics
    assert outcome.failure == "RocksDB flushed or compacted after its tree had seemed at rest"


def test_rest_is_told_by_the_whole_log():
    rested, done = ended(rested_at=100.0), RocksdbLog(work_ended=99.0)
    for log in (done, RocksdbLog(), replace(done, closed=100.1)):
        assert unrest(rested, log) is None
    for log in (RocksdbLog(work_ended=100.1), RocksdbLog(under_way={3})):
        problem = unrest(rested, log)
        assert problem is not None and problem[0] is TrialState.LOST
    never = unrest(ended(), done)
    assert never is not None and never[0] is TrialState.FAILED
    assert unrest(rested, replace(done, closed=99.5)) == never
