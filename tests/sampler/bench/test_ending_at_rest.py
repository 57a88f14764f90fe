"""Ending a run at rest: the same figures as letting db_bench end by itself, and always an end.

db_bench sleeps 5 s before it looks whether compactions are left, so these runs go side by side.
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from sampler.bench.db_bench_output import DbBenchOutput, parse_output
from sampler.bench.installed import InstalledDbBench
from sampler.bench.rocksdb_log import parse_log
from sampler.bench.run_ending import at_rest
from sampler.runner.outcome import TrialState
from sampler.runner.process import Ending
from sampler.runner.runner import LocalRunner
from sampler.runner.settings import Settings
from sampler.space.space import Configuration
from tests.support.sampler.real_runs import Keeping, Kept, tiny_plan

pytestmark = pytest.mark.db_bench
COUNTERS = ("flush.write.bytes", "compact.write.bytes", "bytes.written", "wal.bytes")
# After these loads db_bench 7.8.3 waits for compactions for ever (RocksDB issue 9275).
NEVER_ENDING = {
    "level0_file_num_compaction_trigger": 3,
    "universal_size_ratio": 49,
    "universal_min_merge_width": 3,
    "universal_max_merge_width": 45,
    "write_buffer_size": 20 * 2**20,
    "max_background_jobs": 12,
}
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
class Watching(Keeping):
    """Notes what would be told at rest, and then lets db_bench end by itself."""

    seen: list[DbBenchOutput] = field(default_factory=list)

    def settled(self, folder: Path) -> bool:
        if not self.seen and super().settled(folder):
            printed = parse_output((folder / "stdout").read_text())
            log = parse_log((folder / "db" / "LOG").read_text(errors="replace"))
            self.seen.append(at_rest(printed, log, folder / "db"))
        return False


def run_one(benchmark: Keeping, configuration: Configuration, folder: Path) -> Kept:
    settings = Settings(bench_dir=folder / "bench", lock=folder / "lock", free_bytes=0)
    outcome = LocalRunner(benchmark, settings).run(configuration)
    return replace(benchmark.kept[0], outcome=outcome)


@dataclass(frozen=True)
class Finished:
    watched: dict[str, tuple[Kept, list[DbBenchOutput]]]
    never_ending: Kept


@pytest.fixture(scope="module")
def finished(installed: InstalledDbBench, tmp_path_factory: pytest.TempPathFactory) -> Finished:
    load = {"num": 10_000, "settle": "wait", "timeout_seconds": 40}
    with ThreadPoolExecutor(len(CONFIGURATIONS) + 1) as side_by_side:
        watching = {
            name: Watching(installed, tiny_plan(installed, space, **load))
            for name, (space, _) in CONFIGURATIONS.items()
        }
        running = {
            name: side_by_side.submit(
                run_one,
                watching[name],
                configuration,
                tmp_path_factory.mktemp("rest"),
            )
            for name, (_, configuration) in CONFIGURATIONS.items()
        }
        hanging = tiny_plan(installed, "universal", **{**load, "num": 30_000})
        never = side_by_side.submit(
            run_one,
            Keeping(installed, hanging),
            {**hanging.space.fixed, **NEVER_ENDING},
            tmp_path_factory.mktemp("never"),
        )
        return Finished(
            {name: (run.result(), watching[name].seen) for name, run in running.items()},
            never.result(),
        )


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_counters_at_rest_are_those_of_the_natural_end(name: str, finished: Finished):
    kept, seen = finished.watched[name]
    final = parse_output(kept.stdout)
    assert kept.ended.ending is Ending.EXIT and kept.outcome.state is TrialState.DONE
    log = parse_log(kept.log)
    noted = [output.tickers for output in seen] + [log.tickers]
    for tickers in noted:
        assert {n: tickers[n] for n in COUNTERS} == {n: final.tickers[n] for n in COUNTERS}
    assert final.tickers["bytes.written"] > 10_000 * 1040


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_live_bytes_at_rest_are_those_of_the_natural_end(name: str, finished: Finished):
    kept, seen = finished.watched[name]
    final = parse_output(kept.stdout).live_bytes
    assert {output.live_bytes for output in seen} | {sum(kept.live_files.values())} == {final}


def test_some_runs_were_at_rest_before_they_ended(finished: Finished):
    assert any(seen for _, seen in finished.watched.values())


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_time_has_no_sleep_of_db_bench_in_it(name: str, finished: Finished):
    kept, _ = finished.watched[name]
    metrics = kept.outcome.metrics
    assert metrics["wall_seconds"] > 5
    assert metrics["load_time"] <= metrics["time"] < metrics["wall_seconds"] - 3


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_no_work_is_left_at_rest(name: str, finished: Finished):
    kept, _ = finished.watched[name]
    log = parse_log(kept.log)
    assert log.working == 0
    assert log.dumped is not None and log.work_ended is not None
    assert log.dumped > log.work_ended


def test_a_load_for_which_db_bench_never_ends_is_measured_and_ended(finished: Finished):
    kept = finished.never_ending
    assert kept.ended.ending is Ending.SETTLED
    assert kept.outcome.state is TrialState.DONE
    metrics = kept.outcome.metrics
    assert metrics["lsm_bytes"] == sum(kept.live_files.values())
    assert kept.outcome.counters["bytes.written"] == 30_000 * 1056
    assert 0.9 < metrics["waf"] < 20
    assert metrics["time"] < metrics["wall_seconds"] - 1
